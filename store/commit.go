package store

import "time"

// Commit is the result of one run: the new view of one document.
type Commit struct {
	// Key names the document, in a generation of its collection; see [CollectionName].
	Key Key
	// Loaded and Epoch are the guard: what [Store.Load] gave. If the document
	// has moved on since, or is parked, the commit is stale and changes nothing.
	Loaded int64
	Epoch  int64
	// Applied is the highest seq that View contains: Loaded or more, and at most
	// the document's head.
	Applied int64
	// View is the new view. It is ignored if Applied is Loaded: then only
	// Failure is recorded.
	View []byte
	// Deleted stores that the document is deleted instead of a view. It is ignored
	// if Applied is Loaded.
	Deleted bool
	// History tells that all operations from Loaded+1 to Applied are history; see
	// [Change]. Of deltas the store knows that by itself.
	History bool
	// Failure is why the run ended before the last operation that it had read.
	// nil means that it went well, and clears an earlier failure.
	Failure *Failure
	// Effects are those of a document of a mapping, which has no view; nil for others, and with Failure.
	Effects *Effects
	// Reads is what the build of a derived document has read; it takes the place of
	// what was recorded before, if Applied is beyond Loaded. If one that was not
	// recorded before is not at the version that was read any more, or one that was recorded
	// is at that version again and was read at another, the document gets
	// another delta, with the Since that it had: the outcome is [StillDirty]. Each key
	// once, at most [MaxReads]; nil is none. One of what is no source is [ErrInvalid], for the whole call,
	// unless the commit is stale.
	Reads []Read
	// Keep keeps the document's lease, if the document is still runnable, and lengthens
	// it by these terms; nil gives it up. Whether it has run out does not matter: the
	// guard decides.
	Keep *LeaseTerms
	// By is until when the commit may be kept waiting while there is something else to
	// write, so that more are written together; zero is not at all. A store need not heed it.
	By time.Time
}

// Outcome says what became of a commit.
type Outcome uint8

const (
	// Done means that the view has all operations of its document.
	Done Outcome = iota
	// StillDirty means that the commit was stored and that there is more to do:
	// operations that arrived during the run, or that it had not read.
	StillDirty
	// Stale means that nothing was stored, because the document is not as it was
	// loaded. It is not an error.
	Stale
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case StillDirty:
		return "still dirty"
	case Stale:
		return "stale"
	}
	return "unknown outcome"
}
