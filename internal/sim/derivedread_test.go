package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// made is a reader's record of derived documents: by each, the least of each source document that
// what it has read can be made of.
type made map[string]map[string]int64

// getDerived reads a derived document, mostly at least what somebody was told to be stored.
func (cs *clients) getDerived(ctx context.Context, pl place, seen made) {
	w, p := cs.w, pl.p
	name := of(w.c, w.opt.kinds...)
	id := of(w.c, "all", "k0", "k1")
	if name == cards {
		id = fmt.Sprintf("d%d", w.c.n(w.opt.docs))
	}
	var token materializer.Token
	end := store.Position(0)
	if len(cs.acked) > 0 && !w.c.oneIn(4) {
		a := cs.acked[len(cs.acked)-1-w.c.n(len(cs.acked))]
		if c := w.sh.model.content(a.id); !c.forgotten {
			token, end = a.token, c.ops[a.seq-1].position
		}
	}
	d := p.derived[name]
	if d == nil {
		return
	}
	v, err := d.Get(ctx, id, materializer.AtLeast(token))
	parked := errors.Is(err, materializer.ErrParked)
	switch {
	case p.dead.Load(), err != nil && expected(err):
		return
	case err != nil && !parked && !absent(err):
		w.fail("%s reading %s/%s: %v", p.name, name, id, err)
		return
	case parked && errors.Is(err, materializer.ErrNotFound):
		return
	case v.Head > 0 && !slices.Contains(w.sh.model.collections[name].was, v.Version):
		w.fail("%s read %s/%s of version %d, which was never served", p.name, name, id, v.Version)
		return
	case v.Applied > 0 && !v.Deleted && v.State.V != v.Version:
		w.fail("%s read %s/%s of version %d, made by version %d", p.name, name, id, v.Version, v.State.V)
		return
	}
	if name == tops || name == sums && id != "all" {
		return // what it can be made of is not told by it
	}
	if parked {
		end = 0
	}
	if seen[name+"/"+id] == nil {
		seen[name+"/"+id] = make(map[string]int64)
	}
	cs.contains(fmt.Sprintf("%s (%v)", p.name, err), name+"/"+id, v.State, end, seen[name+"/"+id])
	w.rare.DerivedReads++
}

// contains checks that a document of sums or a card is made of what the sources once were: at
// least as they were at a position, and when they were read before.
func (cs *clients) contains(who, of string, d whole, end store.Position, seen map[string]int64) {
	w := cs.w
	text, _ := json.Marshal(d)
	parts := make(map[string]*state)
	for _, p := range d.Parts {
		parts[p.From] = p.S
	}
	ids := make([]string, 0, w.opt.docs)
	prefix := "0/"
	if name, id, _ := strings.Cut(of, "/"); name == cards {
		ids, prefix = append(ids, id), ""
		if len(d.Parts) == 2 {
			ids = append(ids, d.Parts[1].From)
		}
	} else {
		for _, k := range w.keys() {
			ids = append(ids, k.ID)
		}
	}
	for _, id := range ids {
		c := w.sh.model.content(id)
		if c.forgotten {
			continue
		}
		least := max(c.upTo(end), seen[id])
		if seen[id] = c.when(parts[prefix+id], least); seen[id] < 0 {
			w.fail("%s read %s as %s, made of %s as it has not been since operation %d", who, of, text, id, least)
			return
		}
	}
}

// upTo returns how many operations are at or before a position.
func (c *content) upTo(end store.Position) (n int64) {
	for i := range c.ops {
		if c.ops[i].position <= end {
			n++
		}
	}
	return n
}

// when returns after how many operations, at least so many, the document was as a part says; -1 if
// it never was.
func (c *content) when(s *state, least int64) int64 {
	for n := least; n <= int64(len(c.ops)); n++ {
		switch there := n > 0 && !c.gone(n); {
		case s == nil && !there:
			return n
		case s != nil && there && c.state(max(s.V, 1), n) == *s:
			return n
		}
	}
	return -1
}

// drained checks that all that was acknowledged before is in what is made of all documents.
func (cs *clients) drained(who string, before []ack) {
	w := cs.w
	c := w.sh.model.collections[sums]
	if c == nil || c.served == 0 {
		return
	}
	end := store.Position(0)
	for _, a := range before {
		if d := w.sh.model.content(a.id); !d.forgotten {
			end = max(end, d.ops[a.seq-1].position)
		}
	}
	var d whole
	if doc, there := w.sh.source(sums, "all"); there {
		_ = json.Unmarshal(doc.View, &d)
	}
	cs.contains(who+" drained, and would have", sums+"/all", d, end, make(map[string]int64))
}
