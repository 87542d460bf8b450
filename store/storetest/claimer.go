package storetest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/refold-go/refold/store"
)

var claimerChecks = []check{
	{"one at a time has the store", func(f *fixture) {
		release := mustClaim(f, f.b)
		mustBeClaimed(f, f.b)
		mustRelease(f, release)
		release = mustClaim(f, f.b)
		mustBeClaimed(f, f.b)
		mustRelease(f, release)
	}},
	{"releasing again does nothing", func(f *fixture) {
		first := mustClaim(f, f.b)
		mustRelease(f, first)
		second := mustClaim(f, f.b)
		_ = first() // Whatever it returns, it does not take the store from its new owner.
		mustBeClaimed(f, f.b)
		mustRelease(f, second)
	}},
	{"abandoning gives the store back and leaves the mark", func(f *fixture) {
		first := claim(f, f.b)
		mustRelease(f, first.Abandon)
		mustRelease(f, first.Abandon)
		mustRelease(f, first.Release)
		second := claim(f, f.b)
		if f.Reopen != nil && !second.Unclean {
			f.Error("the claim after one that was abandoned is clean")
		}
		mustRelease(f, second.Release)
		third := claim(f, f.b)
		if third.Unclean {
			f.Error("the claim after one that was released is unclean")
		}
		mustRelease(f, third.Release)
	}},
	{"one of many has the store", func(f *fixture) {
		var claimed atomic.Int64
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				_, err := f.b.Claim(background)
				if err == nil {
					claimed.Add(1)
				} else if !errors.Is(err, store.ErrClaimed) {
					f.Errorf("Claim: %v", err)
				}
			})
		}
		group.Wait()
		if n := claimed.Load(); n != 1 {
			f.Errorf("%d of 16 have claimed the store", n)
		}
	}},
	{"others may append and read", func(f *fixture) {
		release := mustClaim(f, f.b)
		f.append(key("a"), "1")
		f.fold(key("a"), 1)
		if d := f.load(key("a")); d.Applied != 1 {
			f.Errorf("document is %+v", d)
		}
		mustRelease(f, release)
	}},
	{"a claim is on what is stored, not on a handle", func(f *fixture) {
		second := f.second()
		release := mustClaim(f, f.b)
		mustBeClaimed(f, second)
		mustRelease(f, release)
		release = mustClaim(f, second)
		mustBeClaimed(f, f.b)
		mustRelease(f, release)
	}},
	{"a claim ends when the store is closed", func(f *fixture) {
		release := mustClaim(f, f.b)
		f.reopen()
		mustRelease(f, mustClaim(f, f.b))
		_ = release
	}},
	{"it tells where the log ends", func(f *fixture) {
		for end := range store.Position(3) {
			c := claim(f, f.b)
			if c.End != end {
				f.Errorf("the end is %d, want %d", c.End, end)
			}
			mustRelease(f, c.Release)
			f.append(key("a"), "1")
		}
	}},
	{"after a release it is clean", func(f *fixture) {
		for range 3 {
			c := claim(f, f.b)
			if c.Unclean {
				f.Errorf("unclean, although everyone has released it")
			}
			mustRelease(f, c.Release)
		}
		f.reopen()
		if c := claim(f, f.b); c.Unclean {
			f.Errorf("unclean after reopening")
		}
	}},
	{"without a release the next one is unclean", func(f *fixture) {
		first := claim(f, f.b)
		f.append(key("a"), "1", "2")
		f.reopen()
		if err := first.Release(); !errors.Is(err, store.ErrClosed) {
			f.Errorf("releasing after Close: %v", err)
		}
		if err := first.Release(); err != nil {
			f.Errorf("releasing again: %v", err)
		}
		c := claim(f, f.b)
		if !c.Unclean || c.End != 2 {
			f.Errorf("claim is %+v, want an unclean one at 2", c)
		}
		f.reopen() // still nobody has released it
		if c = claim(f, f.b); !c.Unclean {
			f.Errorf("clean, although nobody has released it")
		}
		mustRelease(f, c.Release)
		if c = claim(f, f.b); c.Unclean {
			f.Errorf("unclean after a release")
		}
	}},
	{"a claim that was refused leaves no mark", func(f *fixture) {
		first := claim(f, f.b)
		mustBeClaimed(f, f.b)
		mustRelease(f, first.Release)
		if c := claim(f, f.b); c.Unclean {
			f.Errorf("unclean, although the one who had it has released it")
		}
	}},
}

// second opens another handle on what is stored; it skips what cannot be tried.
func (f *fixture) second() store.Backend {
	f.Helper()
	if f.Second == nil {
		f.Skip("the backend has one handle on what it stores")
	}
	b := f.Second(f.T, f.b)
	f.closeAtEnd(b)
	return b
}

func mustClaim(f *fixture, b store.Backend) (release func() error) {
	f.Helper()
	return claim(f, b).Release
}

func claim(f *fixture, b store.Backend) store.Claim {
	f.Helper()
	c, err := b.Claim(background)
	if err != nil {
		f.Fatalf("Claim: %v", err)
	}
	return c
}

func mustBeClaimed(f *fixture, b store.Backend) {
	f.Helper()
	if _, err := b.Claim(background); !errors.Is(err, store.ErrClaimed) {
		f.Fatalf("Claim of a store that is taken: %v", err)
	}
}

func mustRelease(f *fixture, release func() error) {
	f.Helper()
	if err := release(); err != nil {
		f.Fatalf("release: %v", err)
	}
}
