package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// These are the failures of facts/leases.md and facts/requeue.md that are about derived
// documents, and what happens here instead.

// points is a stretch of a stream: an operation adds values to it.
type points struct{ Values []int }

func pointsSpec(name string) materializer.Spec[points, points] {
	return materializer.Spec[points, points]{Name: name, Version: 1, Fold: func(p points, op materializer.Operation[points]) (points, error) {
		p.Values = append(p.Values, op.Body.Values...)
		return p, nil
	}}
}

// aggregates makes the sum of all values, and how many they are, of what has the same id in each source.
func aggregates(name string, sources ...materializer.Readable[points]) materializer.Contributions[points, total] {
	spec := materializer.Contributions[points, total]{Name: name, Version: 1, Reduce: func(_ string, all iter.Seq2[materializer.Contributor, points]) (t total, _ error) {
		for _, p := range all {
			for _, v := range p.Values {
				t.Lines += v
			}
			t.Of += len(p.Values)
		}
		return t, nil
	}}
	for _, s := range sources {
		spec.Sources = append(spec.Sources, materializer.From(s, func(id string, p points, emit func(string, points)) error {
			emit(id, p)
			return nil
		}))
	}
	return spec
}

// Late data into a range that was aggregated is aggregated like any other.
func TestF10LateDataIsAggregated(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	raw := must(materializer.Register(r.m, pointsSpec("raw")))(t)
	minutes := must(materializer.ByContributions(r.m, aggregates("minutes", raw)))(t)
	r.start()
	add := func(n int) {
		for range n {
			must(raw.Append(context.Background(), "12:00", points{[]int{1}}))(t)
		}
		r.drain()
	}
	add(60)
	want(t, minutes, map[string]total{"12:00": {60, 60}})
	add(1000)
	want(t, minutes, map[string]total{"12:00": {1060, 1060}})
}

// The derivative of a counter is the same whichever of its sources comes first.
func TestF14OrderOfArrivalDoesNotShow(t *testing.T) {
	values := []int{10, 17, 12, 30, 12, 23, 38, 45}
	resets := []int{4, 7}
	for _, first := range []string{"data", "resets", "by second, data first", "by second, resets first"} {
		t.Run(first, func(t *testing.T) {
			r := newDerivedRig(t, nil, materializer.Config{})
			data := must(materializer.Register(r.m, pointsSpec("data")))(t)
			reset := must(materializer.Register(r.m, pointsSpec("resets")))(t)
			byStream := func(c materializer.Readable[points]) materializer.Source[int] {
				return materializer.From(c, func(_ string, p points, emit func(string, int)) error {
					emit("counter", p.Values[0])
					return nil
				})
			}
			derivative := must(materializer.ByContributions(r.m, materializer.Contributions[int, []int]{
				Name: "derivative", Version: 1, Sources: []materializer.Source[int]{byStream(reset), byStream(data)},
				Reduce: func(_ string, all iter.Seq2[materializer.Contributor, int]) (made []int, _ error) {
					cleared := make(map[string]bool)
					last, some := 0, false
					for by, v := range all {
						switch {
						case by.Input == 0:
							cleared[by.Source] = true
							continue
						case cleared[by.Source]:
						case some && v < last:
							made = append(made, v+256-last)
						case some:
							made = append(made, v-last)
						}
						last, some = v, true
					}
					return made, nil
				},
			}))(t)
			r.start()
			give := func(to *materializer.Collection[points, points], second, value int) {
				must(to.Append(context.Background(), fmt.Sprintf("%02d", second), points{[]int{value}}))(t)
				r.drain()
			}
			giveData := func(second int) { give(data, second, values[second]) }
			giveReset := func(second int) {
				if slices.Contains(resets, second) {
					give(reset, second, 1)
				}
			}
			for _, way := range map[string][]func(int){
				"data":                    {giveData, nil, giveReset},
				"resets":                  {giveReset, nil, giveData},
				"by second, data first":   {func(s int) { giveData(s); giveReset(s) }},
				"by second, resets first": {func(s int) { giveReset(s); giveData(s) }},
			}[first] {
				for second := range values {
					if way != nil {
						way(second)
					}
				}
			}
			want(t, derivative, map[string][]int{"counter": {7, 251, 18, 11, 15}})
		})
	}
}

// Two writers of the sources of a sum: each second is there once, with both.
func TestF15TwoWritersOfASum(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{Workers: 4})
	a := must(materializer.Register(r.m, pointsSpec("a")))(t)
	b := must(materializer.Register(r.m, pointsSpec("b")))(t)
	sum := must(materializer.ByContributions(r.m, aggregates("sum", a, b)))(t)
	r.start()
	var g sync.WaitGroup
	for i, source := range []*materializer.Collection[points, points]{a, b} {
		g.Go(func() {
			for second := range 200 {
				if _, err := source.Append(context.Background(), fmt.Sprint(second), points{[]int{second << i}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	r.drain()
	wantSeconds(t, sum, 200)
}

func wantSeconds(t *testing.T, sum *materializer.Derived[total], n int) {
	t.Helper()
	all := make(map[string]total)
	for second := range n {
		all[fmt.Sprint(second)] = total{second * 3, 2}
	}
	want(t, sum, all)
}

// One source of a sum that is late by much: no second is dropped.
func TestF16LateSourceOfASum(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	a := must(materializer.Register(r.m, pointsSpec("a")))(t)
	b := must(materializer.Register(r.m, pointsSpec("b")))(t)
	sum := must(materializer.ByContributions(r.m, aggregates("sum", a, b)))(t)
	r.start()
	for i, source := range []*materializer.Collection[points, points]{a, b} {
		for second := range 200 {
			must(source.Append(context.Background(), fmt.Sprint(second), points{[]int{second << i}}))(t)
		}
		r.drain()
	}
	wantSeconds(t, sum, 200)
}

// A derived document that fails does not fail the append of its source, and what is
// missing comes when it is mended.
func TestF17DerivedFailureFailsNoAppend(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	a := must(materializer.Register(r.m, pointsSpec("a")))(t)
	spec := aggregates("sum", a)
	reduce := spec.Reduce
	var broken atomic.Bool
	broken.Store(true)
	spec.Retry = quick
	spec.Reduce = func(key string, all iter.Seq2[materializer.Contributor, points]) (total, error) {
		if broken.Load() && strings.HasSuffix(key, "3") {
			return total{}, errPlanted
		}
		return reduce(key, all)
	}
	sum := must(materializer.ByContributions(r.m, spec))(t)
	r.start()
	all := make(map[string]total)
	for second := range 324 {
		must(a.Append(context.Background(), fmt.Sprint(second), points{[]int{second}}))(t)
		all[fmt.Sprint(second)] = total{second, 1}
	}
	r.drain()
	broken.Store(false)
	if n := must(sum.ResumeAll(context.Background()))(t); n != 33 {
		t.Errorf("%d were parked, want 33", n)
	}
	r.drain()
	want(t, sum, all)
}

// inDoubt is a store of which each commit is stored and then fails, as often as said.
type inDoubt struct {
	store.Backend
	left atomic.Int64
}

func (s *inDoubt) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	outcomes, err := s.Backend.Commit(ctx, commits)
	if err == nil && s.left.Add(-1) >= 0 {
		return nil, store.ErrInDoubt
	}
	return outcomes, err
}

// What is done again after a crash, here each step, contributes once.
func TestF18ContributionsAreIdempotent(t *testing.T) {
	for name, of := range reduces {
		t.Run(name, func(t *testing.T) {
			st := &inDoubt{Backend: memory.New(nil)}
			st.left.Store(20)
			r := newDerivedRig(t, st, materializer.Config{})
			authors := must(materializer.ByContributions(r.m, of(authorsOf(byAuthor(r.files)))))(t)
			r.start()
			r.set("a", file{Author: "ann", Lines: 1})
			r.set("b", file{Author: "ann", Lines: 2})
			r.set("a", file{Author: "ann", Lines: 4})
			r.drain()
			want(t, authors, map[string]author{"ann": {6, []string{"0/a", "0/b"}}})
		})
	}
}

// A source that is forgotten while what it does is found out leaves no orphan, and is not
// brought back.
func TestF20ForgottenDuringItsRun(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	reached, goOn := make(chan struct{}), make(chan struct{})
	authors := must(materializer.ByContributions(r.m, authorsOf(materializer.From(r.files, func(_ string, f file, emit func(string, file)) error {
		reached <- struct{}{}
		<-goOn
		emit(f.Author, f)
		return nil
	}))))(t)
	r.start()
	r.set("a", file{Author: "ann", Lines: 1})
	<-reached
	if err := r.files.Forget(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	r.drain()
	want(t, authors, map[string]author{})
	docs := must(r.st.Load(context.Background(), []store.Key{
		{Collection: "authors<files", ID: "a"}, {Collection: "files", ID: "a"}, {Collection: "authors", ID: "ann"},
	}, store.WithViews))(t)
	for _, doc := range docs {
		if doc.Head != 0 {
			t.Errorf("%v is there", doc.Key)
		}
	}
}

// A change of one of many contributions costs a look at that one.
func TestW6OneContributionOfManyIsOneStep(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	var steps atomic.Int64
	spec := incremental(authorsOf(byAuthor(r.files)))
	add, remove := spec.Add, spec.Remove
	spec.Add = func(a author, by materializer.Contributor, f file) (author, error) {
		steps.Add(1)
		return add(a, by, f)
	}
	spec.Remove = func(a author, by materializer.Contributor, f file) (author, error) {
		steps.Add(1)
		return remove(a, by, f)
	}
	authors := must(materializer.ByContributions(r.m, spec))(t)
	r.start()
	for i := range 1000 {
		r.set(fmt.Sprintf("f%04d", i), file{Author: "ann", Lines: 1})
	}
	r.drain()
	if n := steps.Load(); n != 1000 {
		t.Errorf("%d steps for 1,000 contributions, want as many", n)
	}
	r.set("f0500", file{Author: "ann", Lines: 2})
	r.drain()
	if n := steps.Load(); n != 1002 {
		t.Errorf("%d steps for one more, want 2", n-1000)
	}
	if got := states(t, authors)["ann"]; got.Lines != 1001 || len(got.Files) != 1000 {
		t.Errorf("%d lines of %d files", got.Lines, len(got.Files))
	}
}

// twice is a store to which each commit is sent a second time, as by a worker that was
// overtaken.
type twice struct {
	store.Backend
	t testing.TB
}

func (s *twice) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	outcomes, err := s.Backend.Commit(ctx, commits)
	again, err2 := s.Backend.Commit(ctx, commits)
	for i, outcome := range again {
		if moved := commits[i].Applied > commits[i].Loaded && commits[i].Failure == nil; moved && outcome != store.Stale && outcomes[i] != store.Stale {
			s.t.Errorf("the second commit of %v is %v", commits[i].Key, outcome)
		}
	}
	return outcomes, errors.Join(err, err2)
}

// A result that is stored by two workers is stored once.
func TestW8NothingIsDoubled(t *testing.T) {
	for name, of := range reduces {
		t.Run(name, func(t *testing.T) {
			r := newDerivedRig(t, &twice{memory.New(nil), t}, materializer.Config{})
			authors := must(materializer.ByContributions(r.m, of(authorsOf(byAuthor(r.files)))))(t)
			r.start()
			for i := range 20 {
				r.set("a", file{Author: "ann", Lines: i})
			}
			r.set("b", file{Author: "ann", Lines: 1})
			r.drain()
			want(t, authors, map[string]author{"ann": {20, []string{"0/a", "0/b"}}})
		})
	}
}

// Only the documents are built again that have read what changed, each once.
func TestW12OnlyReadersAreBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDerivedRig(t, nil, materializer.Config{})
		var mu sync.Mutex
		built := make(map[string]int)
		spec := cardsOf(r.files)
		build := spec.Build
		spec.Build = func(r *materializer.Reader, id string) (card, error) {
			mu.Lock()
			built[id]++
			mu.Unlock()
			return build(r, id)
		}
		must(materializer.ByReads(r.m, spec))(t)
		r.start()
		for i := range 50 {
			r.set(fmt.Sprint(i), file{Links: []string{fmt.Sprint(i / 2)}})
		}
		r.drain()
		settle()
		mu.Lock()
		clear(built)
		mu.Unlock()
		r.set("7", file{Lines: 1})
		r.drain()
		settle()
		mu.Lock()
		defer mu.Unlock()
		if got := fmt.Sprint(built); got != "map[14:1 15:1 7:1]" {
			t.Errorf("%s are built, want the document, and the two that link to it, each once", got)
		}
	})
}

// What a change makes dirty elsewhere is durable with it: a process that ends at any
// step loses nothing.
func TestC4WhatFollowsIsDurable(t *testing.T) {
	for _, at := range []string{"authors<files", "authors", "letters<authors", "letters", "all<letters", "all"} {
		t.Run(at, func(t *testing.T) {
			st := memory.New(nil)
			t.Cleanup(func() { _ = st.Close() })
			stop := newStopping(st)
			r := newDerivedRig(t, stop, materializer.Config{Grace: -1})
			chain(t, r)
			stop.at.Store(&at)
			run := (&rig{m: r.m}).start()
			r.set("a", file{Author: "ann", Lines: 3})
			for waitUntilDirty(t, st, at); ; {
				if err := run.halt(); err == nil {
					break
				}
			}
			next := newDerivedRig(t, st, materializer.Config{})
			_, _, all := chain(t, next)
			next.start()
			next.drain()
			want(t, all, map[string]total{"all": {3, 1}})
		})
	}
}

// waitUntilDirty waits until a document of a name is dirty.
func waitUntilDirty(t testing.TB, st store.Backend, name string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if must(st.Count(context.Background(), name))(t).Dirty > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("nothing of %s became dirty", name)
}
