package materializer

import (
	"context"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// Generation is how a generation of a collection stands.
type Generation struct {
	// Generation is what the store knows of it: version, state, and how many of the rows
	// are made of the documents that were there when it was started.
	store.Generation
	// Registered tells whether its fold is registered here.
	Registered bool
	// Dirty are its dirty documents that are not parked, Waiting those of them that wait
	// after a failure, Parked the parked ones. Of one that is being built, documents of
	// which the rows are not made yet are not among them. What sources have still to tell a
	// derived one counts among its documents, if it is registered here.
	Dirty, Waiting, Parked int64
	// Rate is how many documents fewer are to be folded a second, in the last half minute or so
	// and as seen by this process; 0 if that is not known, or if they are not getting fewer. Left is how long it will take at this rate until
	// it has caught up; 0 if that is not known.
	Rate float64
	Left time.Duration
	// Share is which part of [Config.Workers], in number, makes it in this process, together with
	// others that are not served: [Config.BuildShare], and more when a build does not keep up.
	// It is 0 if it is not being built, or not here. Urgent tells that it does not rest for what
	// is served any more, or that this makes room for it.
	Share  float64
	Urgent bool
}

// GenerationState is what a generation is there for.
type GenerationState = store.GenerationState

// The states of a generation.
const (
	Building = store.Building // not served yet
	Serving  = store.Serving  // what is read
	Kept     = store.Kept     // served before
	SetAside = store.SetAside // served until a rollback
	Dropping = store.Dropping // being removed
)

// Generations returns the generations of a collection, by version, in time in proportion
// to their dirty documents. An unknown collection has none. Errors: those of the store.
func (m *Materializer) Generations(ctx context.Context, name string) ([]Generation, error) {
	stored, err := m.st.Generations(ctx, name)
	if err != nil {
		return nil, err
	}
	all := make([]Generation, len(stored))
	for i := range stored {
		g := &all[i]
		g.Generation = stored[i]
		if g.State == Dropping || g.Version == 0 {
			continue
		}
		own := store.CollectionName{Name: name, Version: g.Version}.String()
		c := m.collection(own)
		g.Registered = c != nil
		n, err := m.countOwn(ctx, own, c)
		if err != nil {
			return nil, err
		}
		g.Dirty, g.Waiting, g.Parked = n.Dirty, n.Waiting, n.Parked
		if g.State == Building && g.Registered && m.running.Load() {
			f := m.effort()
			g.Share, g.Urgent = float64(f.workers)/float64(m.cfg.Workers), f.unrested
		}
		if g.State != Building || !g.Filled && g.Scanned == 0 {
			continue
		}
		if g.Rate = m.progress.observe(own, g.left(), time.Now()); g.Rate > 0 {
			g.Left = time.Duration(float64(g.left()) / g.Rate * float64(time.Second))
		}
	}
	return all, nil
}

// countOwn counts the documents of a generation, and those of the mappings that feed it if it is
// registered here as c.
func (m *Materializer) countOwn(ctx context.Context, own string, c *collection) (store.Counts, error) {
	var sources []string
	if c != nil {
		sources = c.sources()
	}
	return m.count(ctx, own, sources)
}

// left is about how many documents are to be folded yet.
func (g *Generation) left() int64 {
	if g.Filled || g.Scanned == 0 {
		return g.Dirty
	}
	return g.Dirty + int64(float64(g.ToScan-g.Scanned)*float64(g.Made)/float64(g.Scanned))
}

// HinderedError says what is in the way of a switch. It is an [ErrHindered].
type HinderedError struct {
	Collection string
	Version    int
	// Why is what it is; Document is one that is behind, if that is it.
	Why      store.Hindrance
	Document string
}

func (e *HinderedError) Error() string {
	s := fmt.Sprintf("%v %d of %s: %v", ErrHindered, e.Version, e.Collection, e.Why)
	if e.Document != "" {
		s += ": " + e.Document
	}
	return s
}

// Is reports whether target is [ErrHindered].
func (e *HinderedError) Is(target error) bool { return target == ErrHindered }

// Switch serves the generation of this collection's version, if it has caught up: its
// rows are all made, and no document has less in its view than in the one that is served.
// Run does so by itself with one that is being built; Switch is for what it does not do:
// with force, documents that are parked in the new generation may be behind; and one
// that was set aside by a rollback is served again. The one that was served is kept,
// see [Spec]. Derived collections are made again from the new views after it, and until that is
// done may show views that are made of both, see [Contributions]. Errors: a [*HinderedError], after which nothing is changed; [ErrNotFound]
// if there is no such generation; those of the store.
func (c *Collection[S, O]) Switch(ctx context.Context, force bool) error {
	o, err := c.m.serve(ctx, c.m.collection(c.ownKey("").Collection), store.SwitchTerms{Force: force})
	if err != nil || o.Why == store.Unhindered {
		return err
	}
	return &HinderedError{Collection: c.spec.Name, Version: c.spec.Version, Why: o.Why, Document: o.Document.ID}
}

// Rollback serves the generation again that was served before, whichever version this
// collection is of: its views as they are, and what they lack is folded by a process that
// has its fold. The one that was served is set aside, and not switched to by itself again.
// Documents may go back by that to what a reader has seen before. Errors: [ErrNotFound] if
// none is kept, and those of the store.
func (c *Collection[S, O]) Rollback(ctx context.Context) error {
	if err := c.m.st.Rollback(ctx, c.spec.Name); err != nil {
		return err
	}
	c.m.lookAfter()
	return c.m.refresh(context.WithoutCancel(ctx))
}

// Cancel drops the generation of this collection's version, which must not be served: it
// ends a build, or the time that one is kept. Its rows go in the background. The next
// registration of a version that is higher than what is served starts anew. Errors:
// [ErrInvalid] if it is served, [ErrNotFound] if there is none, and those of the store.
func (c *Collection[S, O]) Cancel(ctx context.Context) error {
	if err := c.m.st.Retire(ctx, c.ownKey("").Collection); err != nil {
		return err
	}
	c.m.progress.forget(c.ownKey("").Collection)
	c.m.lookAfter()
	return nil
}
