package store

import (
	"context"
	"fmt"
	"time"
)

// Leaser lets several materializers share the work on a store. A lease keeps others
// from working on a document in vain. What is stored is decided by the guard of the
// commit alone, so that clocks which differ or jump, and holders that stall, cost time
// and nothing else.
//
// The lease of a document goes with it: [Store.Load] and [Store.Runnable] tell it, and
// [Store.Commit] gives it up or keeps it. A document that is clean or parked has none.
// [Parking.Resume] leaves leases alone, and [Parking.Discard] takes them away. A lease is
// of a document in one generation, and stays with that over [Generator.Switch].
type Leaser interface {
	// Share is [Claimer.Claim] for a materializer that shares the store with others
	// that do. While it is shared, Claim is [ErrClaimed]; while one has it for itself,
	// Share is, after a second at the most. Only the first of those that share the store
	// at a time is told that the last claim was unclean, and the last one takes the mark
	// away: what a process leaves behind that dies beside others is told by its leases.
	Share(ctx context.Context) (Claim, error)
	// Lease takes documents for a holder, each if it is runnable now and nobody has
	// it, or the holder itself has, whose earlier lease is void then. With over it also
	// takes what was left behind: whose lease has run out. All that is taken gets one
	// epoch, greater than all that these documents had, which no other call gives, also
	// after a power cut. That they are leased may be lost by one. A holder is a name
	// that a claim has, or one that begins with it. Errors: [InvalidError] if
	// [CheckLease] says so.
	Lease(ctx context.Context, holder string, terms LeaseTerms, keys []Key, over bool) ([]Leased, error)
	// Lengthen lets leases last for terms.For from now, but for no longer than
	// terms.Most since they were taken, and reports of each whether the holder has it,
	// under this epoch. A lease that has run out, and that nobody has taken over, its
	// holder still has. Nothing happens to the others. Errors: [InvalidError] if
	// [CheckHeld] says so.
	Lengthen(ctx context.Context, holder string, terms LeaseTerms, held []Held) ([]bool, error)
	// Release gives leases back, and reports of each whether the holder had it, under
	// this epoch. Nothing happens to the others. It announces nothing: who has passed
	// over a document because it was leased looks at it again. Errors: as for Lengthen.
	Release(ctx context.Context, holder string, held []Held) ([]bool, error)
}

// MaxLease is the longest that a lease lasts. One that seems to last for longer is
// left over from before the clock was set back, and has run out.
const MaxLease = 10 * time.Minute

// MaxHolder is the most bytes of the name of a holder.
const MaxHolder = 255

// Lease tells who works on a document. The zero value means that nobody does.
type Lease struct {
	// Holder is the name under which it was taken.
	Holder string
	// Age is for how long it has been taken, Left is until it runs out, both by the
	// store's clock. If Left is 0 the document was left behind: its holder has died, or
	// has not got on with it for too long.
	Age, Left time.Duration
}

// LeftBehind reports whether somebody has the document whose lease has run out.
func (l Lease) LeftBehind() bool { return l.Holder != "" && l.Left <= 0 }

// LeaseTerms say how long leases last: For from now, and Most since they were
// taken. Each is 1 ms to [MaxLease], and For is not above Most.
type LeaseTerms struct{ For, Most time.Duration }

// Held names a lease by its document and epoch.
type Held struct {
	Key   Key
	Epoch int64
}

// Leased says what became of the wish for a lease.
type Leased struct {
	// Epoch is that of the lease, and goes into the guard of commits; 0 if the
	// document was not taken.
	Epoch int64
	// Why is why it was not.
	Why NotLeased
	// Wait is how long a document must not run that is [Waiting].
	Wait time.Duration
	// Lease is that which somebody had when the call came; that of the holder
	// itself is void if the document was taken.
	Lease Lease
}

// NotLeased is why a document was not leased.
type NotLeased uint8

const (
	// Taken means that it was.
	Taken NotLeased = iota
	// NotRunnable means that the document is clean, parked, of a collection that is paused
	// or held, or gone.
	NotRunnable
	// Waiting means that it must not run yet, because its last run failed.
	Waiting
	// Elsewhere means that somebody else has it.
	Elsewhere
	// LeftBehind means that somebody else had it, whose lease has run out. It is taken
	// by who asks for what was left behind too.
	LeftBehind
)

// String returns the reason in lower case.
func (n NotLeased) String() string {
	names := [...]string{"taken", "not runnable", "waiting", "elsewhere", "left behind"}
	if int(n) < len(names) {
		return names[n]
	}
	return "unknown reason"
}

// LeaseOf is for backends: the lease that is stored with a document, at a moment of
// the store's clock. The zero value is that of an empty holder.
func LeaseOf(holder string, taken, until, now time.Time) Lease {
	if holder == "" {
		return Lease{}
	}
	l := Lease{Holder: holder, Age: max(now.Sub(taken), 0), Left: max(until.Sub(now), 0)}
	if l.Left > MaxLease {
		l.Left = 0
	}
	return l
}

// Leasable is for backends: whether a runnable document may be leased, which has
// this lease and has to wait for so long.
func Leasable(l Lease, wait time.Duration, holder string, over bool) Leased {
	answer := Leased{Lease: l}
	switch {
	case wait > 0:
		answer.Why, answer.Wait = Waiting, wait
	case l.Holder == "" || l.Holder == holder:
	case l.Left > 0:
		answer.Why = Elsewhere
	case !over:
		answer.Why = LeftBehind
	}
	return answer
}

// CheckLease returns an [InvalidError] for a call of [Leaser.Lease] with a holder or
// terms that are none, or a key that is none or is given twice.
func CheckLease(holder string, terms LeaseTerms, keys []Key) error {
	if err := terms.check(); err != nil {
		return err
	}
	return checkLeases(holder, len(keys), func(i int) Key { return keys[i] })
}

// CheckHeld is [CheckLease] for [Leaser.Lengthen], and for [Leaser.Release], which
// has no terms: nil.
func CheckHeld(holder string, terms *LeaseTerms, held []Held) error {
	if terms != nil {
		if err := terms.check(); err != nil {
			return err
		}
	}
	return checkLeases(holder, len(held), func(i int) Key { return held[i].Key })
}

func checkLeases(holder string, n int, key func(int) Key) error {
	if err := checkText("holder", holder, 1, MaxHolder); err != nil {
		return err
	}
	for i := range n {
		k := key(i)
		if _, err := ParseCollection(k.Collection); err != nil {
			return err
		}
		if err := checkText("document id", k.ID, 1, MaxDocumentID); err != nil {
			return err
		}
	}
	return checkDistinct(n, "leases", key)
}

func (t LeaseTerms) check() error {
	if t.For < time.Millisecond || t.Most < t.For || t.Most > MaxLease {
		return &InvalidError{
			Field: "terms of a lease",
			Got:   fmt.Sprintf("%v, %v at the most", t.For, t.Most),
			Want:  fmt.Sprintf("%v to %v, and at the most as much or more", time.Millisecond, MaxLease),
		}
	}
	return nil
}
