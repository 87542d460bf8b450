package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// A build may read so many documents and not one more, but each as often as it likes: one
// that does parks at once, and says what is too much.
func TestDerivedReadsAreLimited(t *testing.T) {
	onEach(t, func(t *testing.T, st store.Backend) {
		r := newDerivedRig(t, st, materializer.Config{})
		spec := cardsOf(r.files)
		spec.Build = func(rd *materializer.Reader, id string) (card, error) {
			f, err := materializer.Read(rd, r.files, id)
			if err != nil {
				return card{}, err
			}
			for range 2 {
				for i := 1; i < f.Lines; i++ {
					if _, err := materializer.Read(rd, r.files, fmt.Sprint("none", i)); !errors.Is(err, materializer.ErrNotFound) {
						return card{}, nil // as a build that does not care
					}
				}
			}
			return card{Lines: f.Lines}, nil
		}
		cards := must(materializer.ByReads(r.m, spec))(t)
		r.start()
		r.set("most", file{Lines: store.MaxReads})
		r.drain()
		if got := must(cards.Get(context.Background(), "most"))(t).State.Lines; got != store.MaxReads {
			t.Errorf("what reads as many as it may has %d lines, want %d", got, store.MaxReads)
		}
		r.set("more", file{Lines: store.MaxReads + 1})
		r.drain()
		parked := 0
		for p, err := range cards.Parked(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			parked++
			if p.ID != "more" || p.Attempts != 1 || !strings.Contains(p.Error, "cards") || !strings.Contains(p.Error, fmt.Sprint(store.MaxReads)) {
				t.Errorf("parked is %+v", p)
			}
		}
		if parked != 1 {
			t.Errorf("%d documents are parked, want 1", parked)
		}
	})
}
