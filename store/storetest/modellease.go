package storetest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// leasedTo is who has a document in the model.
type leasedTo struct {
	holder string
	epoch  int64
	short  bool // it may have run out
}

var someHolder = rapid.SampledFrom([]string{"h", "h", "i", "j"})

func (m *modelRun) lease(r *rapid.T) {
	keys := m.called(r, someKeys.Draw(r, "keys"))
	holder, over, short := someHolder.Draw(r, "holder"), rapid.Bool().Draw(r, "over"), rapid.Bool().Draw(r, "short")
	terms := longTerms
	if short {
		terms = shortTerms
	}
	m.learnEpochs(r, keys)
	got, err := m.b.Lease(background, holder, terms, keys, over)
	if err != nil || len(got) != len(keys) {
		r.Fatalf("Lease of %v returned %+v, %v", keys, got, err)
	}
	for i, k := range keys {
		c := m.row(k)
		var want []store.NotLeased
		switch l := c.lease; {
		case !c.there || m.head(k) == c.applied || c.failure.Park || m.collections[bare(k).Collection].paused:
			want = []store.NotLeased{store.NotRunnable}
		case l.holder == "" || l.holder == holder:
			want = []store.NotLeased{store.Taken}
		case !l.short:
			want = []store.NotLeased{store.Elsewhere}
		case over:
			want = []store.NotLeased{store.Taken, store.Elsewhere}
		default:
			want = []store.NotLeased{store.LeftBehind, store.Elsewhere}
		}
		if !slices.Contains(want, got[i].Why) || (got[i].Epoch > 0) != (got[i].Why == store.Taken) {
			r.Fatalf("%s was leased as %+v, want %v", k, got[i], want)
		}
		if got[i].Epoch == 0 {
			continue
		}
		if len(c.epochs) > 0 && got[i].Epoch <= slices.Max(c.epochs) {
			r.Fatalf("%s was leased with epoch %d after %v", k, got[i].Epoch, c.epochs)
		}
		c.lease = leasedTo{holder: holder, epoch: got[i].Epoch, short: short}
		c.epochs = append(c.epochs, got[i].Epoch)
		m.committed[m.in(k)] = c
	}
}

// giveBack lengthens leases or releases them, under epochs that may be old.
func (m *modelRun) giveBack(r *rapid.T) {
	holder, lengthens := someHolder.Draw(r, "holder"), rapid.Bool().Draw(r, "lengthens")
	var held []store.Held
	var want []bool
	for _, k := range m.called(r, someKeys.Draw(r, "keys")) {
		c := m.row(k)
		h := store.Held{Key: k, Epoch: c.lease.epoch}
		if len(c.epochs) > 0 && rapid.IntRange(0, 2).Draw(r, "old") == 0 {
			h.Epoch = rapid.SampledFrom(c.epochs).Draw(r, "epoch")
		}
		has := c.lease.holder == holder && c.lease.epoch == h.Epoch
		held, want = append(held, h), append(want, has)
		if has && lengthens {
			c.lease.short = false
		} else if has {
			c.lease = leasedTo{}
		}
		m.committed[m.in(k)] = c
	}
	var had []bool
	var err error
	if lengthens {
		had, err = m.b.Lengthen(background, holder, longTerms, held)
	} else {
		had, err = m.b.Release(background, holder, held)
	}
	if err != nil || !slices.Equal(had, want) {
		r.Fatalf("%+v of %s: %v, %v, want %v", held, holder, had, err, want)
	}
}

// settled is the lease after a commit.
func (l leasedTo) settled(c *store.Commit, runnable bool) leasedTo {
	if c.Keep == nil || !runnable || l.holder == "" {
		return leasedTo{}
	}
	l.short = false
	return l
}
