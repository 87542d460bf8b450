package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"

	"github.com/refold-go/refold/store"
)

// Changes implements [store.Feed].
func (s *Store) Changes(ctx context.Context, collection string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	st := changesPlain
	if parts == store.WithViews {
		st = changesViews
	}
	return func(yield func(store.Change, error) bool) {
		f, err := s.beginChanges(ctx, after)
		for again := true; err == nil && again; {
			var page []store.Change
			if page, again, err = s.changesPage(ctx, st, collection, &f); err != nil {
				break
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(store.Change{}, err)
		}
	}
}

// beginChanges begins behind a cursor.
func (s *Store) beginChanges(ctx context.Context, after store.Cursor) (f store.Following, err error) {
	err = s.read(ctx, func(c *conn) error {
		row, err := c.one(getMeta, metaCeiling)
		if err != nil {
			return err
		}
		f, err = store.Follow(after, s.incarnation, integer(row[0]))
		return err
	})
	return f, err
}

// changesPage reads the next changes, and reports whether there may be more. The index is in
// order of the numbers, so that a page costs what it has, whatever else is in the
// collection. If there was a switch while it read, it reads again.
func (s *Store) changesPage(ctx context.Context, st statement, collection string, f *store.Following) (page []store.Change, again bool, err error) {
	err = s.read(ctx, func(c *conn) error {
		in, err := find(c, collection)
		for err == nil && in.id != 0 {
			before := *f
			page = nil
			if again, err = s.readChanges(c, st, collection, in, f, &page); err != nil {
				return err
			}
			now, err := find(c, collection)
			if err != nil || now.id == in.id && now.switched == in.switched {
				return err
			}
			*f, in = before, now
		}
		page, again = nil, false
		return err
	})
	return page, again, err
}

// readChanges reads a page of a generation.
func (s *Store) readChanges(c *conn, st statement, collection string, in found, f *store.Following, page *[]store.Change) (again bool, err error) {
	size := 0
	after, before := f.Next(in.switched)
	err = c.each(st, func(row []driver.Value) bool {
		d := store.Document{Key: store.Key{Collection: collection, ID: text(row[0])}}
		fillDocument(&d, row)
		change := store.Change{Document: d}
		change.Cursor, change.History = f.Read(integer(row[18]), integer(row[19]))
		*page = append(*page, change)
		size += len(d.View)
		return size <= pageBytes
	}, in.id, after, int64(pageRows), before)
	if whole := len(*page) < pageRows && size <= pageBytes; !whole || err != nil {
		return true, err
	}
	return f.End(*page), nil
}

// LastChange implements [store.Feed].
func (s *Store) LastChange(ctx context.Context) (last store.Cursor, err error) {
	err = s.read(ctx, func(c *conn) error {
		row, err := c.one(getMeta, metaChange)
		if err != nil {
			return err
		}
		last = store.NewCursor(s.incarnation, integer(row[0]))
		return nil
	})
	return last, err
}

// Log implements [store.Log].
func (s *Store) Log(ctx context.Context, from, to store.Token) iter.Seq2[store.Logged, error] {
	return func(yield func(store.Logged, error) bool) {
		last, end, err := s.bounds(ctx, from, to)
		for err == nil && last < end {
			var page []store.Logged
			if page, err = s.logPage(ctx, last, end); err != nil || len(page) == 0 {
				break
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			last = page[len(page)-1].Position
		}
		if err != nil {
			yield(store.Logged{}, err)
		}
	}
}

// bounds returns the positions of two tokens.
func (s *Store) bounds(ctx context.Context, from, to store.Token) (after, upTo store.Position, err error) {
	err = s.read(ctx, func(c *conn) error {
		end, err := lastPosition(c)
		if err != nil {
			return err
		}
		if after, err = store.CutOf(from, s.incarnation, end); err != nil {
			return err
		}
		upTo = end
		if !to.IsZero() {
			upTo, err = store.CutOf(to, s.incarnation, end)
		}
		return err
	})
	return after, upTo, err
}

// logPage reads the first operations after one position and up to another.
func (s *Store) logPage(ctx context.Context, after, upTo store.Position) (page []store.Logged, err error) {
	size := 0
	err = s.read(ctx, func(c *conn) error {
		// The row that has the first operation wanted may begin before it.
		row, err := c.one(logStart, int64(after)+1)
		if err != nil {
			return err
		}
		var damaged error
		err = c.each(logPage, func(row []driver.Value) bool {
			op := asOperation(row)
			if at := integer(row[10]); int64(op.Position) != at {
				damaged = &statementError{"reading the log", fmt.Errorf("the file is damaged: the operation at %d says that it is at %d", at, op.Position)}
				return false
			}
			page = append(page, store.Logged{
				Key:   store.Key{Collection: text(row[8]), ID: text(row[9])},
				Token: store.NewToken(s.incarnation, op.Position), Operation: op,
			})
			size += len(op.Body) + len(op.Meta)
			return size <= pageBytes
		}, integer(row[0]), int64(after), int64(upTo), int64(pageRows))
		return errors.Join(err, damaged)
	})
	return page, err
}
