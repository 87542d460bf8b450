package store

import (
	"context"
	"time"
)

// Generator makes generations of collections, switches between them and drops them.
// A generation has a row of its own for each document: what was applied, the view,
// the failure. The operations are those of the collection.
//
// A higher version in [Registrar.Register] starts a generation, which is built beside
// the one that is served: [Generator.Fill] makes its rows, each dirty from the first
// operation on, and who has the fold runs its documents by the name with the version,
// like any others. From the registration on an append makes a document dirty in every
// generation that lives, in its own transaction, so that there is neither a gap nor an
// overlap between what Fill finds and what is appended. [Generator.Switch] serves the
// new generation when it has caught up. The one that was served before is kept, and
// is made dirty by appends as before, until the next switch or [Generator.Retire].
//
//	Register ─▶ building ─Switch▶ serving ─Switch of another▶ kept ─Retire, next Switch▶ dropping ─Sweep▶ gone
//	               │                 └──Rollback──▶ set aside ─Switch▶ serving
//	               └─Retire, Register of a higher one──▶ dropping
//
// [Parking.Discard], [Eraser.Forget] and [Eraser.Drop] are about all generations of
// the collection, those being dropped among them, and [Pauser.Pause] holds back all.
// Appends are announced by the name of the collection, and are news for each
// generation; what Fill makes dirty is not announced.
//
// No two rows of one document, in whatever generation, have ever the same epoch, so
// that a run which has loaded one generation is stale in every other.
//
// Everything here is as durable as an append, but for Fill, Hold and Sweep: what they
// have done may be lost by a power cut, as a whole, and is done again by the next
// call. Errors: [InvalidError] for a name without a version where one is asked for,
// and the other way round; [ErrNotFound] if there is no such collection or
// generation.
type Generator interface {
	// Generations returns those of a collection, by version. An unknown collection
	// has none. Those that are being dropped are among them, and there may be
	// several of one version then, but only one that lives.
	Generations(ctx context.Context, collection string) ([]Generation, error)

	// Fill makes the rows of some more documents of a generation that is being
	// built, in the order of the documents' first operations, and reports whether
	// there are more. It takes a short transaction however many documents other
	// collections have. Any number may call it at once, in any process: each row is
	// made once, and a row that is there is left alone. For a generation that has
	// all its rows it does nothing.
	Fill(ctx context.Context, generation string) (more bool, err error)

	// Switch serves a generation, if nothing is in the way of that, and otherwise
	// says what is, and changes nothing: the rows must all be made, and no document
	// may be behind, which means that less of it is applied than in the generation
	// that is served now; what it means for a derived collection [Deriver] says. Parked
	// documents may be behind with Force. The generation
	// that was served is kept, and one that was kept or set aside before is dropped.
	// For the one that is served already it changes nothing. Listeners are told of
	// the switch.
	Switch(ctx context.Context, generation string, terms SwitchTerms) (Obstacle, error)

	// Hold keeps the generation that is served from being run for d, at most
	// [MaxHold]: none of its documents is runnable until then or can be leased, and nobody
	// is told when it is over. Reading it, committing runs in hand and lengthening their
	// leases goes on. It is for the
	// moment before a switch, when documents change so often that there is always
	// one which is behind.
	//
	// One caller at a time holds it, and only a call that has for mine what its last one
	// returned makes it longer or shorter. Others change nothing meanwhile, and return the zero
	// time; who does not hold it gives that. A d of 0 or less ends it, and so does a
	// switch; then the zero time is returned too.
	Hold(ctx context.Context, collection string, mine time.Time, d time.Duration) (until time.Time, err error)

	// Rollback serves the generation again that is kept, as it is: what its views
	// lack is dirty. The other one is set aside: it is made dirty by appends as
	// before, can be switched to, and is dropped like a kept one. Errors:
	// [ErrNotFound] if none is kept. Listeners are told of the switch.
	Rollback(ctx context.Context, collection string) error

	// Retire drops a generation that is not served. From then on there is none of
	// this name for any other call, and runs in hand are stale; its rows go in
	// slices, see Sweep. Errors: [InvalidError] if it is served.
	Retire(ctx context.Context, generation string) error

	// Sweep removes some rows of generations that are being dropped, of whatever
	// collection, and reports whether there are more.
	Sweep(ctx context.Context) (more bool, err error)
}

// MaxHold is the longest time of [Generator.Hold]; a longer one is cut to it.
const MaxHold = time.Minute

// SwitchTerms are the terms of [Generator.Switch].
type SwitchTerms struct {
	// Force switches although documents are behind that are parked in the new
	// generation.
	Force bool
	// New switches only to a generation that was never served, for who may have seen it
	// being built before others have served it, and another one since: of one that is kept
	// or set aside it says [ErrNotFound].
	New bool
	// Keep is for how long the generation that was served is to be kept; it is what
	// [Generation.Until] says afterwards. The store drops nothing by time.
	Keep time.Duration
}

// Generation is what a store knows of a generation.
type Generation struct {
	// Version is that of its fold; 0 if nobody has registered the collection.
	Version int
	State   GenerationState
	// Filled tells that it has the rows of all documents. Until then it has those of
	// the documents that [Generator.Fill] has come to, which is Scanned of about
	// ToScan, and of those that were appended to since it was started.
	Filled          bool
	Scanned, ToScan int64
	// Made is how many rows Fill has made.
	Made int64
	// Started is when it was registered; zero for the first of a collection.
	Started time.Time
	// Until is until when a kept one is to be kept, and zero for others.
	Until time.Time
}

// GenerationState is what a generation is there for.
type GenerationState uint8

// The states of a generation. Only Dropping ones do not live.
const (
	Building GenerationState = 1 // not served yet
	Serving  GenerationState = 2 // what the name of the collection means
	Kept     GenerationState = 3 // served before
	SetAside GenerationState = 4 // served until a rollback
	Dropping GenerationState = 5 // has no name any more
)

// String returns the state in lower case.
func (s GenerationState) String() string {
	switch s {
	case Building:
		return "building"
	case Serving:
		return "serving"
	case Kept:
		return "kept"
	case SetAside:
		return "set aside"
	case Dropping:
		return "dropping"
	}
	return "unknown state"
}

// Obstacle is what is in the way of a switch. The zero value is nothing.
type Obstacle struct {
	Why Hindrance
	// Document is one that is behind, by the name of its generation, if that is why.
	Document Key
}

// Hindrance says why a generation cannot be served yet.
type Hindrance uint8

// The reasons not to switch.
const (
	// Unhindered means that it is served now.
	Unhindered Hindrance = iota
	// Unfilled means that it does not have all its rows.
	Unfilled
	// TooDirty means that so many documents are dirty that it was not looked
	// whether they are behind: more than [MaxDirty].
	TooDirty
	// Behind means that a document is behind.
	Behind
	// ParkedBehind means that only parked documents are behind.
	ParkedBehind
)

// MaxDirty is how many documents of a generation may be dirty and not parked when it
// is switched to. Each has to be compared in the transaction of the switch.
const MaxDirty = 1000

// String returns the reason in lower case.
func (h Hindrance) String() string {
	switch h {
	case Unhindered:
		return "nothing"
	case Unfilled:
		return "not filled"
	case TooDirty:
		return "too many dirty"
	case Behind:
		return "behind"
	case ParkedBehind:
		return "parked behind"
	}
	return "unknown reason"
}

// ParseGeneration is for backends: it reads the name of a generation with its
// version, which is no mapping. Errors: [InvalidError].
func ParseGeneration(name string) (CollectionName, error) {
	n, err := ParseCollection(name)
	if err == nil && (n.Version == 0 || n.Source != "") {
		err = &InvalidError{Field: "generation", Got: quoted(name), Want: "a collection with a version, like notes@2"}
	}
	if err != nil {
		return CollectionName{}, err
	}
	return n, nil
}
