package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// generatorMethods returns a call of each method of [store.Generator], with input that
// changes nothing that matters.
func generatorMethods(b store.Backend) map[string]func(context.Context) error {
	missing := func(err error) error {
		// There is no such generation, or none is kept: the call was made.
		if err != nil && isNotFound(err) {
			return nil
		}
		return err
	}
	return map[string]func(context.Context) error{
		"Generations": func(ctx context.Context) error { _, err := b.Generations(ctx, "notes"); return err },
		"Fill":        func(ctx context.Context) error { _, err := b.Fill(ctx, "notes@9"); return missing(err) },
		"Switch": func(ctx context.Context) error {
			_, err := b.Switch(ctx, "notes@9", store.SwitchTerms{})
			return missing(err)
		},
		"Hold": func(ctx context.Context) error {
			_, err := b.Hold(ctx, "notes", time.Time{}, 0)
			return missing(err)
		},
		"Rollback": func(ctx context.Context) error { return missing(b.Rollback(ctx, "notes")) },
		"Retire":   func(ctx context.Context) error { return missing(b.Retire(ctx, "notes@9")) },
		"Sweep":    func(ctx context.Context) error { _, err := b.Sweep(ctx); return err },
	}
}

// states describes the generations of a collection that live.
func (f *fixture) states(collection string) []string {
	f.Helper()
	states := []string{}
	for _, g := range f.generations(collection) {
		if g.State != store.Dropping {
			states = append(states, fmt.Sprint(g.Version, " ", g.State))
		}
	}
	return states
}

// mustBe compares the generations of notes.
func (f *fixture) mustBe(want ...string) {
	f.Helper()
	if got := f.states("notes"); fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("the generations are %q, want %q", got, want)
	}
}

func (f *fixture) generations(collection string) []store.Generation {
	f.Helper()
	all, err := f.b.Generations(background, collection)
	if err != nil {
		f.Fatalf("Generations of %s: %v", collection, err)
	}
	return all
}

func (f *fixture) servedVersion(collection string) int {
	f.Helper()
	collections, err := f.b.Collections(background)
	if err != nil {
		f.Fatalf("Collections: %v", err)
	}
	for _, c := range collections {
		if c.Name == collection {
			return c.Version
		}
	}
	return 0
}

// hold is one call of Hold, which must succeed.
func (f *fixture) hold(collection string, mine time.Time, d time.Duration) time.Time {
	f.Helper()
	until, err := f.b.Hold(background, collection, mine, d)
	if err != nil {
		f.Fatalf("Hold: %v", err)
	}
	return until
}

// held returns for how long what is served of a collection is held yet.
func (f *fixture) held(collection string) time.Duration {
	f.Helper()
	collections, err := f.b.Collections(background)
	if err != nil {
		f.Fatalf("Collections: %v", err)
	}
	for _, c := range collections {
		if c.Name == collection {
			return c.Held
		}
	}
	return 0
}

// fillSome is one call of Fill, which must succeed.
func (f *fixture) fillSome(name string) (more bool) {
	f.Helper()
	more, err := f.b.Fill(background, name)
	if err != nil {
		f.Fatalf("Fill %s: %v", name, err)
	}
	return more
}

// fill calls Fill to the end.
func (f *fixture) fill(name string) {
	f.Helper()
	for range mostCollected {
		if !f.fillSome(name) {
			return
		}
	}
	f.Fatalf("Fill %s does not end", name)
}

// foldAll folds all runnable documents of a generation to their heads.
func (f *fixture) foldAll(name string) {
	f.Helper()
	for _, r := range f.runnable(name) {
		d := f.load(r.Key)
		f.mustCommit(store.Done, store.Commit{
			Key: r.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: fmt.Appendf(nil, "%d of version %d", d.Head, d.Version),
		})
	}
}

// switchTo is Switch, which must return this.
func (f *fixture) switchTo(name string, force bool, want store.Hindrance) store.Obstacle {
	f.Helper()
	got, err := f.b.Switch(background, name, store.SwitchTerms{Force: force})
	if err != nil || got.Why != want {
		f.Fatalf("Switch to %s: %s is in the way, %v, want %s", name, got.Why, err, want)
	}
	return got
}

// rebuild registers a version of notes, builds it and serves it.
func (f *fixture) rebuild(version int) {
	f.Helper()
	name := store.CollectionName{Name: "notes", Version: version}.String()
	mustRegister(f, "notes", version)
	f.fill(name)
	f.foldAll(name)
	f.switchTo(name, false, store.Unhindered)
}

func (f *fixture) rollback() {
	f.Helper()
	if err := f.b.Rollback(background, "notes"); err != nil {
		f.Fatalf("Rollback: %v", err)
	}
}

func (f *fixture) retire(name string) {
	f.Helper()
	if err := f.b.Retire(background, name); err != nil {
		f.Fatalf("Retire %s: %v", name, err)
	}
}

// sweep removes all of what is being dropped.
func (f *fixture) sweep() {
	f.Helper()
	for range mostCollected {
		more, err := f.b.Sweep(background)
		if err != nil {
			f.Fatalf("Sweep: %v", err)
		}
		if !more {
			return
		}
	}
	f.Fatalf("Sweep does not end")
}

// mustView compares views of the notes by any name.
func (f *fixture) mustView(k store.Key, applied int64, view string) {
	f.Helper()
	if d := f.load(k); d.Applied != applied || string(d.View) != view {
		f.Fatalf("%s has applied %d and the view %q, want %d and %q", k, d.Applied, d.View, applied, view)
	}
}
