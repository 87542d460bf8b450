package materializer

import (
	"cmp"
	"slices"
	"sync"

	"github.com/refold-go/refold/store"
)

// mappedViews keep what source documents were mapped to until the round is over, so that the
// next slice of it need not map the same view again. They have a bound in bytes; what is
// beyond is mapped again.
type mappedViews struct {
	// mu guards the following fields. It is never held while blocked.
	mu    sync.Mutex
	byKey map[store.Key]mappedView // by the document of the mapping
	bytes int64
}

// mappedView is what one view was mapped to. It is never changed.
type mappedView struct {
	changed     int64        // of the source, with this view
	after, upto string       // the keys behind after up to upto; all behind if that is empty
	pairs       []store.Pair // in order of key
	bytes       int64
}

// pairOverhead is about what a pair takes beside its bytes.
const pairOverhead = 64

// keep keeps what a view was mapped to, within limit bytes.
func (m *mappedViews) keep(key store.Key, v mappedView, limit int64) {
	v.bytes = int64(len(key.Collection)+len(key.ID)) + pairOverhead
	for i := range v.pairs {
		v.bytes += int64(len(v.pairs[i].Key)+len(v.pairs[i].Body)) + pairOverhead
	}
	if v.bytes > limit {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes += v.bytes - m.byKey[key].bytes; m.bytes > limit || m.byKey == nil {
		m.byKey, m.bytes = make(map[store.Key]mappedView), v.bytes
	}
	m.byKey[key] = v
}

// take returns what is kept of a document of a mapping, and forgets it.
func (m *mappedViews) take(key store.Key) (v mappedView, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok = m.byKey[key]
	m.bytes -= v.bytes
	delete(m.byKey, key)
	return v, ok
}

// behind returns the pairs behind a key, if they are known.
func (v *mappedView) behind(after string) (pairs []store.Pair, ok bool) {
	if after < v.after || v.upto != "" && after >= v.upto {
		return nil, false
	}
	i, had := slices.BinarySearchFunc(v.pairs, after, func(p store.Pair, key string) int { return cmp.Compare(p.Key, key) })
	if had {
		i++
	}
	return v.pairs[i:], true
}
