package materializer

import (
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

const (
	// slowFold is how long one fold of a document takes if it is to be taken alone:
	// at less, others in the same hand hardly notice.
	slowFold = 100 * time.Millisecond
	// keepSlow is how many such documents are remembered.
	keepSlow = 1024
)

// keySet remembers a bounded number of documents; beyond that it forgets any. The
// zero value is empty.
type keySet struct {
	mu   sync.Mutex // guards the following field
	keys map[store.Key]struct{}
}

func (s *keySet) add(k store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = make(map[store.Key]struct{})
	}
	if len(s.keys) >= keepSlow {
		for other := range s.keys {
			delete(s.keys, other)
			break
		}
	}
	s.keys[k] = struct{}{}
}

func (s *keySet) remove(k store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, k)
}

// split puts the documents that are in the set apart.
func (s *keySet) split(h *hand, of []int) (others, in []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return of, nil
	}
	for _, i := range of {
		if _, ok := s.keys[h.tickets[i].Key]; ok {
			in = append(in, i)
		} else {
			others = append(others, i)
		}
	}
	return others, in
}
