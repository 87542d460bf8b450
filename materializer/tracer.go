package materializer

import (
	"context"
	"time"

	"github.com/refold-go/refold/store"
)

// Tracer is told of each run of each document, also of those that are loaded and
// stored together. Its methods are called by all workers at once, between the
// folds of a batch, so they must be quick, and they must not panic.
type Tracer interface {
	// RunStart is called before the fold. The context that it returns is given to
	// RunEnd and to nobody else: a fold has none.
	RunStart(ctx context.Context, run RunStart) context.Context
	// RunEnd is called when the run is stored, or is known not to be.
	RunEnd(ctx context.Context, run RunEnd)
}

// RunStart is what is known before a run.
type RunStart struct {
	Collection, Document string
	// Version is that of the fold.
	Version int
	// Applied is the seq that the stored view contains, Head that of the last
	// operation. The run folds those from From to To: a large document is folded in
	// slices.
	Applied, Head int64
	From, To      int64
	// Epoch is that under which the view is stored: if the store is shared, that of the
	// lease, which no run of another process has.
	Epoch int64
}

// RunEnd is what is known after a run.
type RunEnd struct {
	Collection, Document string
	// Version is that of [RunStart].
	Version int
	// Applied is the seq that the new view contains.
	Applied int64
	// Operations is how many operations were folded.
	Operations int
	// Epoch is that of [RunStart].
	Epoch int64
	// Err is why the fold ended before the last one, or nil; [ErrLeaseLost] if the
	// run is stale and the store is shared.
	Err     error
	Outcome RunOutcome
	// Fold is how long the fold took, Duration how long it took until the view was
	// stored, together with those of the same batch.
	Fold, Duration time.Duration
}

// RunOutcome says what became of a run.
type RunOutcome uint8

const (
	// OutcomeDone means that the view was stored and has all operations.
	OutcomeDone RunOutcome = iota
	// OutcomeDirty means that it was stored and that there is more to do.
	OutcomeDirty
	// OutcomeDeleted means that it was stored that the document is deleted.
	OutcomeDeleted
	// OutcomeFailed means that the fold failed, and that the document is tried again
	// later. What was folded before is stored.
	OutcomeFailed
	// OutcomeParked means that the fold failed for good.
	OutcomeParked
	// OutcomeStale means that nothing was stored, because the document had moved on.
	OutcomeStale
	// OutcomeStopped means that nothing was stored, because Run was told to stop or
	// because the store failed.
	OutcomeStopped
)

// String returns the outcome in lower case.
func (o RunOutcome) String() string {
	names := [...]string{"done", "still dirty", "deleted", "failed", "parked", "stale", "stopped"}
	if int(o) < len(names) {
		return names[o]
	}
	return "unknown outcome"
}

func outcomeOf(it *item, o store.Outcome) RunOutcome {
	switch f := it.commit.Failure; {
	case o == store.Stale:
		return OutcomeStale
	case f != nil && f.Park:
		return OutcomeParked
	case f != nil:
		return OutcomeFailed
	case o == store.StillDirty:
		return OutcomeDirty
	case it.commit.Deleted:
		return OutcomeDeleted
	}
	return OutcomeDone
}

func (e *engine) traceStart(ctx context.Context, it *item) {
	if e.cfg.Tracer == nil {
		return
	}
	key, c := it.doc.Key, e.collection(it.doc.Key.Collection)
	it.traced = e.cfg.Tracer.RunStart(ctx, RunStart{
		Collection: c.name,
		Document:   key.ID,
		Version:    c.version,
		Applied:    it.doc.Applied,
		Head:       it.doc.Head,
		From:       it.doc.Applied + 1,
		To:         it.doc.Applied + int64(len(it.run.ops)),
		Epoch:      it.doc.Epoch,
	})
}

func (e *engine) traceEnd(it *item, outcome RunOutcome, err error) {
	if it.traced == nil {
		return
	}
	key, c := it.doc.Key, e.collection(it.doc.Key.Collection)
	e.cfg.Tracer.RunEnd(it.traced, RunEnd{
		Collection: c.name,
		Document:   key.ID,
		Version:    c.version,
		Applied:    it.doc.Applied + int64(it.result.n),
		Operations: it.result.n,
		Epoch:      it.doc.Epoch,
		Err:        err,
		Outcome:    outcome,
		Fold:       it.took,
		Duration:   time.Since(it.began),
	})
}
