package sqlite

import (
	"context"
	"database/sql/driver"
	"iter"

	"github.com/refold-go/refold/store"
)

// A page of a stream ends after so many rows, or when what it holds exceeds so
// many bytes.
const (
	pageRows  = 256
	pageBytes = 4 << 20
)

// Scan implements [store.Store].
func (s *Store) Scan(ctx context.Context, collection, after string, parts store.Parts) iter.Seq2[store.Document, error] {
	st := scanPlain
	if parts == store.WithViews {
		st = scanViews
	}
	name, version, source := named(collection)
	return s.documents(ctx, collection, after, func(c *conn, _ int64, after string, row func([]driver.Value) bool) error {
		return c.each(st, row, name, version, source, after, int64(pageRows))
	})
}

// documents streams documents of a collection in order of id. page reads some
// from the first after an id on.
func (s *Store) documents(
	ctx context.Context, collection, after string,
	page func(c *conn, generation int64, after string, row func([]driver.Value) bool) error,
) iter.Seq2[store.Document, error] {
	return func(yield func(store.Document, error) bool) {
		after := after
		for {
			var docs []store.Document
			size := 0
			err := s.read(ctx, func(c *conn) error {
				in, err := find(c, collection)
				if err != nil || in.id == 0 {
					return err
				}
				return page(c, in.id, after, func(row []driver.Value) bool {
					d := store.Document{Key: store.Key{Collection: collection, ID: text(row[0])}}
					fillDocument(&d, row)
					docs = append(docs, d)
					size += len(d.View)
					if d.Failure != nil {
						size += len(d.Failure.Error) + len(d.Failure.Stack)
					}
					return size <= pageBytes
				})
			})
			if err != nil {
				yield(store.Document{}, err)
				return
			}
			for _, d := range docs {
				if !yield(d, nil) {
					return
				}
			}
			if len(docs) < pageRows && size <= pageBytes {
				return
			}
			after = docs[len(docs)-1].Key.ID
		}
	}
}
