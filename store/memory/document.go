package memory

import (
	"bytes"
	"time"

	"github.com/refold-go/refold/store"
)

// head returns the seq of the last operation. The document may be nil.
func (d *document) head() int64 {
	if d == nil {
		return 0
	}
	return int64(len(d.operations))
}

func (d *document) dirty() bool  { return d.head() > d.applied }
func (d *document) parked() bool { return d.failure != nil && d.failure.Park }

// leaveLocked takes a document out of the runnable and the parked ones, before
// it is changed.
func (c *collection) leaveLocked(d *document) {
	c.runnable.remove(d.since().Position)
	c.parked.remove(d.key.ID)
}

// enterLocked puts a document where it belongs, after it was changed.
func (c *collection) enterLocked(d *document) {
	switch {
	case d.parked():
		c.parked.insert(d.key.ID, d)
	case d.dirty():
		c.runnable.insert(d.since().Position, d)
	}
}

// asRunnable returns the document as one that waits to be run.
func (d *document) asRunnable(now time.Time) store.Runnable {
	r := store.Runnable{Key: d.key, Since: d.since()}
	if !d.notBefore.IsZero() {
		r.Wait = max(d.notBefore.Sub(now), 0)
	}
	return r
}

// since returns the place of the first operation that the view lacks.
func (d *document) since() store.Since {
	if !d.dirty() {
		return store.Since{}
	}
	first := &d.operations[d.applied]
	return store.Since{Position: first.Position, Time: first.appended}
}

// snapshot returns a copy of what the store knows, for a caller to keep.
func (d *document) snapshot(parts store.Parts) store.Document {
	copied := store.Document{
		Key:     d.key,
		Head:    d.head(),
		Last:    d.operations[len(d.operations)-1].Position,
		Applied: d.applied,
		Deleted: d.deleted,
		Epoch:   d.epoch,
		Since:   d.since(),
	}
	if parts == store.WithViews && d.view != nil {
		copied.View = append([]byte{}, d.view...)
	}
	if d.failure != nil {
		copied.Failure = new(*d.failure)
		copied.Failure.Delay = max(time.Until(d.notBefore), 0)
	}
	return copied
}

// clip cuts a text to the limit, and lets go of what it was cut from.
func clip(text string) string {
	if len(text) <= store.MaxFailureText {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:store.MaxFailureText]), nil))
}
