package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/refold-go/refold/store"
)

var commitChecks = []check{
	{"done means that the view has all operations", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Applied: 2, View: []byte("both")})
		d := f.load(key("a"))
		if d.Applied != 2 || string(d.View) != "both" || d.Dirty() || d.Since != (store.Since{}) {
			f.Errorf("document is %+v", d)
		}
		f.mustRun()
	}},
	{"still dirty means that there is more to do", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		f.append(key("a"), "3")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 2, View: []byte("two")})
		if d := f.load(key("a")); d.Applied != 2 || string(d.View) != "two" || d.Since.Position != 4 {
			f.Errorf("document is %+v", d)
		}
		f.mustRun("b", "a")
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 2, Applied: 3, View: []byte("three")})
		f.mustRun("b")
	}},
	{"an operation during the run leaves the document dirty", func(f *fixture) {
		f.append(key("a"), "1")
		loaded := f.load(key("a"))
		f.append(key("a"), "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Loaded: loaded.Applied, Epoch: loaded.Epoch, Applied: loaded.Head, View: []byte("1")})
		f.mustRun("a")
	}},
	{"a stale commit changes nothing", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 2, View: []byte("two")})
		before := contents(f.T, f.b)
		failure := &store.Failure{Seq: 3, Attempts: 1, Error: "late", Park: true}
		for _, c := range []store.Commit{
			{Loaded: 0, Applied: 3, View: []byte("late")},
			{Loaded: 1, Applied: 3, View: []byte("late")},
			{Loaded: 1, Applied: 2, View: []byte("late")},
			{Loaded: 3, Applied: 3},
			{Loaded: 0, Applied: 0, Failure: failure},
			{Loaded: 1, Applied: 2, View: []byte("late"), Failure: failure},
			{Loaded: 2, Applied: 3, View: []byte("late"), Epoch: f.load(key("a")).Epoch + 1},
		} {
			c.Key = key("a")
			f.mustCommit(store.Stale, c)
			f.mustContain(before)
		}
	}},
	{"F2_LateCommitOfStalledWorkerIsRefused", func(f *fixture) {
		f.append(key("a"), "1")
		stalled := f.load(key("a"))
		f.append(key("a"), "2")
		f.fold(key("a"), 2)
		before := contents(f.T, f.b)
		late := store.Commit{Key: key("a"), Loaded: stalled.Applied, Epoch: stalled.Epoch, Applied: stalled.Head, View: []byte("late")}
		f.mustCommit(store.Stale, late)
		f.mustContain(before)
		late.Failure = &store.Failure{Seq: 2, Attempts: 1, Error: "late"}
		f.mustCommit(store.Stale, late)
		f.mustContain(before)
	}},
	{"a stale commit does not keep the others from being stored", func(f *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			f.append(key(id), "1", "2")
		}
		f.fold(key("b"), 1)
		outcomes := f.commit(
			store.Commit{Key: key("a"), Applied: 2, View: []byte("a")},
			store.Commit{Key: key("b"), Applied: 2, View: []byte("late")},
			store.Commit{Key: key("c"), Applied: 1, View: []byte("c")},
		)
		if fmt.Sprint(outcomes) != "[done stale still dirty]" {
			f.Errorf("outcomes are %v", outcomes)
		}
		for id, view := range map[string]string{"a": "a", "b": string(viewOf(1)), "c": "c"} {
			if d := f.load(key(id)); string(d.View) != view {
				f.Errorf("view of %s is %q, want %q", id, d.View, view)
			}
		}
		f.mustRun("b", "c")
	}},
	{"applied beyond the head is invalid for the whole call", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.unchangedBy(store.ErrInvalid, func() error {
			_, err := f.b.Commit(background, []store.Commit{
				{Key: key("a"), Applied: 1, View: []byte("a")}, {Key: key("b"), Applied: 2, View: []byte("x")},
			})
			return err
		})
	}},
	{"applied beyond the head is stale if the guard does not hold", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.append(key("c"), "1", "2")
		f.fold(key("c"), 1)
		f.park(key("b"))
		outcomes := f.commit(
			store.Commit{Key: key("a"), Applied: 1, View: []byte("a")},
			store.Commit{Key: key("b"), Applied: 2, View: []byte("x")},
			store.Commit{Key: key("c"), Applied: 3, View: []byte("x")},
			store.Commit{Key: key("missing"), Applied: 1, View: []byte("x")},
			store.Commit{Key: store.Key{Collection: "unknown", ID: "a"}, Applied: 1, View: []byte("x")},
		)
		if fmt.Sprint(outcomes) != "[done stale stale stale stale]" {
			f.Errorf("outcomes are %v", outcomes)
		}
		mustHaveCollections(f, store.Collection{Name: "notes"})
	}},
	{"what breaks a rule is invalid for the whole call", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		fine := store.Commit{Key: key("a"), Applied: 1, View: []byte("a")}
		for _, bad := range [][]store.Commit{
			{fine, fine},
			{fine, {Key: key("b"), Loaded: 1}},
			{fine, {Key: key("b"), Loaded: -1}},
			{fine, {Key: key("")}},
		} {
			f.unchangedBy(store.ErrInvalid, func() error {
				_, err := f.b.Commit(background, bad)
				return err
			})
		}
	}},
	{"a view is ignored if nothing is applied", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.fold(key("a"), 1)
		before := contents(f.T, f.b)
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Loaded: 1, Applied: 1, View: []byte("ignored")})
		f.mustContain(before)
		f.fold(key("a"), 2)
		before = contents(f.T, f.b)
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 2, Applied: 2, View: []byte("ignored")})
		f.mustContain(before)
	}},
	{"a view may be empty or large", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		for i, size := range []int{0, 3 << 20, 1} {
			view := make([]byte, size)
			for j := range view {
				view[j] = byte(j * 7)
			}
			f.commit(store.Commit{Key: key("a"), Loaded: int64(i), Applied: int64(i + 1), View: view})
			if d := f.load(key("a")); string(d.View) != string(view) || d.Applied != int64(i+1) {
				f.Errorf("after a view of %d bytes there is one of %d, applied %d", size, len(d.View), d.Applied)
			}
		}
	}},
	{"no commits are no error", func(f *fixture) {
		f.commit()
	}},
	{"one of many runs of a document is accepted", func(f *fixture) {
		const workers = 8
		for round := range int64(small(3, 15)) {
			f.append(key("a"), "1")
			var accepted atomic.Int64
			var group sync.WaitGroup
			for range workers {
				group.Go(func() {
					c := store.Commit{Key: key("a"), Loaded: round, Applied: round + 1, View: viewOf(round + 1)}
					outcomes, err := f.b.Commit(background, []store.Commit{c})
					if err != nil {
						f.Errorf("Commit: %v", err)
					} else if outcomes[0] == store.Done {
						accepted.Add(1)
					}
				})
			}
			group.Wait()
			if accepted.Load() != 1 {
				f.Fatalf("%d of %d commits over the same state were accepted", accepted.Load(), workers)
			}
		}
	}},
	{"no append is lost between load and commit", func(f *fixture) {
		rounds := small(20, 200)
		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() {
			for i := range rounds {
				if _, err := f.b.Append(background, []store.Append{{Key: key("a"), Entries: entries(fmt.Sprint(i))}}); err != nil {
					f.Errorf("Append: %v", err)
				}
			}
		})
		applied := int64(0)
		for applied < int64(rounds) && !f.Failed() {
			d := f.load(key("a"))
			if d.Applied != applied {
				f.Errorf("applied is %d, want %d", d.Applied, applied)
			}
			if !d.Dirty() {
				continue
			}
			outcome := f.commit(store.Commit{Key: key("a"), Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: viewOf(d.Head)})[0]
			if outcome == store.Stale {
				f.Errorf("the only worker's commit is stale")
			}
			applied = d.Head
			if outcome == store.StillDirty && f.load(key("a")).Head == applied {
				f.Errorf("still dirty, but there is nothing after %d", applied)
			}
		}
		f.mustRun()
	}},
}
