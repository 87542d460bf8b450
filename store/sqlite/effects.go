package sqlite

import (
	"bytes"
	"database/sql/driver"
	"strconv"

	"github.com/refold-go/refold/store"
)

// The most that one commit of effects does, because appends wait for it: documents, each
// of which takes some 25 µs to 100 µs, and bytes of contributions. At least one is done.
const (
	effectDocuments = 250
	effectBytes     = 1 << 20
)

// effect is what one derived document gets.
type effect struct {
	key string
	// document is the derived one, 0 if it has no contribution yet; or a reader of the
	// source.
	document int64
	// before and after are the contribution as it was and as it is; nil if there is none.
	before, after []byte
}

// slice is what one commit of effects does.
type slice struct {
	effects []effect
	readers []int64
	size    int
	round   store.Round // where the round is after it
	over    bool
	// of is the source, and version the number of its last change, if who has read it as it
	// is now is passed over.
	of      *edge
	version int64
}

// full reports whether nothing more is to be done.
func (s *slice) full() bool {
	return len(s.effects) >= effectDocuments || s.size >= effectBytes
}

func (s *slice) add(e effect) {
	s.effects = append(s.effects, e)
	s.size += len(e.before) + len(e.after)
}

// outOfRound reports whether the document of a mapping is not in the round that a commit
// is a slice of.
func (g *guarded) outOfRound(t *transaction, c *store.Commit) (bool, error) {
	row, err := t.run.one(getRound, g.document)
	if err != nil {
		return false, err
	}
	at := store.Round{To: c.Applied}
	if row != nil {
		at = asRound(row)
	}
	return c.Effects.From != at, nil
}

func asRound(row []driver.Value) store.Round {
	return store.Round{To: integer(row[0]), Readers: truth(row[1]), After: text(row[2])}
}

// deliver stores a slice of the effects of a source's change. What is to be done is
// found out first; then the guarded row is written, and what depends on it.
func (g *guarded) deliver(t *transaction, c *store.Commit, woken *[]store.Key) (store.Outcome, error) {
	g.history = c.History
	if _, err := g.settle(t, c); err != nil {
		return 0, err
	}
	to, err := t.feeding(g.in)
	if err != nil || to == nil {
		return store.Stale, err
	}
	since, _, err := g.before(t, c)
	if err != nil {
		return 0, err
	}
	d := delta{since: since, history: g.history}
	var s slice
	if err := g.plan(t, c, to, &s); err != nil {
		return 0, err
	}
	outcome, applied, dirty, left := store.StillDirty, c.Loaded, int64(1), since
	if s.over {
		applied = c.Applied
		if outcome, dirty, left = store.Done, 0, (sinceAt{}); g.head > applied {
			if left, err = g.left(t, applied); err != nil {
				return 0, err
			}
			outcome, dirty = store.StillDirty, 1
		}
	}
	stored, err := g.guard(t, c, applied, dirty, left, false)
	if err != nil {
		return 0, err
	}
	if !stored {
		return store.Stale, nil
	}
	if err := g.turn(t, c, &s); err != nil {
		return 0, err
	}
	if err := g.spread(t, c, to, &s, &d, woken); err != nil {
		return 0, err
	}
	return outcome, g.failure(t, c)
}

// plan finds out what is to be done.
func (g *guarded) plan(t *transaction, c *store.Commit, to *receivers, s *slice) error {
	e := c.Effects
	s.round = e.From
	keys := e.From.Readers
	if e.Touch {
		if err := g.source(t, c, s); err != nil {
			return err
		}
	}
	switch {
	case keys:
	case e.Touch:
		for i := range e.Pairs {
			if s.full() {
				return nil
			}
			s.add(effect{key: e.Pairs[i].Key})
			s.round.After = e.Pairs[i].Key
		}
		if keys = e.Upto == ""; !keys {
			s.round.After = e.Upto
		}
	default:
		var err error
		if keys, err = g.compare(t, e, s); err != nil {
			return err
		}
	}
	if s.over = keys && !e.Touch; s.over || !keys {
		return nil
	}
	if !s.round.Readers {
		s.round.Readers, s.round.After = true, ""
	}
	// One more than can be looked at, so that it shows whether there are more.
	room := effectDocuments - len(s.effects)
	after, _ := strconv.ParseInt(s.round.After, 10, 64)
	s.over = true
	return t.run.each(readersPage, func(row []driver.Value) bool {
		if room == 0 {
			s.over = false
			return false
		}
		room--
		if document := integer(row[0]); s.of == nil || integer(row[1]) != s.version {
			s.readers = append(s.readers, document)
		}
		s.round.After = strconv.FormatInt(integer(row[0]), 10)
		return true
	}, g.in.source, c.Key.ID, to.generation, after, int64(room+1))
}

// compare finds out what differs of the contributions in the range of the effects, as
// far as there is room, and reports whether all keys are done.
func (g *guarded) compare(t *transaction, e *store.Effects, s *slice) (all bool, err error) {
	pairs, cut := e.Pairs, false
	// came takes the pairs before a key, which have no contribution yet.
	came := func(before string, to bool) {
		for len(pairs) > 0 && (!to || pairs[0].Key < before) {
			if cut = s.full(); cut {
				return
			}
			s.add(effect{key: pairs[0].Key, after: notNil(pairs[0].Body)})
			s.round.After, pairs = pairs[0].Key, pairs[1:]
		}
	}
	err = t.run.each(contributorsPage, func(row []driver.Value) bool {
		had := effect{key: text(row[0]), document: integer(row[1]), before: notNil(blob(row[2]))}
		row[2] = nil // the row is kept
		if e.Upto != "" && had.key > e.Upto {
			return false
		}
		if came(had.key, true); cut {
			return false
		}
		if len(pairs) > 0 && pairs[0].Key == had.key {
			had.after, pairs = notNil(pairs[0].Body), pairs[1:]
		}
		if had.after == nil || !bytes.Equal(had.before, had.after) {
			if cut = s.full(); cut {
				return false
			}
			s.add(had)
		}
		s.round.After = had.key
		return true
	}, g.document, e.From.After)
	if err != nil {
		return false, err
	}
	if !cut {
		came("", false)
	}
	if cut {
		return false, nil
	}
	if e.Upto != "" {
		s.round.After = e.Upto
	}
	return e.Upto == "", nil
}

// turn writes how far the round is, or ends it.
func (g *guarded) turn(t *transaction, c *store.Commit, s *slice) error {
	if !s.over {
		return t.run.exec(putRound, g.document, s.round.To, number(s.round.Readers), s.round.After)
	}
	if err := t.run.exec(dropRound, g.document); err != nil {
		return err
	}
	return t.run.exec(dropDeltas, g.document, c.Applied)
}

// spread writes the contributions, and gives derived documents their deltas.
func (g *guarded) spread(t *transaction, c *store.Commit, to *receivers, s *slice, d *delta, woken *[]store.Key) error {
	told := make(map[int64]bool)
	for i := range s.effects {
		document, err := g.contribute(t, c, to, s, &s.effects[i], *d, woken)
		if err != nil {
			return err
		}
		told[document] = true
	}
	for _, document := range s.readers {
		if told[document] {
			continue
		}
		r, err := t.reader(to, document)
		if err != nil {
			return err
		}
		if r == nil {
			continue // the file is damaged
		}
		if _, err := t.give(to, r, r.name, d, woken); err != nil {
			return err
		}
	}
	return nil
}

// contribute does what one document gets, and returns it.
func (g *guarded) contribute(t *transaction, c *store.Commit, to *receivers, s *slice, e *effect, d delta, woken *[]store.Key) (document int64, err error) {
	r, err := t.receiver(to, e.key)
	if err != nil {
		return 0, err
	}
	if r != nil {
		if has, err := s.hasRead(t, r.document); has || err != nil {
			return r.document, err
		}
	}
	d.made = number(e.after != nil) - number(e.before != nil)
	if to.deltas && (e.before != nil || e.after != nil) {
		by := store.Contributor{Input: int(g.in.input), Source: c.Key.ID}
		d.body, d.mapping = store.AppendDelta(nil, store.Delta{Contributor: by, Before: e.before, After: e.after}), g.document
	}
	document, err = t.give(to, r, e.key, &d, woken)
	switch {
	case err != nil || e.before == nil && e.after == nil:
	case e.before == nil:
		err = t.run.exec(newContribution, document, g.in.input, c.Key.ID, g.document, e.key, e.after)
	case e.after == nil:
		err = t.run.exec(dropContribution, document, g.in.input, c.Key.ID)
	default:
		err = t.run.exec(setContribution, document, g.in.input, c.Key.ID, e.after)
	}
	return document, err
}

// notNil gives an empty slice for nil, which means that there is none.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
