package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/refold-go/refold/store"
)

// Changes implements [store.Feed].
func (s *Store) Changes(ctx context.Context, collection string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	st := changesPlain
	if parts == store.WithViews {
		st = changesViews
	}
	return func(yield func(store.Change, error) bool) {
		last, err := s.beginChanges(ctx, after)
		for complete := after.Complete(); err == nil; {
			var page []store.Change
			if page, err = s.changesPage(ctx, st, collection, complete, last); err != nil || len(page) == 0 {
				break
			}
			end := page[len(page)-1].Cursor
			last, err = end.Number(s.incarnation, math.MaxInt64)
			complete = end.Complete()
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

// beginChanges returns the number that a cursor is at.
func (s *Store) beginChanges(ctx context.Context, after store.Cursor) (begin int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		row, err := c.one(getMeta, metaCeiling)
		if err != nil {
			return err
		}
		begin, err = after.Number(s.incarnation, integer(row[0]))
		return err
	})
	return begin, err
}

// changesPage reads the first changes after a number, for a loop that has returned
// everything up to complete. The index is in order of the numbers, so that a page
// costs what it has, whatever else is in the collection.
func (s *Store) changesPage(ctx context.Context, st statement, collection string, complete, after int64) (page []store.Change, err error) {
	size := 0
	err = s.read(ctx, func(c *conn) error {
		in, err := find(c, collection)
		if err != nil || in.id == 0 {
			return err
		}
		return c.each(st, func(row []driver.Value) bool {
			d := store.Document{Key: store.Key{Collection: collection, ID: text(row[0])}}
			fillDocument(&d, row)
			page = append(page, store.Change{
				Document: d,
				Cursor:   store.NewCursor(s.incarnation, integer(row[18])).Behind(complete),
				History:  integer(row[19]) <= complete,
			})
			size += len(d.View)
			return size <= pageBytes
		}, in.id, after, int64(pageRows))
	})
	if n := len(page); n > 0 && n < pageRows && size <= pageBytes {
		// There are no more: with the last one everything is returned.
		last, _ := page[n-1].Cursor.Number(s.incarnation, math.MaxInt64)
		page[n-1].Cursor = store.NewCursor(s.incarnation, last)
	}
	return page, err
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
