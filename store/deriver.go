package store

import "context"

// Deriver keeps collections whose documents are made from documents of others, their
// sources.
//
// A derived document has no operations of its own. It has deltas: each is a source's
// change that concerns it, with a seq like an operation's, and [Store.Operations]
// returns them until they are applied; then they are gone. Head, Applied, the guard, leases,
// failures and parking are those of any document. A delta takes over the Since of the
// source's row as its Position and Time, and the document's Since is the lowest of its
// deltas', which need not come in order: what one source brings may be older than what
// another one has brought before. So the lowest Since of all dirty rows is exact across
// any number of levels.
//
// Deltas do not pile up where nobody applies them. Without [Derivation.Deltas], and in
// mappings, a document has two at the most, the first one and one that stands for all
// later ones: that has the seq of the last of them, the lowest Since, and is history if
// all are. Head counts each, and Last is the Position that the last one came with, so that
// seqs are missing, and what comes while a run is in hand stays above what the run has
// loaded. What is left above Applied may have a Since that is already in the view, until
// the next run. A commit is history only if a delta that stands for one of those it
// applies is. With Deltas no seq is missing; but as long as a document is parked, a
// contribution that changes again changes the last delta of the same [Contributor], which
// keeps its seq, its Before, and the lower Since. Head stays, and the document gets
// another epoch, so that who has loaded it before that is [Stale].
//
// Between a source and a derived collection there is a mapping (authors@1<files): a
// generation without views, with a document for each document of the source, of the
// same id. A commit that changes the served view of a source document, or deletes it,
// gives the document of each living mapping a delta, in its own transaction: that is
// the durable fan-out row. Who has the code runs the mapping's document: it reads the
// source's served view and commits [Effects], in as many slices as it takes, which
// give the derived documents their deltas.
//
//	source ──commit──▶ mapping (authors@1<files) ──effects──▶ derived (authors@1) ──commit──▶ mappings of what is made of it …
//
// A commit whose view is byte for byte the one that was there changes nothing for
// anybody: no mapping is told, and Document.Changed of a derived document stays. That of
// a document of a mapping changes by parking only, and so does what [Feed.Changes] tells
// of it.
//
// Documents of mappings are announced by the full name of the mapping (authors@1<files),
// whether what it feeds is served or not.
//
// What becomes of a source document, and of its dependents:
//
//   - parked: its last good view goes on to count; nobody is told until it is resumed
//     and has another view.
//   - deleted by its fold: it has no view, so that it contributes to nothing, and who
//     read it is told.
//   - forgotten: its contributions are removed, also from deltas; who had them or read it
//     gets a delta since the end of the log, which has an empty body. Its documents of
//     mappings and what was recorded of reading it are gone when [Eraser.Forget] returns.
//   - another generation of the source is served: each of its mappings is filled again.
//
// [Eraser.Drop] of a collection that a living mapping reads is an [InvalidError] that
// names the derived collection. [Store.Append], [Parking.Discard],
// [Eraser.Forget] and [Resolver.Resolve] of documents of a derived collection are an
// [InvalidError].
type Deriver interface {
	// Derive registers a version of a derived collection, as [Registrar.Register]
	// does that of others and with the same rules, and its mappings, which live and go
	// with it. Unless none of the sources has a document, its first
	// generation is one that is being built, and an empty one of version 0 is served
	// until the switch, which drops it. A name that is not derived, and Register
	// for one that is, are an [InvalidError]. So is a version that lives with other sources or
	// deltas. Sources must be there: [ErrNotFound].
	// A source that is made of the collection itself, by whatever way through the
	// generations that live, is a [*CycleError]. It is as durable as an append.
	//
	// [Generator.Fill] of a derived generation fills its mappings, in the order of the
	// sources and of their documents, and gives each document of a mapping a delta
	// since the end of the log when the filling began; those too which the mapping has
	// and the generation of the source that is served now has not. If it began because
	// another generation of the source is served, and the one before lacked something since
	// earlier, or an earlier filling was not over, it is since then: so nobody who waits for
	// that passes over it. Generation.Made counts them.
	//
	// [Generator.Switch] asks for no dirty row, not parked, in the generation and its
	// mappings since the end of the log as it was when the filling began, or when a
	// document of what is served now was last committed with Applied moved, or when that
	// began to be served; or before. As no view can contain what was appended after it
	// was made, nothing that was read is lacking then. A generation that is run all the
	// time moves that mark on, until [Generator.Hold]. A parked row is behind that is
	// dirty since the filling began or before; and any other one, unless version 0 is
	// served, or the document of the same id is parked in what is served, or in its
	// mapping of the same source, and is dirty since the same or before.
	//
	// While a served generation is filled again, because another generation of a source
	// is served, Generation.Filled is false.
	Derive(ctx context.Context, d Derivation) error
	// Contributions returns those to a derived document, in the order of input and of
	// the bytes of the source's id, from the first one behind after on, within the
	// budget, where a contribution counts as an operation. The first one is returned
	// whatever its size. None means that there are no more.
	Contributions(ctx context.Context, key Key, after Contributor, budget Budget) ([]Contribution, error)
	// Reads returns what a derived document read when its view was made, by collection
	// and id, but for documents that are forgotten. Both methods return nothing of what
	// is no derived document.
	Reads(ctx context.Context, key Key) ([]Read, error)
}

// Derivation is what a derived collection is made of.
type Derivation struct {
	Name    string
	Version int
	// Sources are collections, each once; their place is the number of the input. 1
	// to [MaxSources].
	Sources []string
	// Deltas tells that deltas of contributions are to carry them, for a reduce that
	// adds and takes away; see [Delta].
	Deltas bool
}

// MaxSources is how many sources a derived collection may have.
const MaxSources = 64

// Contributor is who contributes to a derived document: a document of one of its
// sources. The zero value is before all.
type Contributor struct {
	Input  int    // the place among the sources, from 0
	Source string // the id of the document
}

// Contribution is what a source document contributes to a derived one.
type Contribution struct {
	Contributor
	Body []byte
}

// Read is a source document that the build of a derived one has read.
type Read struct {
	// Key names it, by its collection, without a version, which is one of the sources. It
	// need not exist.
	Key Key
	// Version is [Document.Changed] when it was read, 0 if there was none.
	Version int64
}

// Round is how far the effects of a mapping's document have come. The zero value is
// the beginning.
type Round struct {
	// To is the head with which the round began: what is applied when it is over.
	To int64
	// Readers tells that all keys are done, and that it goes on with who read the
	// source.
	Readers bool
	// After is the last key that is done, or what the store needs to go on with readers.
	After string
}

// Effects are what a source's change does to derived documents: a slice of a round, in
// a commit of the mapping's document, whose Applied is the round's To and whose View
// is ignored. If the round is not over with it, Applied stays, and the outcome is
// [StillDirty].
type Effects struct {
	// From is [Document.Round] as it was loaded, with To set to the head if it was
	// zero. It is a part of the guard.
	From Round
	// Pairs are what the source's view says, for the keys behind From.After up to Upto, in
	// ascending order, each once and at most [MaxEffects]: contributions for these
	// keys. Others that the source has in that range are removed. If From.Readers is
	// set there are none.
	Pairs []Pair
	// Upto is the last key that Pairs speak for; empty means all that come after.
	Upto string
	// Touch gives each document in Pairs a delta and keeps no contributions; when all
	// keys are done the round goes on with those who read the source. Body of the pairs is ignored.
	//
	// Who has recorded a [Read] of the source with the Version that its Changed is now, as
	// it is served, is passed over in both: the view is made of that already. Any other
	// Version counts as an older one, also a higher one: that is of another generation of
	// the source. What a run in hand has read does not count until it is stored; it loads its
	// document before it reads, so that one which began before what is recorded is stale.
	// One that has read another Version, of a generation that was served in between, gets another
	// delta by its commit if the recorded one is served again.
	// A reader that the same commit has named gets no second delta.
	Touch bool
}

// Pair is a derived document's id, and a contribution to it.
type Pair struct {
	Key  string
	Body []byte
}

// MaxEffects is how many derived documents one commit of effects may concern. A store
// may do less and go on in the next slice.
const MaxEffects = 1000

// MaxReads is how many documents the build of a derived one may read. They are recorded in
// one transaction, for which appends wait.
const MaxReads = 10000
