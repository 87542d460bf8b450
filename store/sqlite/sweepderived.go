package sqlite

import "database/sql/driver"

// sweepDerivedDocuments is sweepDocuments for derived documents, of which each takes some
// statements.
const sweepDerivedDocuments = 100

// sweepDerived erases some documents of a generation of a derived collection or of a
// mapping, which are its own, and in the end the generation. It reports whether that was
// all.
func (t *transaction) sweepDerived(generation int64, s *spent) (all bool, err error) {
	for n := 0; n < sweepDerivedDocuments && !s.full(); n++ {
		row, err := t.run.one(nextDocument, -generation)
		if err != nil {
			return false, err
		}
		if row == nil {
			return true, t.run.exec(dropGeneration, generation)
		}
		document := integer(row[0])
		if all, err := t.eraseMade(document, s); err != nil || !all {
			return false, err
		}
		for _, st := range []statement{dropView, dropFailure, dropProgressOf} {
			if err := t.run.exec(st, generation, document); err != nil {
				return false, err
			}
		}
		for _, st := range []statement{dropRound, dropDocument} {
			if err := t.run.exec(st, document); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// eraseMade erases the deltas, contributions and reads of a derived document as long as
// the slice is not full, and reports whether that was all.
func (t *transaction) eraseMade(document int64, s *spent) (all bool, err error) {
	n, err := t.dropSomeDeltas(document, sliceRows)
	if s.rows += n; err != nil || n == sliceRows {
		return false, err
	}
	type contribution struct {
		input  int64
		source string
	}
	var some []contribution
	err = t.run.each(contributionSizes, func(row []driver.Value) bool {
		some = append(some, contribution{integer(row[0]), text(row[1])})
		s.rows++
		s.bytes += integer(row[2])
		return !s.full()
	}, document)
	if err != nil {
		return false, err
	}
	for _, c := range some {
		if err := t.run.exec(dropContribution, document, c.input, c.source); err != nil {
			return false, err
		}
	}
	var read []edge
	if !s.full() {
		err = t.run.each(edgesOf, func(row []driver.Value) bool {
			read = append(read, edge{integer(row[0]), text(row[1])})
			s.rows++
			return !s.full()
		}, document)
	}
	if err != nil {
		return false, err
	}
	for _, e := range read {
		if err := t.run.exec(dropEdge, document, e.collection, e.name); err != nil {
			return false, err
		}
	}
	return !s.full(), nil
}
