package materializer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// A document that has to be made anew, because a source was forgotten, gets on while others of
// its sources change faster than it is made.
func TestDerivedAnewWhileHot(t *testing.T) { synctest.Test(t, testAnewWhileHot) }

func testAnewWhileHot(t *testing.T) {
	const n, every = 100, 5 * time.Millisecond
	r := newDerivedRig(t, nil, materializer.Config{})
	c := incremental(authorsOf(byAuthor(r.files)))
	add := c.Add
	c.Add = func(a author, by materializer.Contributor, f file) (author, error) {
		time.Sleep(every / 10) // all together longer than from one change to the next
		return add(a, by, f)
	}
	authors := must(materializer.ByContributions(r.m, c))(t)
	for i := range n {
		r.set(fmt.Sprintf("f%02d", i), file{Author: "ann", Lines: 1})
	}
	r.start()
	r.drain()
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	lines := 1
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			lines++
			r.set("f00", file{Author: "ann", Lines: lines})
			time.Sleep(every)
		}
	}()
	time.Sleep(time.Second)
	if err := r.files.Forget(context.Background(), "f50"); err != nil {
		t.Fatal(err)
	}
	forgotten := must(authors.Get(context.Background(), "ann"))(t).Head
	time.Sleep(time.Second)
	view := must(authors.Get(context.Background(), "ann"))(t)
	if view.Applied < forgotten {
		t.Errorf("a second later %d changes are in the view, want %d", view.Applied, forgotten)
	}
	if len(view.State.Files) != n-1 {
		t.Errorf("it is made of %d files, want %d", len(view.State.Files), n-1)
	}
	stop()
	<-over
	r.drain()
	if got := must(authors.Get(context.Background(), "ann"))(t).State.Lines; got != n-2+lines {
		t.Errorf("in the end it has %d lines, want %d", got, n-2+lines)
	}
}

// What does not fit into memory at once is made anew all the same, from pages.
func TestDerivedAnewInPages(t *testing.T) {
	const n = 60
	r := newDerivedRig(t, nil, materializer.Config{Bytes: 4 << 10, Workers: 1})
	authors := must(materializer.ByContributions(r.m, incremental(authorsOf(byAuthor(r.files)))))(t)
	for i := range n {
		r.set(fmt.Sprintf("f%02d", i), file{Author: "ann", Lines: i})
	}
	r.start()
	r.drain()
	if err := r.files.Forget(context.Background(), "f50"); err != nil {
		t.Fatal(err)
	}
	r.drain()
	got := must(authors.Get(context.Background(), "ann"))(t).State
	if want := n*(n-1)/2 - 50; got.Lines != want || len(got.Files) != n-1 {
		t.Errorf("it has %d lines of %d files, want %d of %d", got.Lines, len(got.Files), want, n-1)
	}
	if v := must(authors.Verify(context.Background(), materializer.VerifyOptions{}))(t); v.Different > 0 {
		t.Errorf("different: %v", v.Differences)
	}
}

// beforeReading is a store that calls a function before contributions are read.
type beforeReading struct {
	store.Backend
	call atomic.Pointer[func()]
}

func (s *beforeReading) Contributions(ctx context.Context, key store.Key, after store.Contributor, budget store.Budget) ([]store.Contribution, error) {
	if call := s.call.Swap(nil); call != nil {
		(*call)()
	}
	return s.Backend.Contributions(ctx, key, after, budget)
}

// A contribution that changes between the loading of a document and the reading of what it is made
// anew from is in it once.
func TestDerivedAnewOnce(t *testing.T) {
	for _, bytes := range []int64{0, 4 << 10} { // read at once, and in pages
		synctest.Test(t, func(t *testing.T) { testAnewOnce(t, bytes) })
	}
}

func testAnewOnce(t *testing.T, bytes int64) {
	const n = 60
	inner := memory.New(nil)
	t.Cleanup(func() { _ = inner.Close() })
	st := &beforeReading{Backend: inner}
	r := newDerivedRig(t, st, materializer.Config{Workers: 2, Bytes: bytes})
	authors := must(materializer.ByContributions(r.m, incremental(authorsOf(byAuthor(r.files)))))(t)
	for i := range n {
		r.set(fmt.Sprintf("f%02d", i), file{Author: "ann", Lines: 1})
	}
	r.start()
	r.drain()
	changed := make(chan struct{})
	call := func() {
		defer close(changed)
		before := must(authors.Get(context.Background(), "ann"))(t).Head
		r.set("f00", file{Author: "ann", Lines: 100})
		for must(authors.Get(context.Background(), "ann"))(t).Head == before {
			time.Sleep(time.Millisecond)
		}
	}
	st.call.Store(&call)
	if err := r.files.Forget(context.Background(), "f50"); err != nil {
		t.Fatal(err)
	}
	<-changed
	r.drain()
	if got := must(authors.Get(context.Background(), "ann"))(t).State.Lines; got != n-2+100 {
		t.Errorf("with %d bytes it has %d lines, want %d", bytes, got, n-2+100)
	}
}
