package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// soon is the longest that a follower may take to notice, with room for a slow
// machine.
const soon = 20 * time.Second

var followerChecks = []check{
	{"the first call returns at once", func(f *fixture) {
		mustFollow(f, 0)
	}},
	{"a context that ends ends the wait", func(f *fixture) {
		after := settle(f)
		ctx, cancel := context.WithCancelCause(background)
		defer cancel(nil)
		defer later(func() { cancel(errStopped) })()
		for {
			next, err := f.b.(store.Follower).Follow(ctx, after)
			if err != nil {
				if !errors.Is(err, errStopped) && !errors.Is(err, context.Canceled) {
					f.Errorf("Follow: %v", err)
				}
				return
			}
			after = next
		}
	}},
	{"an append by another handle is noticed", func(f *fixture) {
		second := f.second()
		after := settle(f)
		for range 3 {
			if _, err := second.Append(background, []store.Append{{Key: key("a"), Entries: entries("1")}}); err != nil {
				f.Fatal(err)
			}
			after = mustFollow(f, after)
			if head, err := headBy(f.b, key("a")); err != nil || head == 0 {
				f.Errorf("after it was noticed, the head is %d, %v", head, err)
			}
		}
	}},
	{"an append by another handle while waiting is noticed", func(f *fixture) {
		second := f.second()
		after := settle(f)
		defer later(func() {
			if _, err := second.Append(background, []store.Append{{Key: key("a"), Entries: entries("1")}}); err != nil {
				f.Errorf("Append: %v", err)
			}
		})()
		for deadline := time.Now().Add(patience); ; {
			after = mustFollow(f, after)
			if head, err := headBy(f.b, key("a")); err != nil || time.Now().After(deadline) {
				f.Fatalf("the append was not noticed: %v", err)
			} else if head > 0 {
				return
			}
		}
	}},
	{"what happened between two calls is noticed at once", func(f *fixture) {
		second := f.second()
		after := mustFollow(f, 0)
		if _, err := second.Append(background, []store.Append{{Key: key("a"), Entries: entries("1")}}); err != nil {
			f.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		mustFollow(f, after)
	}},
	{"closing ends the wait", func(f *fixture) {
		after := settle(f)
		f.closed = true
		defer later(func() {
			if err := f.b.Close(); err != nil {
				f.Errorf("Close: %v", err)
			}
		})()
		for {
			next, err := f.b.(store.Follower).Follow(background, after)
			if err != nil {
				mustBeClosed(f, err)
				return
			}
			after = next
		}
	}},
}

// later calls do while the caller waits for something else, and returns what
// waits until that is over.
func later(do func()) (wait func()) {
	var group sync.WaitGroup
	group.Go(func() {
		time.Sleep(50 * time.Millisecond)
		do()
	})
	return group.Wait
}

// mustFollow calls Follow, which must return soon.
func mustFollow(f *fixture, after uint64) uint64 {
	f.Helper()
	follower, ok := f.b.(store.Follower)
	if !ok {
		f.Skip("the backend is no Follower")
	}
	ctx, cancel := context.WithTimeout(background, soon)
	defer cancel()
	next, err := follower.Follow(ctx, after)
	if err != nil {
		f.Fatalf("Follow after %d: %v", after, err)
	}
	return next
}

// settle returns the number to wait with for what happens next.
func settle(f *fixture) uint64 {
	f.Helper()
	return mustFollow(f, 0)
}

func headBy(b store.Backend, k store.Key) (int64, error) {
	documents, err := b.Load(background, []store.Key{k}, store.WithoutViews)
	if err != nil {
		return 0, err
	}
	return documents[0].Head, nil
}
