package materializer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// keepIll is how many documents of which the store fails are remembered.
const keepIll = 1024

// ill remembers the documents of which the store could not read or write
// something while it does so of others: a damaged page, or a view that it does not
// take. They back off each by itself. No attempt is counted, since it is not their
// fold that fails. Beyond the bound any is forgotten. The zero value is empty.
type ill struct {
	some atomic.Bool // so that runs that go well look nothing up

	mu   sync.Mutex // guards the following field
	docs map[store.Key]illness
}

type illness struct {
	times int
	err   string
	// stale is how many results in a row were stale. That alone is no illness.
	stale int
}

func (s *ill) add(k store.Key, err error) (times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.docs[k]
	now.times, now.err = now.times+1, err.Error()
	s.setLocked(k, now)
	return now.times
}

// addStale counts a stale result, and returns how many there were in a row.
func (s *ill) addStale(k store.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.docs[k]
	now.stale++
	s.setLocked(k, now)
	return now.stale
}

func (s *ill) setLocked(k store.Key, now illness) {
	if s.docs == nil {
		s.docs = make(map[store.Key]illness)
	}
	if _, known := s.docs[k]; !known && len(s.docs) >= keepIll {
		for other := range s.docs {
			delete(s.docs, other)
			break
		}
	}
	s.docs[k] = now
	s.some.Store(true)
}

func (s *ill) remove(k store.Key) {
	if !s.some.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.docs, k)
	s.some.Store(len(s.docs) > 0)
}

func (s *ill) of(k store.Key) illness {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.docs[k]
}

// errStale is what is wrong with a document whose results are never accepted.
var errStale = errors.New("refold: its results are refused again and again, as it is never as it was loaded: the store is damaged, or somebody else works on it")

// mostStale is how often in a row a result may be stale before the document backs
// off. Another result was stored meanwhile, or the document was discarded from or
// erased: none of that happens often. In a damaged file it can go on for ever.
const mostStale = 8

// staleAgain counts a stale result, and has the document back off if there were many
// in a row.
func (e *engine) staleAgain(h *hand, it *item) {
	key := it.doc.Key
	if e.ill.addStale(key) <= mostStale {
		return
	}
	times := e.ill.add(key, errStale)
	e.cfg.Logger.Warn().Err(errStale).Stringer("document", e.shown(key)).Int("times", times).Msg("a run was thrown away")
	h.settle(it.index, delayed(worker.Backoff{First: time.Second}.Delay(times)))
}

// troubleOfOne handles an error of the store about one document while there may
// be none about others.
func (e *engine) troubleOfOne(ctx context.Context, err error, h *hand, left []int) {
	for _, i := range left {
		key := h.tickets[i].Key
		times := e.ill.add(key, err)
		if ctx.Err() == nil {
			e.cfg.Logger.Warn().Err(err).Stringer("document", e.shown(key)).Int("times", times).Msg("the store fails for a document")
		}
		e.slow.add(key)
		h.settle(i, delayed(worker.Backoff{First: time.Second}.Delay(times)))
	}
}
