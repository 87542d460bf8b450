package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// leaseCounterexamples are those of the mutants of docs/model/lease.pml that let
// two processes have one document at once.
var leaseCounterexamples = []counterexample{
	{mutant: "released by a stale holder", events: `
		append
		holder 1 takes the lease
		the lease runs out
		holder 1 loads
		holder 0 takes the lease
		holder 1 lengthens the lease
		holder 1 releases
		holder 1 takes the lease
	`},
	{mutant: "lengthened by a stale holder", events: `
		append
		holder 1 takes the lease
		the lease runs out
		holder 1 loads
		holder 0 takes the lease
		holder 1 lengthens the lease
	`},
	{mutant: "view not guarded", events: `
		append
		holder 1 takes the lease
		the lease runs out
		holder 1 loads
		holder 0 takes the lease
		holder 0 loads
		holder 1 commits
		holder 0 commits
	`},
	{mutant: "guard read in an earlier transaction", events: `
		append
		holder 1 takes the lease
		the lease runs out
		holder 1 loads
		holder 1 checks
		holder 0 takes the lease
		holder 0 loads
		holder 0 checks
		holder 1 commits
		holder 0 commits
	`},
	{mutant: "dirty cleared, head not compared", events: `
		append
		append
		holder 1 takes the lease
		holder 1 loads
		append
		holder 1 commits
		holder 1 releases
	`},
}

// The lease only saves work: with all of its events ignored, as if nobody asked
// for one, the guard of the written row alone lets one result for each state
// through. At the end both holders load and commit what they have, and a last
// run takes what the store still says is dirty.
func TestGuardAloneIsEnough(t *testing.T) {
	for _, c := range leaseCounterexamples {
		t.Run(c.mutant, func(t *testing.T) {
			h := &holders{t: t, st: memory.New(nil)}
			for line := range strings.Lines(c.events) {
				switch event := strings.TrimSpace(line); {
				case event == "append":
					h.append()
				case strings.HasSuffix(event, "loads"):
					h.load(event)
				case strings.HasSuffix(event, "commits"):
					h.commit(event)
				}
			}
			for range 2 {
				for _, name := range []string{"holder 0", "holder 1"} {
					h.commit(name)
					h.load(name)
				}
			}
			for row, err := range h.st.Runnable(t.Context(), []string{keys[0].Collection}) {
				t.Errorf("%v is still dirty, %v", row.Key, err)
			}
		})
	}
}

type holders struct {
	t      *testing.T
	st     *memory.Store
	loaded [2]*store.Document
}

func (h *holders) append() {
	h.t.Helper()
	if _, err := h.st.Append(h.t.Context(), []store.Append{{Key: keys[0], Entries: []store.Entry{{}}}}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *holders) row() store.Document {
	h.t.Helper()
	docs, err := h.st.Load(h.t.Context(), keys[:1], store.WithViews)
	if err != nil {
		h.t.Fatal(err)
	}
	return docs[0]
}

func (h *holders) load(event string) {
	h.t.Helper()
	doc := h.row()
	h.loaded[holder(event)] = &doc
}

// commit stores a view of all that was loaded, if that was anything, and checks
// what became of it.
func (h *holders) commit(event string) {
	h.t.Helper()
	doc := h.loaded[holder(event)]
	h.loaded[holder(event)] = nil
	if doc == nil || !doc.Dirty() {
		return
	}
	before := h.row()
	outcomes, err := h.st.Commit(h.t.Context(), []store.Commit{{
		Key: keys[0], Loaded: doc.Applied, Epoch: doc.Epoch, Applied: doc.Head, View: fmt.Append(nil, doc.Head),
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	want := store.Done
	switch {
	case before.Applied != doc.Applied:
		want = store.Stale
	case before.Head != doc.Head:
		want = store.StillDirty
	}
	if outcomes[0] != want {
		h.t.Errorf("%s: %s over %d of %d, having loaded %d of %d; want %s",
			event, outcomes[0], before.Applied, before.Head, doc.Applied, doc.Head, want)
	}
	if after := h.row(); after.Applied < before.Applied || string(after.View) != fmt.Sprint(after.Applied) {
		h.t.Errorf("%s: view %q at %d, over %d", event, after.View, after.Applied, before.Applied)
	}
}

func holder(event string) int { return int(event[len("holder ")] - '0') }
