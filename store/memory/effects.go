package memory

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

// delivery is one commit of effects.
type delivery struct {
	s       *Store
	m       *mapping
	from    *document
	since   store.Since
	history bool
	room    int // how many documents may be told
	told    *[]store.Key
	// forgets tells that deltas are to have nothing of the source.
	forgets bool
}

// deliverLocked gives the derived documents their deltas, and moves the round of the
// document of the mapping, or ends it.
func (s *Store) deliverLocked(d *document, m *mapping, c *store.Commit, told *[]store.Key) {
	x := delivery{s: s, m: m, from: d, since: d.since(), history: c.History || d.allHistory(c.Applied), room: store.MaxEffects, told: told}
	round, over := c.Effects.From, false
	switch {
	case round.Readers:
	case c.Effects.Touch:
		over = x.touch(c.Effects, &round)
	default:
		over = x.contribute(c.Effects, &round)
	}
	if c.Effects.Touch && (over || round.Readers) {
		if !round.Readers {
			round.Readers, round.After = true, ""
		}
		over = x.tellReaders(c.Effects.Pairs, &round)
	}
	if d.made.round = round; over {
		d.applied, d.made.round = round.To, store.Round{}
		d.settle()
	}
}

// tell gives a derived document a delta.
func (x *delivery) tell(id string, before, after []byte) *document {
	var body []byte
	if x.m.feeds.derived.deltas && !x.forgets && (before != nil || after != nil) {
		body = store.AppendDelta(nil, store.Delta{Contributor: x.contributor(), Before: before, After: after})
	}
	x.room--
	return x.s.tellLocked(x.m.feeds, id, x.since, x.history, body, x.told)
}

func (x *delivery) contributor() store.Contributor {
	return store.Contributor{Input: x.m.input, Source: x.from.key.ID}
}

// touch gives each document a delta that has not read the source as it is, and reports
// whether all keys are done.
func (x *delivery) touch(e *store.Effects, round *store.Round) bool {
	for _, p := range e.Pairs {
		if d := x.m.feeds.documents[p.Key]; d == nil || !x.hasRead(d) {
			x.tell(p.Key, nil, nil)
		}
	}
	round.After = e.Upto
	return e.Upto == ""
}

// source is the document whose effects are delivered.
func (x *delivery) source() store.Key {
	return store.Key{Collection: x.m.source, ID: x.from.key.ID}
}

// hasRead reports whether a view was made of the source as it is served now.
func (x *delivery) hasRead(d *document) bool {
	version := int64(0)
	if source := x.s.documentLocked(x.source()); source != nil {
		version = source.changed
	}
	i, read := slices.BinarySearchFunc(d.made.reads, store.Read{Key: x.source()}, byKey)
	return read && d.made.reads[i].Version == version
}

// tellReaders gives who read the source before it was as it is a delta, and looks at as
// many as there is room for. It passes over those that the same commit has named, and reports
// whether these were all.
func (x *delivery) tellReaders(named []store.Pair, round *store.Round) bool {
	readers := x.m.feeds.derived.readers[x.source()]
	if readers == nil {
		return true
	}
	room := x.room
	page := readers.after(text(round.After), room+1, nil)
	for _, d := range page[:min(len(page), room)] {
		_, told := slices.BinarySearchFunc(named, d.key.ID, func(p store.Pair, id string) int { return strings.Compare(p.Key, id) })
		if !told && !x.hasRead(d) {
			x.tell(d.key.ID, nil, nil)
		}
		round.After = d.key.ID
	}
	return len(page) <= room
}

// contribute stores what differs of the contributions in the range of the effects, as
// much as there is room for, and reports whether all keys are done.
func (x *delivery) contribute(e *store.Effects, round *store.Round) bool {
	pairs := e.Pairs
	// One more than can be done, so that it shows whether there are more.
	had := x.from.made.keys.after(text(round.After), x.room+len(pairs)+1, nil)
	for len(pairs) > 0 || len(had) > 0 {
		var next string
		var now *store.Pair
		if len(pairs) > 0 && (len(had) == 0 || pairs[0].Key <= had[0].key.ID) {
			next, now = pairs[0].Key, &pairs[0]
			pairs = pairs[1:]
		} else {
			next = had[0].key.ID
		}
		if e.Upto != "" && next > e.Upto {
			break
		}
		if x.room == 0 {
			return false
		}
		if len(had) > 0 && had[0].key.ID == next {
			had = had[1:]
		}
		x.replace(next, now)
		round.After = next
	}
	if e.Upto == "" {
		return true
	}
	round.After = e.Upto
	return false
}

// replace stores the contribution to a document, or removes it if there is none now,
// and tells the document if that is another one than before.
func (x *delivery) replace(key string, now *store.Pair) {
	by := contributor(x.contributor())
	var before, after []byte
	if d := x.m.feeds.documents[key]; d != nil {
		if had, yes := d.made.contributions.get(by); yes {
			before = had.Body
		}
	}
	if now != nil {
		after = append([]byte{}, now.Body...)
	}
	if (before == nil) == (after == nil) && bytes.Equal(before, after) {
		return
	}
	d := x.tell(key, before, after)
	if before != nil {
		d.made.contributions.remove(by)
		d.made.count--
		x.from.made.keys.remove(text(key))
	}
	if after != nil {
		d.made.contributions.insert(by, &store.Contribution{Contributor: x.contributor(), Body: after})
		d.made.count++
		x.from.made.keys.insert(text(key), d)
	}
}

// withdrawLocked takes all that a source document contributes and is read for out of
// the generation that a mapping feeds, with the document of the mapping.
func (s *Store) withdrawLocked(m *mapping, id string) (told []store.Key) {
	x := delivery{s: s, m: m, since: s.endLocked(), told: &told, forgets: true}
	if x.from = m.documents[id]; x.from != nil {
		for _, d := range x.from.made.keys.after("", math.MaxInt, nil) {
			x.replace(d.key.ID, nil)
		}
		m.removeLocked(id)
		m.feeds.blank(x.contributor())
	} else {
		x.from = &document{content: &content{key: store.Key{ID: id}}}
	}
	read := store.Key{Collection: m.source, ID: id}
	if readers := m.feeds.derived.readers[read]; readers != nil {
		for _, d := range readers.after("", math.MaxInt, nil) {
			x.tell(d.key.ID, nil, nil)
			m.feeds.unread(d, read)
		}
	}
	return told
}

// blank takes a contributor out of the deltas that there are.
func (g *generation) blank(by store.Contributor) {
	for _, d := range g.documents {
		for _, op := range d.operations {
			if delta, err := store.ParseDelta(op.Body); err == nil && delta.Contributor == by {
				op.Body = []byte{}
			}
		}
	}
}
