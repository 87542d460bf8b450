package sim

import (
	"slices"

	"github.com/refold-go/refold/store"
)

// news are what a call announces in a world with derived collections: there it may be several
// things, and in how many pieces, and in what order, is up to the backend.
type news struct {
	dirty, committed []store.Key
	switched         string
}

// gather returns a listener that keeps what a call announces until it has returned.
func (sh *shared) gather() store.Listener {
	keep := func(to *[]store.Key) func([]store.Key) {
		return func(keys []store.Key) {
			if sh.effect(); !sh.mute && sh.writing != nil {
				*to = append(*to, keys...)
			}
		}
	}
	return store.Listener{
		Dirty:     keep(&sh.news.dirty),
		Committed: keep(&sh.news.committed),
		Switched: func(name string) {
			if sh.effect(); !sh.mute && sh.writing != nil {
				sh.news.switched = name
			}
		},
	}
}

// tell announces what a call had to announce.
func (h *handle) tell(pl place) {
	h.sh.ending.Lock()
	n := h.sh.news
	h.sh.news = news{}
	h.sh.ending.Unlock()
	if len(n.dirty)+len(n.committed) == 0 && n.switched == "" {
		return
	}
	h.p.w.park(pl, announcing, nil)
	if h.p.dead.Load() {
		return
	}
	slices.SortFunc(n.dirty, compareKeys)
	slices.SortFunc(n.committed, compareKeys)
	h.listeners.Dirty(n.dirty)
	h.listeners.Committed(n.committed)
	if n.switched != "" {
		h.listeners.Switched(n.switched)
	}
}
