package storetest

import (
	"errors"
	"slices"

	"github.com/refold-go/refold/store"
)

var sharerChecks = []check{
	{"sharing and having it for oneself exclude each other", func(f *fixture) {
		alone := mustClaim(f, f.b)
		if _, err := f.b.Share(background); !errors.Is(err, store.ErrClaimed) {
			f.Errorf("Share of a store that is claimed: %v", err)
		}
		mustRelease(f, alone)
		first, second := f.share(f.b), f.share(f.b)
		mustBeClaimed(f, f.b)
		mustRelease(f, first.Release)
		mustBeClaimed(f, f.b)
		mustRelease(f, first.Release) // again, and that of the second one is not given up
		mustBeClaimed(f, f.b)
		mustRelease(f, second.Release)
		mustRelease(f, mustClaim(f, f.b))
	}},
	{"every claim has a holder of its own", func(f *fixture) {
		var holders []string
		for range 3 {
			for _, c := range []store.Claim{f.share(f.b), f.share(f.b)} {
				holders = append(holders, c.Holder)
				defer func() { _ = c.Release() }()
			}
		}
		slices.Sort(holders)
		if holders[0] == "" || len(slices.Compact(slices.Clone(holders))) != 6 {
			f.Errorf("holders are %q", holders)
		}
	}},
	{"the last one that leaves takes the mark away", func(f *fixture) {
		first, second := f.share(f.b), f.share(f.b)
		if first.Unclean || second.Unclean {
			f.Errorf("unclean: %t, %t", first.Unclean, second.Unclean)
		}
		mustRelease(f, first.Release)
		mustRelease(f, second.Release)
		if c := claim(f, f.b); c.Unclean {
			f.Errorf("unclean, although all have left")
		} else {
			mustRelease(f, c.Release)
		}
		f.share(f.b)
		f.append(key("a"), "1")
		f.reopen()
		again := f.share(f.b)
		if !again.Unclean || again.End != 1 {
			f.Errorf("after one that did not leave: %+v", again)
		}
		if joined := f.share(f.b); joined.Unclean {
			f.Errorf("the second one is told too")
		}
	}},
	{"sharing is of what is stored, not of a handle", func(f *fixture) {
		second := f.second()
		one, two := f.share(f.b), f.share(second)
		mustBeClaimed(f, f.b)
		mustRelease(f, one.Release)
		mustBeClaimed(f, f.b)
		mustBeClaimed(f, second)
		f.append(key("a"), "1")
		epoch := f.mustLease(one.Holder, key("a"))
		got, err := second.Lease(background, two.Holder, longTerms, []store.Key{key("a")}, true)
		if err != nil || got[0].Why != store.Elsewhere {
			f.Errorf("the other handle got %+v, %v", got, err)
		}
		f.release(one.Holder, true, store.Held{Key: key("a"), Epoch: epoch})
		if got, err = second.Lease(background, two.Holder, longTerms, []store.Key{key("a")}, false); err != nil || got[0].Epoch <= epoch {
			f.Errorf("the other handle got %+v after epoch %d, %v", got, epoch, err)
		}
		mustRelease(f, two.Release)
	}},
}
