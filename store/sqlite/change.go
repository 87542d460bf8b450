package sqlite

import "errors"

// changeBlock is how many numbers of changes are reserved at a time. Reserving
// costs one sync, and opening the file skips what is left.
const changeBlock = 1 << 16

// errUnsynced means that a transaction has to be repeated with a sync.
var errUnsynced = errors.New("refold: the transaction needs a sync")

// changeNumbers gives numbers to changes of views in one transaction. Numbers up
// to the ceiling may have been seen by a follower, even those of commits that a
// power cut took, as commits of views alone are not synced. So the ceiling is only
// moved by synced transactions, and who opens the file goes on from it, with a
// block of its own.
type changeNumbers struct {
	last, ceiling int64
	known         bool // whether they were read
	moved         bool // whether numbers were given
}

// change gives the next number.
func (t *transaction) change() (int64, error) {
	n := &t.changes
	if !n.known {
		row, err := t.run.one(getMeta, metaChange)
		if err != nil {
			return 0, err
		}
		n.last = integer(row[0])
		if row, err = t.run.one(getMeta, metaCeiling); err != nil {
			return 0, err
		}
		n.ceiling, n.known = integer(row[0]), true
		if t.skip {
			n.last = n.ceiling
		}
	}
	n.last++
	n.moved = true
	return n.last, nil
}

// finishChanges writes the numbers. A transaction that is synced anyway reserves
// early, so that hardly one has to be repeated for it.
func (t *transaction) finishChanges() error {
	n := &t.changes
	if !n.moved {
		return nil
	}
	if n.last > n.ceiling && !t.synced {
		return errUnsynced
	}
	if t.synced && n.last > n.ceiling-changeBlock/2 {
		n.ceiling = n.last + changeBlock
		if err := t.run.exec(setMeta, metaCeiling, n.ceiling); err != nil {
			return err
		}
	}
	return t.run.exec(setMeta, metaChange, n.last)
}
