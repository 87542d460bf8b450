package sqlite

import (
	"context"
	"database/sql/driver"
	"iter"

	"github.com/refold-go/refold/store"
)

// Parked implements [store.Parking].
func (s *Store) Parked(ctx context.Context, collection string) iter.Seq2[store.Document, error] {
	return s.documents(ctx, collection, "", func(c *conn, generation int64, after string, row func([]driver.Value) bool) error {
		return c.each(parkedPage, row, generation, after, int64(pageRows))
	})
}

// Resume implements [store.Parking]. A resumed document keeps the record of what
// went wrong, with no attempts, until a run goes well.
func (s *Store) Resume(ctx context.Context, keys []store.Key) (int, error) {
	w := &resumeWork{keys: keys}
	if err := s.submit(ctx, newRequest(w, true, 100*len(keys))); err != nil {
		return 0, err
	}
	s.listeners.Dirty(w.resumed)
	return len(w.resumed), nil
}

type resumeWork struct {
	keys    []store.Key
	resumed []store.Key
}

func (w *resumeWork) do(t *transaction) error {
	w.resumed = nil
	for _, k := range w.keys {
		g, err := t.generation(k.Collection)
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		row, err := t.document(g, k.ID)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		resumed, err := t.resume(g, row.id)
		if err != nil {
			return err
		}
		if resumed {
			w.resumed = append(w.resumed, g.announced(k))
		}
	}
	return nil
}

// resume makes a document runnable if it is parked.
func (t *transaction) resume(g *generation, document int64) (bool, error) {
	row, err := t.run.one(resume, g.id, document)
	if err != nil || row == nil {
		return false, err
	}
	return true, t.run.exec(unparkFailure, g.id, document)
}
