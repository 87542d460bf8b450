package materializer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// unlistable is a store of which the collections cannot be read for a number of times.
type unlistable struct {
	store.Backend
	times int
}

func (s *unlistable) Collections(ctx context.Context) ([]store.Collection, error) {
	if s.times--; s.times >= 0 {
		return nil, errPlanted
	}
	return s.Backend.Collections(ctx)
}

// A derived collection that could not be registered for an error of the store can be
// registered again, as any other one can.
func TestRegisterAgainAfterAnErrorOfTheStore(t *testing.T) {
	st := &unlistable{Backend: memory.New(nil)}
	defer st.Close()
	m := must(materializer.New(st, materializer.Config{}))(t)
	files := must(materializer.Register(m, filesSpec("files")))(t)
	for name, register := range map[string]func() error{
		"authors": func() error { _, err := materializer.ByContributions(m, authorsOf(byAuthor(files))); return err },
		"cards":   func() error { _, err := materializer.ByReads(m, cardsOf(files)); return err },
	} {
		st.times = 1
		if err := register(); !errors.Is(err, errPlanted) {
			t.Fatalf("registering %s: %v, want the error of the store", name, err)
		}
		if err := register(); err != nil {
			t.Errorf("registering %s again: %v", name, err)
		}
	}
}
