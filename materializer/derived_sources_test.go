package materializer_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// again is another process on the store of a rig, which has ended.
func (r *derivedRig) again(specs ...materializer.Spec[file, file]) *derivedRig {
	r.t.Helper()
	next := &derivedRig{t: r.t, st: r.st, m: must(materializer.New(r.st, materializer.Config{}))(r.t)}
	if specs == nil {
		specs = append(specs, filesSpec("files"))
	}
	for _, spec := range specs {
		next.files = must(materializer.Register(next.m, spec))(r.t)
	}
	return next
}

func (r *derivedRig) halt() {
	r.t.Helper()
	if err := r.run.halt(); err != nil {
		r.t.Fatal(err)
	}
}

// Who has registered a version with other sources waits for those of what is served: nobody
// here tells version 1 of the change, so that neither Wait nor AtLeast may end before the switch.
func TestDerivedWaitsForTheSourcesOfWhatIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDerivedRig(t, nil, materializer.Config{})
		must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
		r.start()
		r.set("x", file{Author: "ann", Lines: 1})
		r.drain()
		r.halt()

		r = r.again()
		others := must(materializer.Register(r.m, filesSpec("others")))(t)
		must(others.Append(t.Context(), "o", file{Author: "ann", Lines: 7}))(t)
		free := make(chan struct{})
		next := authorsOf(materializer.From(others, func(_ string, f file, emit func(string, file)) error {
			<-free
			emit(f.Author, f)
			return nil
		}))
		next.Version = 2
		d := must(materializer.ByContributions(r.m, next))(t)
		r.start()
		time.Sleep(2 * time.Second)
		token := r.set("x", file{Author: "ann", Lines: 2})
		for name, wait := range map[string]func(context.Context) error{
			"Wait":       func(ctx context.Context) error { return d.Wait(ctx, token) },
			"Wait (all)": func(ctx context.Context) error { return r.m.Wait(ctx, token) },
			"Get": func(ctx context.Context) error {
				_, err := d.Get(ctx, "ann", materializer.AtLeast(token))
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s ended with %v although nobody has told version 1 of the change", name, err)
			}
			cancel()
		}
		h := must(r.m.Health(t.Context()))(t)
		if c := h.Collections[0]; c.Name != "authors" || c.Dirty != 1 || c.Oldest != (store.Key{Collection: "authors<files", ID: "x"}) {
			t.Errorf("health has %+v, want the row from x of files", c)
		}
		waited := make(chan error, 1)
		go func() { waited <- d.Wait(within(t, time.Minute), token) }()
		close(free)
		if err := <-waited; err != nil {
			t.Errorf("after the switch: %v", err)
		}
		if v, err := d.Get(t.Context(), "ann", materializer.AtLeast(token)); err != nil || v.Version != 2 || v.State.Lines != 7 {
			t.Errorf("after the switch: %+v, %v", v, err)
		}
	})
}

// What a served collection is made of may be derived by another program: it is waited for, too.
func TestDerivedWaitsForASourceThatIsNotRegisteredHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDerivedRig(t, nil, materializer.Config{})
		authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
		totals := func(version int, s materializer.Readable[author]) materializer.Contributions[int, total] {
			c := totalsOf("totals", s, func(a author) int { return a.Lines }, func(string) string { return "all" })
			c.Version = version
			return c
		}
		must(materializer.ByContributions(r.m, totals(1, authors)))(t)
		r.start()
		r.set("x", file{Author: "ann", Lines: 1})
		r.drain()
		r.halt()

		r = r.again()
		next := totalsOf("totals", r.files, func(f file) int { return f.Lines }, func(string) string { return "all" })
		next.Version = 2
		free := make(chan struct{})
		reduce := next.Reduce
		next.Reduce = func(key string, all iter.Seq2[materializer.Contributor, int]) (total, error) {
			<-free
			return reduce(key, all)
		}
		d := must(materializer.ByContributions(r.m, next))(t)
		r.start()
		time.Sleep(2 * time.Second)
		token := r.set("x", file{Author: "ann", Lines: 2})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if v, err := d.Get(ctx, "all", materializer.AtLeast(token)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read %+v, %v, although nobody has told authors of the change", v, err)
		}
		close(free)
		if v, err := d.Get(within(t, time.Minute), "all", materializer.AtLeast(token)); err != nil || v.State.Lines != 2 {
			t.Errorf("after the switch: %+v, %v", v, err)
		}
	})
}

// A kept generation is filled again when a source of it is switched, so that a rollback to it
// serves what is made of the new views.
func TestKeptGenerationIsFilledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := filesSpec("files")
		spec.Version = 2
		spec.Fold = func(_ file, op materializer.Operation[file]) (file, error) {
			op.Body.Lines *= 10
			return op.Body, nil
		}
		both := func(r *derivedRig) *materializer.Derived[author] {
			must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
			next := authorsOf(byAuthor(r.files))
			next.Version = 2
			return must(materializer.ByContributions(r.m, next))(t)
		}
		r := newDerivedRig(t, nil, materializer.Config{})
		must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
		r.start()
		r.set("x", file{Author: "ann", Lines: 1})
		r.drain()
		r.halt()
		r = r.again()
		both(r)
		r.start()
		time.Sleep(10 * time.Second)
		r.halt()
		r = r.again(filesSpec("files"), spec)
		d := both(r)
		r.start()
		time.Sleep(10 * time.Second)
		all := must(r.m.Generations(t.Context(), "authors"))(t)
		if len(all) != 2 || all[0].State != materializer.Kept || !all[0].Filled || all[0].Dirty != 0 {
			t.Fatalf("the generations are %+v, want the first one kept and filled", all)
		}
		if err := d.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err := d.Get(t.Context(), "ann"); err != nil || v.Version != 1 || v.State.Lines != 10 {
			t.Errorf("after the rollback: %+v, %v", v, err)
		}
	})
}

// KeepFor of a derived collection is as that of another one: here it is not kept at all.
func TestDerivedKeepFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDerivedRig(t, nil, materializer.Config{})
		must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
		must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
		r.start()
		r.set("x", file{Author: "ann", Lines: 1})
		r.drain()
		r.halt()
		r = r.again()
		a, c := authorsOf(byAuthor(r.files)), cardsOf(r.files)
		a.Version, a.KeepFor = 2, -1
		c.Version, c.KeepFor = 2, time.Hour
		must(materializer.ByContributions(r.m, a))(t)
		must(materializer.ByReads(r.m, c))(t)
		r.start()
		time.Sleep(time.Minute)
		for name, want := range map[string]int{"authors": 1, "cards": 2} {
			if all := must(r.m.Generations(t.Context(), name))(t); len(all) != want {
				t.Errorf("%s has %+v, want %d generations", name, all, want)
			}
		}
		time.Sleep(time.Hour)
		if all := must(r.m.Generations(t.Context(), "cards"))(t); len(all) != 1 {
			t.Errorf("cards has %+v an hour later", all)
		}
	})
}

// The progress of a build counts what sources have still to tell it.
func TestDerivedProgressCountsItsMappings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		t.Cleanup(func() { _ = st.Close() })
		r := newDerivedRig(t, st, materializer.Config{Workers: 1})
		const n = 3000
		for _, id := range numbered("f", n) {
			r.set(id, file{Author: "ann", Lines: 1})
		}
		must(materializer.ByContributions(r.m, authorsOf(materializer.From(r.files, func(_ string, f file, emit func(string, file)) error {
			time.Sleep(10 * time.Millisecond)
			emit(f.Author, f)
			return nil
		}))))(t)
		r.start()
		time.Sleep(15 * time.Second)
		all := must(r.m.Generations(t.Context(), "authors"))(t)
		g := all[len(all)-1]
		if g.State != materializer.Building || !g.Filled || g.Dirty < n/3 || g.Dirty > n*2/3 {
			t.Errorf("in the middle there is %+v", g)
		}
		if g.Rate < 50 || g.Rate > 110 || g.Left < 10*time.Second || g.Left > 25*time.Second {
			t.Errorf("the rate is %v, left is %v", g.Rate, g.Left)
		}
		if h := must(r.m.Health(t.Context()))(t); h.Building != g.Dirty {
			t.Errorf("health has %d, the generation %d", h.Building, g.Dirty)
		}
		time.Sleep(40 * time.Second)
		if all := must(r.m.Generations(t.Context(), "authors"))(t); all[len(all)-1].State != materializer.Serving {
			t.Errorf("it is %+v", all)
		}
	})
}
