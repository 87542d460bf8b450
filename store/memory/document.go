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

func (d *document) dirty() bool    { return d.head() > d.applied }
func (d *document) parked() bool   { return d.failure != nil && d.failure.Park }
func (d *document) runnable() bool { return d.dirty() && !d.parked() }

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
		Since:   d.since(),
	}
	if parts == store.WithViews && d.applied > 0 {
		copied.View = append([]byte{}, d.view...)
	}
	if d.failure != nil {
		copied.Failure = new(*d.failure)
		copied.Failure.Delay = max(time.Until(d.notBefore), 0)
	}
	return copied
}

// setView replaces the view, which is never nil once there is one.
func (d *document) setView(view []byte, applied int64) {
	d.view = append([]byte{}, view...)
	d.applied = applied
}

// clip cuts a text to the limit, and lets go of what it was cut from.
func clip(text string) string {
	if len(text) <= store.MaxFailureText {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:store.MaxFailureText]), nil))
}
