package materializer_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// twoVersions are authors of version 1, which are served, and of version 2, which are
// being built.
type twoVersions struct {
	*derivedRig
	one, two *materializer.Derived[author]
}

// newTwoVersions serves version 1 of these files, and then runs both versions as they are
// changed.
func newTwoVersions(t *testing.T, given map[string]file, change func(one, two *contributions, c *files)) *twoVersions {
	st := memory.New(nil)
	t.Cleanup(func() { _ = st.Close() })
	first := newDerivedRig(t, st, materializer.Config{})
	must(materializer.ByContributions(first.m, authorsOf(byAuthor(first.files))))(t)
	first.start()
	for id, f := range given {
		first.set(id, f)
	}
	first.drain()
	if err := first.run.halt(); err != nil {
		t.Fatal(err)
	}
	r := &twoVersions{derivedRig: newDerivedRig(t, st, materializer.Config{Workers: 8})}
	one, two := authorsOf(byAuthor(r.files)), authorsOf(byAuthor(r.files))
	two.Version = 2
	change(&one, &two, r.files)
	r.one = must(materializer.ByContributions(r.m, one))(t)
	r.two = must(materializer.ByContributions(r.m, two))(t)
	r.start()
	time.Sleep(10 * time.Second) // it is built as far as it can be
	return r
}

// serves returns the version that is served.
func (r *twoVersions) serves() int {
	r.t.Helper()
	for _, g := range must(r.m.Generations(context.Background(), "authors"))(r.t) {
		if g.State == store.Serving {
			return g.Version
		}
	}
	return 0
}

// waitingOn has a reduce wait for a channel before it returns some results.
func waitingOn(c *contributions, until <-chan struct{}, which func(key string, a author) bool) {
	reduce := c.Reduce
	c.Reduce = func(key string, all iter.Seq2[materializer.Contributor, file]) (author, error) {
		a, err := reduce(key, all)
		if which(key, a) {
			<-until
		}
		return a, err
	}
}

// mapWaitingOn has the map wait for a channel before it maps a file of two lines.
func mapWaitingOn(c *contributions, of *files, until <-chan struct{}) {
	c.Sources = []materializer.Source[file]{materializer.From(of, func(_ string, f file, emit func(string, file)) error {
		if f.Lines == 2 {
			<-until
		}
		emit(f.Author, f)
		return nil
	})}
}

// A document that was read does not go back by a switch, whatever other documents of the
// old version lack.
func TestDerivedViewDoesNotGoBackByASwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, hold := make(chan struct{}), make(chan struct{})
		given := map[string]file{"x": {Author: "ann", Lines: 1}, "y": {Author: "bob", Lines: 1}, "z": {Author: "cid", Lines: 1}}
		r := newTwoVersions(t, given, func(one, two *contributions, _ *files) {
			waitingOn(one, free, func(key string, a author) bool { return key == "bob" && a.Lines == 2 })
			waitingOn(two, free, func(key string, a author) bool { return key == "ann" && a.Lines == 2 })
			waitingOn(two, hold, func(key string, _ author) bool { return key == "cid" })
		})
		r.set("y", file{Author: "bob", Lines: 2})
		r.set("x", file{Author: "ann", Lines: 2})
		time.Sleep(10 * time.Second)
		if v := must(r.two.Get(t.Context(), "ann"))(t); v.Version != 1 || v.State.Lines != 2 {
			t.Fatalf("before the switch version %d has %d lines", v.Version, v.State.Lines)
		}
		close(hold)
		time.Sleep(10 * time.Second)
		if v := must(r.two.Get(t.Context(), "ann"))(t); v.State.Lines != 2 {
			t.Errorf("version %d has %d lines", v.Version, v.State.Lines)
		}
		close(free)
		time.Sleep(10 * time.Second)
		if v := must(r.two.Get(t.Context(), "ann"))(t); r.serves() != 2 || v.State.Lines != 2 {
			t.Errorf("version %d is served and has %d lines", v.Version, v.State.Lines)
		}
	})
}

// readsOf are the ways to wait for a token.
func readsOf(d *materializer.Derived[author]) map[string]func(context.Context, materializer.Token) error {
	return map[string]func(context.Context, materializer.Token) error{
		"Get": func(ctx context.Context, token materializer.Token) error {
			_, err := d.Get(ctx, "ann", materializer.AtLeast(token))
			return err
		},
		"Wait of one": func(ctx context.Context, token materializer.Token) error { return d.Wait(ctx, token, "ann") },
		"Wait of all": func(ctx context.Context, token materializer.Token) error { return d.Wait(ctx, token) },
	}
}

// Who waits for what a token covers waits for it in the version that is read in the end,
// and in what is told to that.
func TestDerivedWaitOverASwitch(t *testing.T) {
	for _, way := range []string{"Get", "Wait of one", "Wait of all"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free, hold := make(chan struct{}), make(chan struct{})
				r := newTwoVersions(t, map[string]file{"x": {Author: "ann", Lines: 1}}, func(one, two *contributions, c *files) {
					waitingOn(one, free, func(_ string, a author) bool { return a.Lines == 2 })
					mapWaitingOn(two, c, free)
					waitingOn(two, hold, func(string, author) bool { return true })
				})
				token := r.set("x", file{Author: "ann", Lines: 2})
				r.waits(way, token, free, 2, func() { close(hold) })
			})
		})
	}
}

// A rollback is a switch too.
func TestDerivedWaitOverARollback(t *testing.T) {
	for _, way := range []string{"Get", "Wait of one", "Wait of all"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				r := newTwoVersions(t, map[string]file{"x": {Author: "ann", Lines: 1}}, func(one, two *contributions, c *files) {
					mapWaitingOn(one, c, free)
					waitingOn(two, free, func(_ string, a author) bool { return a.Lines == 2 })
				})
				token := r.set("x", file{Author: "ann", Lines: 2})
				r.waits(way, token, free, 1, func() {
					if err := r.two.Rollback(t.Context()); err != nil {
						t.Fatal(err)
					}
				})
			})
		})
	}
}

// waits waits for a token while another version comes to be served, which has what the
// token covers only when free is closed.
func (r *twoVersions) waits(way string, token materializer.Token, free chan struct{}, version int, comes func()) {
	r.t.Helper()
	over := make(chan error, 1)
	go func() { over <- readsOf(r.two)[way](context.Background(), token) }()
	time.Sleep(10 * time.Second)
	comes()
	time.Sleep(10 * time.Second)
	if v := must(r.two.Get(context.Background(), "ann"))(r.t); r.serves() != version || v.State.Lines != 1 {
		r.t.Fatalf("version %d has %d lines; it proves nothing", r.serves(), v.State.Lines)
	}
	select {
	case err := <-over:
		r.t.Errorf("%s returned %v before it was made", way, err)
		over <- err
	default:
	}
	close(free)
	if err := <-over; err != nil {
		r.t.Error(err)
	}
	if v := must(r.two.Get(context.Background(), "ann"))(r.t); v.State.Lines != 2 {
		r.t.Errorf("version %d has %d lines", v.Version, v.State.Lines)
	}
}

// A document that parks in the new version only holds back the switch, also by what came
// while it was built.
func TestDerivedParkedInTheNewVersionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		given := map[string]file{"x": {Author: "ann", Lines: 1}, "y": {Author: "bob", Lines: 1}}
		r := newTwoVersions(t, given, func(_, two *contributions, _ *files) {
			waitingOn(two, hold, func(key string, _ author) bool { return key == "bob" })
			reduce := two.Reduce
			two.Reduce = func(key string, all iter.Seq2[materializer.Contributor, file]) (author, error) {
				a, err := reduce(key, all)
				if key == "ann" && a.Lines == 2 {
					err = materializer.Permanent(errPlanted)
				}
				return a, err
			}
		})
		token := r.set("x", file{Author: "ann", Lines: 2})
		must(r.two.Get(within(t, time.Minute), "ann", materializer.AtLeast(token)))(t)
		close(hold)
		time.Sleep(10 * time.Second)
		if v := must(r.two.Get(t.Context(), "ann"))(t); r.serves() != 1 || v.State.Lines != 2 {
			t.Errorf("version %d is served, and has %d lines", v.Version, v.State.Lines)
		}
		r.set("x", file{Author: "ann", Lines: 3}) // it is parked all the same
		if n := must(r.two.Resume(t.Context(), "ann"))(t); n != 1 {
			t.Errorf("%d were resumed", n)
		}
		time.Sleep(10 * time.Second)
		if v := must(r.two.Get(t.Context(), "ann"))(t); r.serves() != 2 || v.State.Lines != 3 {
			t.Errorf("version %d is served, and has %d lines", v.Version, v.State.Lines)
		}
	})
}
