package store

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Announcer is the role of telling, in the process, what a store has made
// durable.
type Announcer interface {
	// Listen has the functions of l called until stop is called. They are called by
	// whoever wrote, when what it wrote is durable and before its call returns: they
	// must not block, and must not write to the store. They may be called for a
	// moment longer when stop has returned. What somebody else writes to the same
	// database is not announced; see [Follower]. After an error that is
	// [ErrInDoubt] nothing is announced.
	Listen(l Listener) (stop func())
}

// Listener has a function for each thing that is announced; nil ones are not
// called. None may keep the slices that it gets, nor what these lead to. A document
// of the generation that is served is announced by its collection, whatever name was
// given, one of another generation by the name that was given.
type Listener struct {
	// Stored gets what an append has stored: its entries as they were given, where
	// they went, and the store's time, which those have that gave none. It is called
	// before Dirty. Appends in a transaction of the application are only told by Dirty.
	Stored func(appends []Append, appended Appended, at time.Time)
	// Dirty gets the documents to which operations were added or that were
	// resumed, but for parked ones.
	Dirty func(keys []Key)
	// Committed gets the documents of which the result of a run was stored.
	Committed func(keys []Key)
	// Switched gets a collection of which another generation is served now, so that
	// all that is read of it by its name may have changed.
	Switched func(collection string)
	// Closed is called when the store is being closed.
	Closed func()
}

// Listeners is [Announcer] for backends. The zero value has no listener, and
// costs the writers one atomic load.
type Listeners struct {
	now atomic.Pointer[[]*Listener]

	// mu guards the changes of now, which is replaced, never changed in place.
	mu sync.Mutex
}

// Listen implements [Announcer].
func (ls *Listeners) Listen(l Listener) (stop func()) {
	mine := &l
	ls.mu.Lock()
	defer ls.mu.Unlock()
	all := append(slices.Clone(ls.all()), mine)
	ls.now.Store(&all)
	return func() {
		ls.mu.Lock()
		defer ls.mu.Unlock()
		rest := slices.DeleteFunc(slices.Clone(ls.all()), func(other *Listener) bool { return other == mine })
		ls.now.Store(&rest)
	}
}

func (ls *Listeners) all() []*Listener {
	if all := ls.now.Load(); all != nil {
		return *all
	}
	return nil
}

// Appended announces what an append has stored at a time of the store, and what it
// made dirty.
func (ls *Listeners) Appended(appends []Append, appended Appended, at time.Time) {
	all := ls.all()
	if len(all) == 0 {
		return
	}
	for _, l := range all {
		if l.Stored != nil {
			l.Stored(appends, appended, at)
		}
	}
	keys := keySlices.Get().(*[]Key)
	*keys = appendKeys((*keys)[:0], appends, appended)
	ls.Dirty(*keys)
	clear(*keys)
	if cap(*keys) <= keepKeys {
		keySlices.Put(keys)
	}
}

// keySlices has slices to be used again, since no listener keeps the one that it
// gets: announcing was one of eight allocations of an append in memory.
var keySlices = sync.Pool{New: func() any { return new([]Key) }}

// keepKeys bounds a slice that is used again.
const keepKeys = 1024

// AppendedKeys returns the documents that an append made dirty, but for parked
// ones: those to which it added an operation.
func AppendedKeys(appends []Append, appended Appended) []Key {
	return appendKeys(make([]Key, 0, len(appends)), appends, appended)
}

func appendKeys(keys []Key, appends []Append, appended Appended) []Key {
	for i := range appended.Documents {
		d := &appended.Documents[i]
		if !d.Parked && slices.ContainsFunc(d.Operations, func(p Placed) bool { return !p.Duplicate }) {
			keys = append(keys, appends[i].Key)
		}
	}
	return keys
}

// Dirty announces documents that are dirty and not parked.
func (ls *Listeners) Dirty(keys []Key) {
	if len(keys) == 0 {
		return
	}
	for _, l := range ls.all() {
		if l.Dirty != nil {
			l.Dirty(keys)
		}
	}
}

// Committed announces documents whose commits were not stale.
func (ls *Listeners) Committed(keys []Key) {
	if len(keys) == 0 {
		return
	}
	for _, l := range ls.all() {
		if l.Committed != nil {
			l.Committed(keys)
		}
	}
}

// Switched announces that another generation of a collection is served.
func (ls *Listeners) Switched(collection string) {
	for _, l := range ls.all() {
		if l.Switched != nil {
			l.Switched(collection)
		}
	}
}

// Closed announces that the store is being closed.
func (ls *Listeners) Closed() {
	for _, l := range ls.all() {
		if l.Closed != nil {
			l.Closed()
		}
	}
}
