package store

import "time"

// Entry is what an application says of an operation that it appends.
type Entry struct {
	// ID makes appending twice harmless: an operation whose id its document has
	// already is not stored again. 1 to 255 bytes; empty means none.
	ID string
	// Kind tells operations of one collection apart, for their codec. It may be
	// empty.
	Kind string
	// Time is the application's time of the operation, kept to the nanosecond
	// and given back in UTC. Zero means the store's clock. It never decides an
	// order.
	Time time.Time
	// Meta is opaque: causation, tracing and the like.
	Meta []byte
	// Body is the operation itself.
	Body []byte
}

// Operation is an entry that is in the log.
type Operation struct {
	// Seq is its number in its document: dense, from 1.
	Seq int64
	// Position is its place in the log, and Writer who appended it: 0 in a store
	// with one contiguous log.
	Position Position
	Writer   Writer
	// History tells that it was appended as history, see [Append].
	History bool
	// Discarded tells that every fold passes over it, see [Parking.Discard].
	Discarded bool
	Entry
}

// Append is what one call of [Store.Append] adds to one document.
type Append struct {
	Key Key
	// Head is the seq that the document's last operation must have, 0 for a
	// document that must not exist yet. nil means any.
	Head *int64
	// History says that the entries are not new to the world: an import, or the past
	// of a document that comes in late. They are folded like any other, and the
	// change that they make says so, see [Change].
	History bool
	// Entries are appended in this order. There must be at least one.
	Entries []Entry
}

// Appended tells where the operations of one call went.
type Appended struct {
	// Token covers them all.
	Token Token
	// Documents has an element for each [Append], in the same order.
	Documents []AppendedDocument
}

// NewAppended returns a result with room for where each entry goes, for backends to
// fill in. It takes two allocations, or one for a single operation, which is what
// most appends have.
func NewAppended(appends []Append) Appended {
	if len(appends) == 1 && len(appends[0].Entries) == 1 {
		one := new(struct {
			documents [1]AppendedDocument
			placed    [1]Placed
		})
		one.documents[0].Operations = one.placed[:]
		return Appended{Documents: one.documents[:]}
	}
	n := 0
	for i := range appends {
		n += len(appends[i].Entries)
	}
	placed, a := make([]Placed, n), Appended{Documents: make([]AppendedDocument, len(appends))}
	for i := range appends {
		n := len(appends[i].Entries)
		a.Documents[i].Operations, placed = placed[:n:n], placed[n:]
	}
	return a
}

// AppendedDocument tells where the operations of one document went.
type AppendedDocument struct {
	// Head is the document's head after the call.
	Head int64
	// Parked tells that no worker will take the document until it is resumed.
	Parked bool
	// Operations has an element for each entry, in the same order.
	Operations []Placed
}

// Placed tells where one operation is.
type Placed struct {
	Seq      int64
	Position Position
	// Duplicate tells that the document had the operation's id already, and that
	// nothing was added. Seq and Position are those of the first time.
	Duplicate bool
}
