package memory

import (
	"bytes"
	"sort"
	"time"

	"github.com/refold-go/refold/store"
)

// content is what all generations have of a document.
type content struct {
	key store.Key
	// index is where it is among the contents of its collection.
	index int
	// operations has operation n at index n-1; deltas that are applied are not there.
	operations []*operation
	// ids has the seq of each operation with an id; nil if there is none.
	ids map[string]int64
	// discards are in order of seq.
	discards []store.Discard
}

// document is a document in one generation.
type document struct {
	*content
	applied int64
	epoch   int64
	view    []byte // nil if deleted
	deleted bool
	// changed is the number of the last change, and news that of the last one that
	// was not history alone; 0 if there is none.
	changed, news int64
	// failure is never changed in place, only replaced.
	failure *store.Failure
	// notBefore is the end of the failure's delay; zero if there was none.
	notBefore time.Time
	lease     lease
	// made is nil unless the document is made from others, or of a mapping.
	made *made
}

// operation is an operation as it was placed, its memory owned by the store.
type operation struct {
	store.Operation
	// appended is the store's clock in nanoseconds, even if the application gave a time.
	appended int64
	// of is the operation's document; nil for a delta, which is not in the log.
	of *content
}

// since returns where the operation is among all.
func (o *operation) since() store.Since {
	return store.Since{Position: o.Position, Time: time.Unix(0, o.appended).UTC()}
}

// head returns the seq of the last operation. The document may be nil.
func (d *document) head() int64 {
	switch {
	case d == nil:
		return 0
	case d.made != nil:
		return d.made.head
	}
	return int64(len(d.operations))
}

// between returns the operations of some seqs that are there. The document may be nil.
func (d *document) between(from, to int64) []*operation {
	if d == nil {
		return nil
	}
	if d.made == nil {
		to = min(to, d.head())
		return d.operations[min(max(from, 1), to+1)-1 : to]
	}
	at := func(seq int64) int {
		return sort.Search(len(d.operations), func(i int) bool { return d.operations[i].Seq >= seq })
	}
	return d.operations[at(from):max(at(from), at(to+1))]
}

// last returns the position of the last operation.
func (d *document) last() store.Position {
	if d.made != nil {
		return d.made.last
	}
	return d.operations[len(d.operations)-1].Position
}

func (d *document) dirty() bool  { return d.head() > d.applied }
func (d *document) parked() bool { return d.failure != nil && d.failure.Park }

// leaveLocked takes a document out of the runnable and the parked ones, before
// it is changed.
func (c *generation) leaveLocked(d *document) {
	switch {
	case d.parked():
		c.parked.remove(text(d.key.ID))
	case d.dirty():
		c.runnable.remove(d.place())
	}
}

// enterLocked puts a document where it belongs, after it was changed.
func (c *generation) enterLocked(d *document) {
	switch {
	case d.parked():
		c.parked.insert(text(d.key.ID), d)
	case d.dirty():
		c.runnable.insert(d.place(), d)
	}
}

// asRunnable returns the document as one that waits to be run, in a collection of
// this name.
func (d *document) asRunnable(name string, now time.Time) store.Runnable {
	return store.Runnable{
		Key: store.Key{Collection: name, ID: d.key.ID}, Since: d.since(), Wait: store.WaitLeft(d.notBefore, now),
		Lease: d.lease.at(now),
	}
}

// since returns the place of the first operation that the view lacks, or of the lowest
// delta.
func (d *document) since() store.Since {
	if !d.dirty() {
		return store.Since{}
	}
	if d.made != nil {
		return d.made.lowest
	}
	return d.operations[d.applied].since()
}

// snapshot makes a copy of what the store knows, for a caller to keep who calls the
// collection by this name.
func (c *generation) snapshot(copied *store.Document, d *document, name string, parts store.Parts) {
	*copied = store.Document{
		Key:     store.Key{Collection: name, ID: d.key.ID},
		Version: c.version,
		Head:    d.head(),
		Last:    d.last(),
		Applied: d.applied,
		Deleted: d.deleted,
		Epoch:   d.epoch,
		Changed: d.changed,
		Since:   d.since(),
	}
	if d.made != nil {
		copied.Contributions, copied.Round = d.made.count, d.made.round
	}
	if d.lease.holder != "" {
		copied.Lease = d.lease.at(time.Now())
	}
	if parts == store.WithViews && d.view != nil {
		copied.View = append([]byte{}, d.view...)
	}
	if d.failure != nil {
		copied.Failure = new(*d.failure)
		copied.Failure.Delay = store.WaitLeft(d.notBefore, time.Now())
	}
}

// clip cuts a text to the limit, and lets go of what it was cut from.
func clip(text string) string {
	if len(text) <= store.MaxFailureText {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:store.MaxFailureText]), nil))
}
