package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// otherCommit changes commits before they are stored.
type otherCommit struct {
	*memory.Store
	change func(s *memory.Store, c *store.Commit)
}

func (s otherCommit) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	commits = slices.Clone(commits)
	for i := range commits {
		if e := commits[i].Effects; e != nil {
			commits[i].Effects = new(*e)
		}
		s.change(s.Store, &commits[i])
	}
	return s.Store.Commit(ctx, commits)
}

// noReads records nothing that was read.
func noReads(_ *memory.Store, c *store.Commit) { c.Reads = nil }

// lateReads takes what was read for what is there now.
func lateReads(s *memory.Store, c *store.Commit) {
	c.Reads = slices.Clone(c.Reads)
	for i, r := range c.Reads {
		if documents, err := s.Load(context.Background(), []store.Key{r.Key}, store.WithoutViews); err == nil {
			c.Reads[i].Version = documents[0].Changed
		}
	}
}

// anyRound lets every slice go on where the last one ended.
func anyRound(s *memory.Store, c *store.Commit) {
	if c.Effects == nil {
		return
	}
	documents, err := s.Load(context.Background(), []store.Key{c.Key}, store.WithoutViews)
	if err == nil && documents[0].Round.To == c.Effects.From.To {
		c.Effects.From = documents[0].Round
	}
}

// wholeRound takes a slice for all of a round.
func wholeRound(_ *memory.Store, c *store.Commit) {
	if c.Effects != nil {
		c.Effects.Upto = ""
	}
}

// lateRound takes what came in during a round for a part of it.
func lateRound(s *memory.Store, c *store.Commit) {
	if c.Effects == nil || c.Effects.From != (store.Round{To: c.Effects.From.To}) {
		return
	}
	documents, err := s.Load(context.Background(), []store.Key{c.Key}, store.WithoutViews)
	if err == nil && documents[0].Head > c.Applied {
		c.Applied, c.Effects.From.To = documents[0].Head, documents[0].Head
	}
}

// keepsPairs stores contributions where documents were only to be touched.
func keepsPairs(_ *memory.Store, c *store.Commit) {
	if c.Effects != nil {
		c.Effects.Touch = false
	}
}

// firstSince takes the first delta for the lowest one.
type firstSince struct{ *memory.Store }

func (s firstSince) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	documents, err := s.Store.Load(ctx, keys, parts)
	for i := range documents {
		if d := &documents[i]; d.Dirty() {
			pages, perr := s.Operations(ctx, []store.Range{{Key: d.Key, From: d.Applied + 1}}, store.Budget{Operations: 1})
			if perr != nil {
				return nil, perr
			}
			d.Since.Position = pages[0][0].Position
		}
	}
	return documents, err
}

// noCycles sees none.
type noCycles struct{ *memory.Store }

func (s noCycles) Derive(ctx context.Context, d store.Derivation) error {
	err := s.Store.Derive(ctx, d)
	if _, cycle := errors.AsType[*store.CycleError](err); cycle {
		return nil
	}
	return err
}

// bareDeltas does not put contributions into deltas.
type bareDeltas struct{ *memory.Store }

func (s bareDeltas) Derive(ctx context.Context, d store.Derivation) error {
	d.Deltas = false
	return s.Store.Derive(ctx, d)
}

// silentMappings announces nothing of mappings.
type silentMappings struct{ *memory.Store }

func (s silentMappings) Listen(l store.Listener) func() {
	if dirty := l.Dirty; dirty != nil {
		l.Dirty = func(keys []store.Key) {
			dirty(slices.DeleteFunc(slices.Clone(keys), func(k store.Key) bool { return strings.Contains(k.Collection, "<") }))
		}
	}
	return s.Store.Listen(l)
}

// alwaysFilled takes every generation for filled.
type alwaysFilled struct{ *memory.Store }

func (s alwaysFilled) Generations(ctx context.Context, collection string) ([]store.Generation, error) {
	all, err := s.Store.Generations(ctx, collection)
	for i := range all {
		all[i].Filled = true
	}
	return all, err
}

// sortedSources names the sources of a derived collection in another order.
type sortedSources struct{ *memory.Store }

func (s sortedSources) Collections(ctx context.Context) ([]store.Collection, error) {
	all, err := s.Store.Collections(ctx)
	for _, c := range all {
		slices.Sort(c.Sources)
	}
	return all, err
}

// dropsAll drops what is made of a collection with it.
type dropsAll struct{ *memory.Store }

func (s dropsAll) Drop(ctx context.Context, collection string) error {
	err := s.Store.Drop(ctx, collection)
	if err == nil || store.CheckBare(collection) != nil {
		return err
	}
	all, lerr := s.Collections(ctx)
	for _, c := range all {
		if c.Derived && c.Name != collection && lerr == nil {
			_ = s.Store.Drop(ctx, c.Name)
		}
	}
	return s.Store.Drop(ctx, collection)
}

// lastContributor reads contributions from the one on that was read last.
type lastContributor struct{ *memory.Store }

func (s lastContributor) Contributions(ctx context.Context, key store.Key, after store.Contributor, budget store.Budget) ([]store.Contribution, error) {
	if after.Source != "" {
		after.Source = after.Source[:len(after.Source)-1]
	}
	return s.Store.Contributions(ctx, key, after, budget)
}

// movingChanges counts a run that made the same view for a change.
type movingChanges struct{ *memory.Store }

func (s movingChanges) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	documents, err := s.Store.Load(ctx, keys, parts)
	for i := range documents {
		if documents[i].Changed > 0 {
			documents[i].Changed += documents[i].Applied
		}
	}
	return documents, err
}

// withCommit returns a store that changes commits.
func withCommit(change func(*memory.Store, *store.Commit)) func() store.Backend {
	return func() store.Backend { return otherCommit{memory.New(nil), change} }
}

// anyEpoch takes a result of whatever epoch.
func anyEpoch(s *memory.Store, c *store.Commit) {
	if documents, err := s.Load(context.Background(), []store.Key{c.Key}, store.WithoutViews); err == nil {
		c.Epoch = documents[0].Epoch
	}
}

// tellsAgain tells who has read a source again of what it has read already: it goes by what
// was recorded first. What it says of reads is right.
type tellsAgain struct {
	otherCommit
	reads map[store.Key][]store.Read
}

func newTellsAgain() store.Backend {
	reads := make(map[store.Key][]store.Read)
	return tellsAgain{otherCommit{memory.New(nil), func(s *memory.Store, c *store.Commit) {
		documents, err := s.Load(context.Background(), []store.Key{c.Key}, store.WithoutViews)
		stale := err != nil || c.Loaded != documents[0].Applied || c.Epoch != documents[0].Epoch
		if stale || len(c.Reads) == 0 || c.Applied == c.Loaded {
			return
		}
		before, _ := s.Reads(context.Background(), c.Key)
		reads[c.Key] = c.Reads
		c.Reads = slices.Clone(c.Reads)
		for i, r := range c.Reads {
			if at := slices.IndexFunc(before, func(b store.Read) bool { return b.Key == r.Key }); at >= 0 {
				c.Reads[i] = before[at]
			}
		}
	}}, reads}
}

func (s tellsAgain) Reads(ctx context.Context, key store.Key) ([]store.Read, error) {
	all, err := s.Store.Reads(ctx, key)
	for i := range all {
		for _, r := range s.reads[key] {
			if r.Key == all[i].Key {
				all[i] = r
			}
		}
	}
	return all, err
}

// pilesUp has a delta for each change.
type pilesUp struct{ *memory.Store }

func (s pilesUp) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	pages, err := s.Store.Operations(ctx, ranges, budget)
	for i, page := range pages {
		if len(page) != 2 || len(page[1].Body) > 0 {
			continue
		}
		all := page[:1:1]
		for seq := page[0].Seq + 1; seq <= page[1].Seq; seq++ {
			op := page[1]
			op.Seq = seq
			all = append(all, op)
		}
		pages[i] = all
	}
	return pages, err
}
