package materializer_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// A build that is under way when its source changes is followed by one other build, whether
// the round of the source comes before that or after it.
func TestDerivedSourceChangesDuringBuild(t *testing.T) {
	for name, late := range map[string]bool{"round before": false, "round after": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDerivedRig(t, nil, materializer.Config{Workers: 2, Batch: 1})
				spec := cardsOf(r.files)
				build, reached, goOn, round := spec.Build, make(chan struct{}), make(chan struct{}), make(chan struct{})
				spec.Sources[0] = materializer.Concerns(r.files, func(id string, f file) []string {
					if late && f.Lines == 2 {
						<-round
					}
					return []string{id}
				})
				var builds atomic.Int64
				spec.Build = func(r *materializer.Reader, id string) (card, error) {
					c, err := build(r, id)
					if builds.Add(1) == 1 {
						close(reached)
						<-goOn
					}
					return c, err
				}
				cards := must(materializer.ByReads(r.m, spec))(t)
				r.start()
				r.set("a", file{Lines: 1})
				<-reached
				r.set("a", file{Lines: 2})
				settle() // the round has been, or is held up
				close(goOn)
				settle()
				want(t, cards, map[string]card{"a": {Lines: 2}})
				close(round)
				r.drain()
				settle()
				want(t, cards, map[string]card{"a": {Lines: 2}})
				if n := builds.Load(); n != 2 {
					t.Errorf("%d builds, want 2", n)
				}
			})
		})
	}
}

// A build that reads a source for the first time which changes before the build is stored
// is built again, although nobody knew that it reads it.
func TestDerivedNewReadChangesDuringBuild(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{Workers: 2})
	spec := cardsOf(r.files)
	build, reached, goOn := spec.Build, make(chan struct{}, 1), make(chan struct{})
	var held atomic.Bool
	spec.Build = func(r *materializer.Reader, id string) (card, error) {
		c, err := build(r, id)
		if id == "a" && !held.Swap(true) {
			reached <- struct{}{}
			<-goOn
		}
		return c, err
	}
	cards := must(materializer.ByReads(r.m, spec))(t)
	r.start()
	r.set("a", file{Links: []string{"b"}})
	<-reached
	r.set("b", file{Lines: 7})
	if err := cards.Drain(within(t, time.Minute), "b"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	r.drain()
	want(t, cards, map[string]card{"a": {Links: []string{"b has 7"}}, "b": {Lines: 7}})
}

// Wait and AtLeast are exact through three levels: they return when what the token covers is
// in, and not before, wherever it is held up.
func TestDerivedWaitIsExact(t *testing.T) {
	for _, at := range []string{"files", "authors<files", "authors", "letters<authors", "letters", "all<letters", "all"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := memory.New(nil)
				defer func() { _ = st.Close() }()
				stop := newStopping(st)
				r := newDerivedRig(t, stop, materializer.Config{})
				_, letters, all := chain(t, r)
				stop.at.Store(&at)
				ctx, cancel := context.WithCancel(context.Background())
				ran := make(chan error, 1)
				go func() { ran <- r.m.Run(ctx) }()
				token := r.set("a", file{Author: "ann", Lines: 3})
				waits := map[string]func() error{
					"Wait of all":        func() error { return r.m.Wait(ctx, token) },
					"Wait":               func() error { return all.Wait(ctx, token) },
					"Wait of a document": func() error { return all.Wait(ctx, token, "all") },
					"Drain":              func() error { return all.Drain(ctx) },
					"Get": func() error {
						v, err := all.Get(ctx, "all", materializer.AtLeast(token))
						if err == nil && v.State != (total{3, 1}) {
							err = fmt.Errorf("got %v", v.State)
						}
						return err
					},
				}
				ended := make(chan error)
				for name, wait := range waits {
					go func() {
						if err := wait(); err != nil {
							ended <- fmt.Errorf("%s: %w", name, err)
							return
						}
						ended <- nil
					}()
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				select {
				case err := <-ended:
					t.Fatalf("somebody did not wait: %v", err)
				default:
				}
				// What is not made of what is held up does not wait.
				if strings.HasPrefix(at, "all") {
					if err := letters.Wait(ctx, token); err != nil {
						t.Error(err)
					}
				}
				health, err := r.m.Health(ctx)
				if health.Dirty != 1 || health.Oldest.Collection != at || health.Position != 1 {
					t.Errorf("health is %d dirty, the oldest %v at %d, want 1 of %s at 1 (%v)", health.Dirty, health.Oldest, health.Position, at, err)
				}
				stop.at.Store(nil)
				for range waits {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
				if diff := cmp.Diff(total{3, 1}, states(t, all)["all"]); diff != "" {
					t.Error(diff)
				}
				cancel()
				if err := <-ran; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A paused derived collection is waited for, with what its sources tell it; the sources go
// on.
func TestDerivedPause(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
	r.start()
	if err := authors.Pause(context.Background()); err != nil {
		t.Fatal(err)
	}
	token := r.set("a", file{Author: "ann", Lines: 1})
	if err := r.files.Wait(within(t, time.Minute), token); err != nil {
		t.Fatal(err)
	}
	wantErr(t, authors.Wait(within(t, 50*time.Millisecond), token), errTooLong)
	want(t, authors, map[string]author{})
	if health := must(r.m.Health(context.Background()))(t); health.Paused != 1 || health.Dirty != 0 {
		t.Errorf("%d dirty and %d paused, want the row of the mapping as paused", health.Dirty, health.Paused)
	}
	if err := authors.Unpause(context.Background()); err != nil {
		t.Fatal(err)
	}
	v := must(authors.Get(within(t, time.Minute), "ann", materializer.AtLeast(token)))(t)
	if v.State.Lines != 1 {
		t.Errorf("%d lines, want 1", v.State.Lines)
	}
}

// Health counts rows of mappings among the dirty documents of what they feed, and the
// oldest is that of the operation which is not in all views.
func TestDerivedHealth(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
	r.start()
	r.set("a", file{Author: "ann"})
	r.set("b", file{Author: "ann"})
	r.drain()
	r.set("b", file{Author: "ann", Then: "fail map"})
	r.drain()
	health := must(r.m.Health(context.Background()))(t)
	i := 0
	for health.Collections[i].Name != "authors" {
		i++
	}
	c := health.Collections[i]
	if c.Parked != 1 || c.OldestParked != (materializer.Key{Collection: "authors<files", ID: "b"}) || !c.Derived || !c.Registered {
		t.Errorf("health of authors is %+v", c)
	}
}

// An unknown token and a reader that gives up are told so.
func TestDerivedWaitErrors(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
	token := r.set("a", file{Author: "ann"})
	ctx := within(t, time.Millisecond)
	for _, err := range []error{authors.Wait(ctx, token), authors.Drain(ctx, "ann")} {
		wantErr(t, err, errTooLong)
	}
	_, err := authors.Get(ctx, "ann", materializer.AtLeast(token))
	wantErr(t, err, errTooLong)
	other := newDerivedRig(t, nil, materializer.Config{})
	foreign := other.set("a", file{})
	_, err = authors.Get(context.Background(), "ann", materializer.AtLeast(foreign))
	wantErr(t, err, materializer.ErrForeignToken)
	wantErr(t, authors.Wait(context.Background(), foreign), materializer.ErrForeignToken)
	_, err = authors.Get(context.Background(), "ann")
	wantErr(t, err, materializer.ErrNotFound)
	_, err = authors.Get(context.Background(), "")
	wantErr(t, err, materializer.ErrInvalid)
}
