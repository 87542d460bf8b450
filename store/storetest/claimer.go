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
	release, err := b.Claim(background)
	if err != nil {
		f.Fatalf("Claim: %v", err)
	}
	return release
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
