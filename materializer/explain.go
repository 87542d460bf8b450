package materializer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// State says where a document is.
type State string

// The states of a document. Those from StateQueued to StateCooling, and
// StateIdle, are of this process's Run; the others are of the store.
const (
	// StateIdle means that nobody works on it, and that nobody needs to, unless it is
	// dirty and waits in the store for room in the queue.
	StateIdle State = "idle"
	// StateQueued means that it waits for a worker.
	StateQueued State = "queued"
	// StateRunning means that a worker has it; StateRequeue that it will go round
	// once more then.
	StateRunning State = "running"
	StateRequeue State = "requeue"
	// StateDelayed means that it waits: after a failure, or for its MinInterval.
	StateDelayed State = "delayed"
	// StateCooling means that it is clean, and ran less than its MinInterval ago.
	StateCooling State = "cooling"
	// StateSuspect means that it was dirty when the last process ended without a word,
	// and waits for its turn among the others of which that is so; or that a process
	// which shares the store has left it behind.
	StateSuspect State = "suspect"
	// StateLeased means that another process, which shares the store, works on it.
	StateLeased State = "leased"
	// StateParked means that its fold failed for good.
	StateParked State = "parked"
	// StatePaused means that its collection is paused, and that it is dirty.
	StatePaused State = "paused"
	// StateUnregistered means that the fold which makes what is served of its collection
	// is not registered here.
	StateUnregistered State = "unregistered"
	// StateDeleted means that its fold said so, and that nothing came after.
	StateDeleted State = "deleted"
	// StateForgotten means that it was erased.
	StateForgotten State = "forgotten"
	// StateNone means that there is no such document.
	StateNone State = "none"
)

// Explanation tells why a document is as it is.
type Explanation struct {
	Key   Key
	State State
	// Running tells whether this process's Run works; if not, State says what the
	// store says.
	Running bool
	// Version is that of the fold whose views are served.
	Version int
	// Head is the seq of the last operation, Applied the one that the view contains.
	Head, Applied int64
	// Since and Position are when and where the first operation was appended that
	// the view lacks; zero if it lacks none.
	Since    time.Time
	Position store.Position
	// FailedAt is the operation at which the last run failed, Attempts how many
	// runs failed there, First and Last when, Error the text of the error and Stack
	// that of a panic; zero if the last run went well.
	FailedAt    int64
	Attempts    int
	First, Last time.Time
	Error       string
	Stack       string
	// StoreError is the last error of the store about this document, in this process,
	// and StoreErrors how many runs ended so since one went well. They count as no
	// attempt.
	StoreError  string
	StoreErrors int
	// Holder is who has the document leased, if the store is shared, this process
	// included, and LeaseLeft is for how long; 0 if it was left behind.
	Holder    string
	LeaseLeft time.Duration
	// Next is when it may run next, if it has to wait.
	Next time.Time
	// LastRun is how the latest run in this process went; nil if there was none of
	// late. Some thousand runs are remembered.
	LastRun *LastRun
}

// String explains it in one line.
func (x Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s", x.Key, x.State)
	if x.Head > 0 {
		fmt.Fprintf(&b, ", its view has %d of %d operations", x.Applied, x.Head)
	}
	if !x.Since.IsZero() {
		fmt.Fprintf(&b, ", behind since %s", x.Since.Format(time.RFC3339))
	}
	if x.Attempts > 0 {
		fmt.Fprintf(&b, ", failed %d times at seq %d: %s", x.Attempts, x.FailedAt, x.Error)
	}
	if x.StoreErrors > 0 {
		fmt.Fprintf(&b, ", the store failed for it %d times: %s", x.StoreErrors, x.StoreError)
	}
	if x.Holder != "" {
		fmt.Fprintf(&b, ", leased by %s for another %v", x.Holder, x.LeaseLeft.Round(time.Millisecond))
	}
	if !x.Next.IsZero() {
		fmt.Fprintf(&b, ", next at %s", x.Next.Format(time.RFC3339))
	}
	if r := x.LastRun; r != nil {
		fmt.Fprintf(&b, ", its last run had %d operations and took %v", r.Operations, r.Duration)
	}
	if !x.Running {
		b.WriteString(", and this process makes no views")
	}
	return b.String()
}

// Explain tells why a document of the collection is as it is. Errors: those of
// the store; a document that does not exist is none.
func (c *Collection[S, O]) Explain(ctx context.Context, id string) (Explanation, error) {
	return c.m.Explain(ctx, c.key(id))
}

// Explain tells why a document, of any collection, is as it is.
func (m *Materializer) Explain(ctx context.Context, key Key) (Explanation, error) {
	if err := store.CheckKey(Key{Collection: store.BareName(key.Collection), ID: key.ID}); err != nil {
		return Explanation{}, err
	}
	own := key
	c := m.registry.Load().served(key.Collection)
	if c != nil {
		own.Collection = c.own
	}
	x := Explanation{Key: key, Running: m.running.Load(), LastRun: m.last.of(own)}
	// Where it is, first: a document that is given back in between is then shown
	// busy and up to date, and not idle and dirty.
	at, due := m.table.State(own), m.table.Due(own)
	if m.beside.Load().has(own) { // a run from before a switch goes on
		at = dispatcher.Running
	}
	docs, err := m.st.Load(ctx, []store.Key{key}, store.WithoutViews)
	if err != nil {
		return Explanation{}, err
	}
	doc := docs[0]
	sick := m.ill.of(own)
	x.Version = doc.Version
	x.StoreError, x.StoreErrors = sick.err, sick.times
	x.Head, x.Applied = doc.Head, doc.Applied
	x.Since, x.Position = doc.Since.Time, doc.Since.Position
	x.Holder, x.LeaseLeft = doc.Lease.Holder, doc.Lease.Left
	if f := doc.Failure; f != nil {
		x.FailedAt, x.Attempts, x.First, x.Last = f.Seq, f.Attempts, f.First, f.Last
		x.Error, x.Stack = f.Error, f.Stack
		if f.Delay > 0 {
			x.Next = time.Now().Add(f.Delay)
		}
	}
	if x.Next.Before(due) {
		x.Next = due
	}
	x.State, err = m.stateOf(ctx, &doc, c, at)
	return x, err
}

// stateOf returns the state of a document; c is the collection whose fold makes what is
// served, or nil.
func (m *Materializer) stateOf(ctx context.Context, doc *store.Document, c *collection, at dispatcher.State) (State, error) {
	busy := at == dispatcher.Running || at == dispatcher.Requeue
	switch {
	case doc.Head == 0:
		if forgotten, err := m.st.Forgotten(ctx, doc.Key); err != nil || forgotten {
			return StateForgotten, err
		}
		return StateNone, nil
	case c == nil:
		return StateUnregistered, nil
	case doc.Parked():
		return StateParked, nil
	case doc.Dirty() && c.paused.Load() && !busy:
		return StatePaused, nil
	case doc.Dirty() && m.suspect(m.ownKey(doc), doc.Since, doc.Lease):
		return StateSuspect, nil
	case doc.Lease.Left > 0 && doc.Lease.Holder != m.sharing.holder() && !busy && (m.cfg.Shared || !m.running.Load()):
		return StateLeased, nil
	case doc.Deleted && !doc.Dirty() && at == dispatcher.Idle:
		return StateDeleted, nil
	case doc.Failure != nil && doc.Failure.Delay > 0 && at == dispatcher.Idle:
		return StateDelayed, nil
	}
	return State(at.String()), nil
}
