package materializer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// mapper runs the documents of a mapping: it maps the view that is served of a source document to what
// that does to derived documents, one slice of them in a run.
type mapper struct {
	m *Materializer
	// derived and source are the names of the collections, touch and pairs what is done
	// with the views.
	derived, source string
	touch           bool
	pairs           func(doc store.Document, emit func(key string, body []byte) error) error
}

// run makes the effects of one slice. The source is read after the mapping's document, so that
// what changes in between is another round.
func (p *mapper) run(ctx context.Context, r *foldRun) folded {
	round := r.doc.Round
	if round.To == 0 {
		round.To = r.doc.Head
	}
	f := folded{n: int(round.To - r.applied), effects: &store.Effects{From: round, Touch: p.touch}}
	if round.Readers {
		return f
	}
	source := []store.Key{{Collection: p.source, ID: r.key.ID}}
	kept, err := p.again(ctx, r, source, f.effects)
	if err != nil {
		return folded{trouble: err}
	}
	if kept {
		return f
	}
	docs, err := p.m.st.Load(ctx, source, store.WithViews)
	if err != nil {
		return folded{trouble: err}
	}
	if docs[0].Applied == 0 || docs[0].Deleted {
		return f
	}
	s := slice{derived: p.derived, touch: p.touch, after: round.After, room: r.room}
	err = worker.Guard(func() error {
		return p.pairs(docs[0], func(key string, body []byte) error {
			if err := r.mayGoOn(ctx); err != nil {
				return err
			}
			return s.add(key, body)
		})
	})
	if err == nil {
		f.effects.Pairs, f.effects.Upto, err = s.end()
	}
	if _, ok := errors.AsType[*unreadableError](err); ok {
		return folded{trouble: err}
	}
	if err != nil {
		return folded{err: err}
	}
	p.m.mapped.keep(r.key, mappedView{changed: docs[0].Changed, after: round.After, upto: f.effects.Upto, pairs: f.effects.Pairs}, r.room)
	return f
}

// again fills in effects with what an earlier slice has mapped the source to, and reports
// whether it has not changed since.
func (p *mapper) again(ctx context.Context, r *foldRun, source []store.Key, effects *store.Effects) (bool, error) {
	v, ok := p.m.mapped.take(r.key)
	if !ok {
		return false, nil
	}
	pairs, ok := v.behind(effects.From.After)
	if !ok {
		return false, nil
	}
	docs, err := p.m.st.Load(ctx, source, store.WithoutViews)
	if err != nil || docs[0].Changed != v.changed {
		return false, err
	}
	effects.Pairs, effects.Upto = pairs, v.upto
	p.m.mapped.keep(r.key, mappedView{changed: v.changed, after: effects.From.After, upto: v.upto, pairs: pairs}, r.room)
	return true, nil
}

// slice collects the pairs with the lowest keys behind one, as many as go into one commit. So
// memory is bounded, by twice the room, however many and large they are.
type slice struct {
	derived string
	touch   bool
	after   string
	room    int64 // bytes

	pairs []store.Pair
	size  int64 // bytes of the pairs
	// below is a key that is too much, with all above; empty if there is none.
	below string
}

// checkPair returns an error if a document cannot be contributed this.
func checkPair(to store.Key, body []byte) error {
	if err := store.CheckKey(to); err != nil {
		return Permanent(err)
	}
	if len(body) > store.MaxBody {
		return Permanent(&InvalidError{
			Field: fmt.Sprintf("contribution to %q", to.ID), Got: fmt.Sprintf("%d bytes", len(body)), Want: fmt.Sprintf("at most %d", store.MaxBody),
		})
	}
	return nil
}

// twice is the error of a source document that contributes twice to another one.
func twice(to store.Key) error {
	return Permanent(fmt.Errorf("refold: it contributes twice to %s", to))
}

func (s *slice) add(key string, body []byte) error {
	if err := checkPair(store.Key{Collection: s.derived, ID: key}, body); err != nil {
		return err
	}
	if key <= s.after || s.below != "" && key >= s.below {
		return nil
	}
	s.pairs = append(s.pairs, store.Pair{Key: key, Body: body})
	s.size += int64(len(body))
	if len(s.pairs) <= 2*store.MaxEffects && (s.size <= 2*s.room || len(s.pairs) == 1) {
		return nil
	}
	return s.trim()
}

// trim sorts the pairs and drops those that are too much.
func (s *slice) trim() error {
	slices.SortFunc(s.pairs, func(a, b store.Pair) int { return cmp.Compare(a.Key, b.Key) })
	if s.touch {
		s.pairs = slices.CompactFunc(s.pairs, func(a, b store.Pair) bool { return a.Key == b.Key })
	}
	s.size = 0
	for i := range s.pairs {
		if i > 0 && s.pairs[i].Key == s.pairs[i-1].Key {
			return twice(store.Key{Collection: s.derived, ID: s.pairs[i].Key})
		}
		size := int64(len(s.pairs[i].Body))
		if i == store.MaxEffects || i > 0 && s.size+size > s.room {
			s.below = s.pairs[i].Key
			s.pairs = slices.Delete(s.pairs, i, len(s.pairs))
			break
		}
		s.size += size
	}
	return nil
}

// end returns the pairs in order, and the last key that they speak for.
func (s *slice) end() (pairs []store.Pair, upto string, err error) {
	if err := s.trim(); err != nil || len(s.pairs) == 0 {
		return nil, "", err
	}
	if s.below != "" {
		upto = s.pairs[len(s.pairs)-1].Key
	}
	return s.pairs, upto, nil
}
