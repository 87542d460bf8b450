package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// folding is the fold of a version: what it makes of the first operations.
func folding(version int, operations []store.Operation) []byte {
	view := fmt.Appendf(nil, "version %d:", version)
	for _, op := range operations {
		if !op.Discarded {
			view = append(append(view, ' '), op.Body...)
		}
	}
	return view
}

// foldSome commits views of the runnable documents of a generation, at most so many,
// and reports how many.
func foldSome(t testing.TB, s *Store, name string, most int) int {
	t.Helper()
	ctx := t.Context()
	var commits []store.Commit
	for r, err := range s.Runnable(ctx, []string{name}) {
		if err != nil {
			t.Fatal(err)
		}
		docs, err := s.Load(ctx, []store.Key{r.Key}, store.WithoutViews)
		if err != nil {
			t.Fatal(err)
		}
		d := docs[0]
		operations, err := s.Operations(ctx, []store.Range{{Key: r.Key}}, store.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		n := len(operations[0])
		commits = append(commits, store.Commit{
			Key: r.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: int64(n), View: folding(d.Version, operations[0]),
		})
		if len(commits) == most {
			break
		}
	}
	if len(commits) == 0 {
		return 0
	}
	outcomes, err := s.Commit(ctx, commits)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if o == store.Stale {
			t.Fatalf("the commit of %s is stale", commits[i].Key)
		}
	}
	return len(commits)
}

// rebuilding does the next step of rebuilding notes at version 2, which it finds in
// the store, and says which one it was; none if everything is done.
func rebuilding(t testing.TB, s *Store) string {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	generations, err := s.Generations(ctx, "notes")
	must(err)
	states := make(map[store.GenerationState]store.Generation)
	for _, g := range generations {
		states[g.State] = g
	}
	building, isBuilding := states[store.Building]
	switch _, kept := states[store.Kept]; {
	case states[store.Serving].Version == 1 && !isBuilding:
		must(s.Register(ctx, "notes", 2))
		return "register"
	case isBuilding && !building.Filled:
		_, err := s.Fill(ctx, "notes@2")
		must(err)
		return "fill"
	case isBuilding && foldSome(t, s, "notes@2", 500) == 500:
		return "fold"
	case isBuilding:
		foldSome(t, s, "notes", 100) // which may be ahead then
		foldSome(t, s, "notes@2", 500)
		_, err := s.Hold(ctx, "notes", time.Time{}, time.Second)
		must(err)
		o, err := s.Switch(ctx, "notes@2", store.SwitchTerms{})
		if must(err); o.Why != store.Unhindered {
			t.Fatalf("in the way of the switch is %v", o)
		}
		return "switch"
	case kept:
		must(s.Retire(ctx, "notes@1"))
		return "retire"
	case len(generations) > 1:
		_, err := s.Sweep(ctx)
		must(err)
		return "sweep"
	case foldSome(t, s, "notes", 500) > 0:
		return "fold what is served"
	}
	return ""
}
