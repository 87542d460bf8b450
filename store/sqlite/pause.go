package sqlite

import (
	"context"
	"fmt"

	"github.com/refold-go/refold/store"
)

// Pause implements [store.Pauser].
func (s *Store) Pause(ctx context.Context, collection string, paused bool) error {
	if err := store.CheckBare(collection); err != nil {
		return err
	}
	return s.submit(ctx, newRequest(&pauseWork{collection, paused}, true, 100))
}

type pauseWork struct {
	name   string
	paused bool
}

func (w *pauseWork) do(t *transaction) error {
	in, err := t.collection(w.name)
	if err != nil {
		return err
	}
	if in == nil {
		return fmt.Errorf("%w: collection %q", store.ErrNotFound, w.name)
	}
	t.regenerated()
	return t.run.exec(pause, in.id, number(w.paused))
}
