package model

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// What lets two processes have one document in a mutant of docs/model/lease.pml ends
// well on the role itself: never two with leases that have both not run out, no state
// with two results, and nothing left undone.
func TestLeaseCounterexamplesOnTheRole(t *testing.T) {
	for _, c := range leaseCounterexamples {
		t.Run(c.mutant, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &leasing{holders: holders{t: t, st: memory.New(nil)}, accepted: make(map[int64]bool)}
				for line := range strings.Lines(c.events) {
					switch event := strings.TrimSpace(line); {
					case event == "":
					case event == "append":
						w.append()
					case event == "the lease runs out":
						time.Sleep(2 * terms.For)
						w.ranOut = [2]bool{true, true}
					case strings.HasSuffix(event, "takes the lease"):
						w.take(holder(event))
					case strings.HasSuffix(event, "lengthens the lease"):
						w.lengthen(holder(event))
					case strings.HasSuffix(event, "loads"):
						w.load(event)
					case strings.HasSuffix(event, "commits"):
						w.commit(holder(event))
					case strings.HasSuffix(event, "releases"):
						w.release(holder(event))
					case strings.HasSuffix(event, "checks"): // it is in the commit
					default:
						t.Fatalf("unknown event %q", event)
					}
				}
				w.finish()
			})
		})
	}
}

var terms = store.LeaseTerms{For: time.Second, Most: time.Minute}

// leasing is two holders that work under leases.
type leasing struct {
	holders
	epochs   [2]int64 // 0 is none
	ranOut   [2]bool  // the lease has, since it was taken or lengthened
	accepted map[int64]bool
}

func (w *leasing) name(h int) string { return fmt.Sprint("holder ", h) }

func (w *leasing) held(h int) []store.Held { return []store.Held{{Key: keys[0], Epoch: w.epochs[h]}} }

// alone fails if the other holder has a lease that has not run out.
func (w *leasing) alone(h int) {
	w.t.Helper()
	if other := 1 - h; w.epochs[other] != 0 && !w.ranOut[other] {
		w.t.Errorf("both holders have the document")
	}
}

func (w *leasing) take(h int) {
	w.t.Helper()
	got, err := w.st.Lease(w.t.Context(), w.name(h), terms, keys[:1], true)
	if err != nil {
		w.t.Fatal(err)
	}
	if got[0].Epoch > 0 {
		w.epochs[h], w.ranOut[h] = got[0].Epoch, false
		w.alone(h)
	}
}

func (w *leasing) lengthen(h int) {
	w.t.Helper()
	had, err := w.st.Lengthen(w.t.Context(), w.name(h), terms, w.held(h))
	if err != nil {
		w.t.Fatal(err)
	}
	if !had[0] {
		w.epochs[h], w.loaded[h] = 0, nil // its run ends
		return
	}
	w.ranOut[h] = false
	w.alone(h)
}

func (w *leasing) release(h int) {
	w.t.Helper()
	if w.epochs[h] == 0 {
		return
	}
	if _, err := w.st.Release(w.t.Context(), w.name(h), w.held(h)); err != nil {
		w.t.Fatal(err)
	}
	w.epochs[h], w.loaded[h] = 0, nil
}

// commit stores what was loaded under the lease, which gives that up.
func (w *leasing) commit(h int) {
	w.t.Helper()
	doc, epoch := w.loaded[h], w.epochs[h]
	w.loaded[h], w.epochs[h] = nil, 0
	if doc == nil || epoch == 0 || !doc.Dirty() {
		return
	}
	before := w.row()
	outcomes, err := w.st.Commit(w.t.Context(), []store.Commit{{
		Key: keys[0], Loaded: doc.Applied, Epoch: epoch, Applied: doc.Head, View: fmt.Append(nil, doc.Head),
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	if outcomes[0] == store.Stale {
		if after := w.row(); after.Applied != before.Applied || after.Lease != before.Lease {
			w.t.Errorf("a stale commit has changed %+v to %+v", before, after)
		}
		return
	}
	if before.Epoch != epoch || w.accepted[doc.Applied] {
		w.t.Errorf("a second result for %d, or one under the epoch %d of %d, is accepted", doc.Applied, epoch, before.Epoch)
	}
	w.accepted[doc.Applied] = true
	if after := w.row(); after.Applied < before.Applied || after.Lease.Holder != "" {
		w.t.Errorf("%+v became %+v", before, after)
	}
}

// finish lets the holders end their runs, and one go on.
func (w *leasing) finish() {
	w.t.Helper()
	for h := range 2 {
		w.commit(h)
		w.release(h)
	}
	time.Sleep(2 * terms.For)
	w.ranOut = [2]bool{true, true}
	for range 2 {
		if w.take(0); w.epochs[0] != 0 {
			w.load(w.name(0))
			w.commit(0)
		}
	}
	if doc := w.row(); doc.Dirty() || doc.Lease.Holder != "" {
		w.t.Errorf("the end is %+v", doc)
	}
}
