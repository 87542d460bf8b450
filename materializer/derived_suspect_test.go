package materializer_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// recorded is a store that counts, by collection as readers call it, the attempts that are recorded
// before they are made.
type recorded struct {
	store.Backend

	mu sync.Mutex // guards the following field
	by map[string]int
}

func (s *recorded) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	for i := range commits {
		name, err := store.ParseCollection(commits[i].Key.Collection)
		if f := commits[i].Failure; f != nil && f.Error == processEnded && err == nil {
			name.Version = 0
			s.mu.Lock()
			s.by[name.String()]++
			s.mu.Unlock()
		}
	}
	return s.Backend.Commit(ctx, commits)
}

func (s *recorded) counted() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by
}

// After an unclean end the derived documents that were dirty then are suspects. Those that the
// rest of a fan-out makes dirty, since as long ago, are not.
func TestOnlyWhatWasDirtyIsSuspect(t *testing.T) {
	const n = 3000
	for at, want := range map[string]map[string]int{
		"authors<files": {"authors<files": 3}, // slices of 1,000
		"authors":       {"authors": n},
	} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := memory.New(nil)
				t.Cleanup(func() { _ = st.Close() })
				of := func(r *derivedRig) *materializer.Derived[author] {
					return must(materializer.ByContributions(r.m, authorsOf(materializer.From(r.files, func(_ string, f file, emit func(string, file)) error {
						for _, key := range numbered("k", f.Lines) {
							emit(key, f)
						}
						return nil
					}))))(t)
				}
				stop := newStopping(st)
				before := newDerivedRig(t, stop, materializer.Config{})
				of(before)
				stop.at.Store(&at)
				run := (&rig{m: before.m}).start()
				before.set("a", file{Lines: n})
				settle()
				if err := run.halt(); err != nil {
					t.Fatal(err)
				}
				count := &recorded{Backend: st, by: make(map[string]int)}
				after := newDerivedRig(t, newUnclean(count), materializer.Config{})
				authors := of(after)
				after.start()
				after.drain()
				settle()
				if all := states(t, authors); len(all) != n {
					t.Errorf("%d documents, want %d", len(all), n)
				}
				if diff := cmp.Diff(want, count.counted()); diff != "" {
					t.Errorf("recorded attempts: (-want +got)\n%s", diff)
				}
			})
		})
	}
}
