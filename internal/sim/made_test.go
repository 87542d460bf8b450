package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/refold-go/refold/store"
)

// either is that a document is done or still dirty.
const either = store.Outcome(0xff)

// refresh reads what others have told a row that is made from others since it was last seen, and
// checks that nothing else of it is another.
func (sh *shared) refresh(k store.Key) {
	d := sh.model.doc(k)
	if !d.made {
		return
	}
	doc := sh.load(d.key)
	if !d.exists {
		if doc.Head == 0 {
			return
		}
		d.exists, d.epoch, d.top = true, doc.Epoch, doc.Epoch
	}
	if d.parked && doc.Parked() && doc.Epoch > d.top { // it was told something that it had been told before
		d.epoch, d.top = doc.Epoch, doc.Epoch
	}
	switch {
	case doc.Head < d.told:
		sh.w.fail("head of %s is %d, and was %d", d.key, doc.Head, d.told)
	case doc.Applied != d.applied || doc.Parked() != d.parked || doc.Round != d.round:
		sh.w.fail("%s is applied up to %d, parked %t, in round %+v, want %d, %t, %+v", d.key, doc.Applied, doc.Parked(), doc.Round, d.applied, d.parked, d.round)
	}
	d.told = doc.Head
}

// committed is the effect of a commit, which was not stale, of a row that is made from others. Others
// tells that the commits of other rows came with it.
func (sh *shared) committed(d *modelDoc, c *store.Commit, others bool) store.Outcome {
	doc := sh.load(d.key)
	w, e := sh.w, c.Effects
	over := doc.Applied == c.Applied && doc.Round == store.Round{}
	switch {
	case e == nil && doc.Applied != c.Applied, e != nil && !over && doc.Applied != c.Loaded:
		w.fail("%s is applied up to %d after a commit from %d to %d", d.key, doc.Applied, c.Loaded, c.Applied)
	case e != nil && !over && !further(e.From, doc.Round):
		w.fail("%s is in round %+v after a commit from %+v", d.key, doc.Round, e.From)
	}
	if e != nil && !over {
		w.rare.MappingSlices++
	}
	if e == nil && doc.Head > d.told && doc.Applied == d.told && len(c.Reads) > 0 {
		w.rare.ReadsMoved++
	}
	d.told, d.applied, d.round = doc.Head, doc.Applied, doc.Round
	d.settleLease(c)
	sh.touch(d.key)
	switch {
	case !d.dirty():
		return store.Done
	case others && over:
		return either // of which one may have told it something
	}
	return store.StillDirty
}

// further reports whether a round has gone on.
func further(from, to store.Round) bool {
	return to.To == from.To && (to.Readers && !from.Readers || to.Readers == from.Readers && to.After > from.After)
}

// Contributions implements [store.Deriver].
func (h *handle) Contributions(ctx context.Context, k store.Key, after store.Contributor, budget store.Budget) (all []store.Contribution, err error) {
	err = h.read(ctx, "contributions to "+row(k), func() (err error) {
		all, err = h.sh.inner.Contributions(context.Background(), k, after, budget)
		return err
	})
	return all, err
}

// Reads implements [store.Deriver].
func (h *handle) Reads(ctx context.Context, k store.Key) (all []store.Read, err error) {
	err = h.read(ctx, "reads of "+row(k), func() (err error) {
		all, err = h.sh.inner.Reads(context.Background(), k)
		return err
	})
	return all, err
}

// otherRound reports whether effects are those of another round than that which the row is in.
func (d *modelDoc) otherRound(c *store.Commit) bool {
	e := c.Effects
	return e != nil && d.round != e.From && !(d.round == store.Round{} && e.From == store.Round{To: e.From.To})
}

// released is which versions of what collections programs are made of; 0 is none.
type released map[string]int

// names of the derived collections.
const (
	sums  = "sums"  // by contributions of documents
	cards = "cards" // by reading documents
	tops  = "tops"  // by contributions of the other two, as far as there are such
)

var errBad = errors.New("it cannot be made of this")

// part is what a derived document has of another one.
type part struct {
	From string `json:"from"`
	S    *state `json:"s"` // nil if it is not there
}

// whole is a derived document, made by a version.
type whole struct {
	V     int    `json:"v"`
	Parts []part `json:"parts"`
}

// digest is what is made of a derived document.
func (d whole) digest() state {
	var sum state
	for i, p := range d.Parts {
		s := state{}
		if p.S != nil {
			s = *p.S
		}
		sum = sum.next(1, int64(i), p.From, fmt.Append(nil, d.V, s))
	}
	sum.N = int64(len(d.Parts))
	return sum
}

// keys are to which documents of a version of sums and tops something contributes.
func keys(version int, s state) []string {
	return []string{"all", fmt.Sprint("k", s.Sum>>(8*version)%3)}
}

// link is which document the card of another reads besides.
func link(version int, s state, docs int) string {
	return fmt.Sprint("d", s.Sum>>(8*version)%uint64(docs)) // #nosec G115 -- a few
}
