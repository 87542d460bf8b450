package store

import (
	"fmt"
	"strconv"
	"time"
)

// Key names a document. Both parts have limits, see [CheckKey].
type Key struct {
	Collection string
	ID         string
}

// String returns the key as collection/id. An id with spaces, quotes or what
// does not print is quoted.
func (k Key) String() string {
	for _, r := range k.ID {
		if r == ' ' || r == '"' || !strconv.IsPrint(r) {
			return fmt.Sprintf("%s/%q", k.Collection, k.ID)
		}
	}
	return k.Collection + "/" + k.ID
}

// Since tells from when on a view lacks something: it is the place of the first
// operation that is not in the view, or the lowest of the deltas that are not; see
// [Deriver]. The zero value means that nothing is lacking.
type Since struct {
	Position Position
	// Time is when that operation was appended, by the store's clock, whatever
	// time the application gave to it.
	Time time.Time
}

// Document is what a store knows of one document. Its operations are read
// apart, with [Store.Operations].
type Document struct {
	Key Key
	// Head is the seq of the document's last operation; 0 if it has none, and
	// then every other field is zero too.
	Head int64
	// Last is the position of that operation.
	Last Position
	// Applied is the highest seq that the view contains; 0 if there is no view.
	Applied int64
	// View is the stored view, as the application encoded it. It is nil if
	// Applied is 0, if the document is deleted, or if views were not asked for.
	View []byte
	// Deleted tells that the fold said so of the operations up to Applied. The next
	// one starts again from nothing.
	Deleted bool
	// Epoch goes with Applied into the guard of a commit. It is a greater one after
	// [Leaser.Lease] and [Parking.Discard], and if the document's collection was dropped and the document
	// made again, so that the runs in hand are stale. Another generation has others.
	Epoch int64
	// Version is that of the fold of the generation that was loaded: the collection's,
	// which is 0 as long as nobody has registered it, or the one in the key.
	Version int
	// Changed is the number of the last change of the view, or by parking; 0 if there
	// was none. It grows with each, and is comparable only within the document.
	Changed int64
	// Contributions is how many a derived document has.
	Contributions int64
	// Round is how far the effects of a document of a mapping have come; see [Effects].
	Round Round
	// Since is zero unless the document is dirty.
	Since Since
	// Failure is what went wrong last; nil after a run that went well.
	Failure *Failure
	// Lease tells who works on it; zero if nobody does, or if the materializer does not
	// share the store.
	Lease Lease
}

// Dirty reports whether the view lacks operations.
func (d Document) Dirty() bool { return d.Head > d.Applied }

// Parked reports whether the document's fold failed for good. Its last good
// view is still served, and no worker takes it until it is resumed.
func (d Document) Parked() bool { return d.Failure != nil && d.Failure.Park }

// Failure is the record of a run that failed.
type Failure struct {
	// Seq is the operation at which the fold failed.
	Seq int64
	// Attempts counts the runs that failed at that operation, this one included.
	Attempts int
	// Error is the error's text; Stack is the stack of a panic, or empty. A
	// store may cut each to 64 KiB.
	Error string
	Stack string
	// First and Last are when the first and the last of those attempts were
	// recorded, by the store's clock. They are not read in a commit.
	First, Last time.Time
	// Park takes the document out of the runnable ones until it is resumed.
	Park bool
	// Delay is how long the document must not run, by the store's clock: in a
	// commit from now on, in a loaded document what is left of that. 0 and less
	// mean that it may run now. More than [MaxDelay] means that. A store whose clock
	// is set back lets the document wait longer by as much, but by a day at the most.
	Delay time.Duration
}

// Runnable is a document that is dirty and not parked.
type Runnable struct {
	Key   Key
	Since Since
	// Wait is how long it must not run yet, because its last run failed; 0 if it
	// may run now.
	Wait time.Duration
	// Lease tells who works on it.
	Lease Lease
}
