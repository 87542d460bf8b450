package model

import (
	"slices"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

type feed struct {
	at   string    // "", woke, reading, rows; of a mutant: read
	next time.Time // for which its timer is set
	rows []row
}

// row is what the feed has read of one document.
type row struct {
	doc   int
	until time.Time // zero if it may run
}

func (w *world) feedStep(verb string, d int) bool {
	me := &w.feed
	// What the model does not print.
	if me.at == "rows" && len(me.rows) == 0 {
		me.at = ""
	}
	if me.at == "woke" {
		if w.BeginRead() {
			me.at = "reading"
			return true
		}
		me.at = ""
	}
	switch {
	case me.at == "":
		return w.wake(me)
	case me.at == "reading":
		for i := range w.docs {
			doc := &w.docs[i]
			if !doc.dirty || doc.parked {
				continue
			}
			r := row{doc: i}
			if doc.notBefore.After(w.now) {
				r.until = doc.notBefore
			}
			me.rows = append(me.rows, r)
		}
		if me.at = "rows"; w.mutant == clearedLate {
			me.at = "read"
		}
	case me.at == "read":
		w.toy.reread = false
		me.at = "rows"
	case verb == "clears":
		return false
	case me.at == "rows":
		i := max(0, slices.IndexFunc(me.rows, func(r row) bool { return r.doc == d }))
		r := me.rows[i]
		if me.rows = slices.Delete(me.rows, i, i+1); !w.tell(r) {
			me.rows = nil
		}
	}
	return true
}

func (w *world) wake(me *feed) bool {
	select {
	case <-w.Woken():
	default:
		if me.next.IsZero() || me.next.After(w.now) {
			return false
		}
	}
	w.watch("time is up", func() { me.next = w.Wake(w.now) })
	me.at = "woke"
	return true
}

// tell gives one row to the table, and reports whether there was room.
func (w *world) tell(r row) bool {
	switch {
	case !r.until.IsZero():
		w.watch("read too early", func() { w.Delay(keys[r.doc], r.until) })
		return true
	case w.mutant == passedOver && w.State(keys[r.doc]) != dispatcher.Idle:
		return true
	}
	return w.signal(r.doc)
}

func index(k store.Key) int { return slices.Index(keys, k) }
