package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// model is what the store must hold: the log, what of it is in the views, and who
// has which document.
type model struct {
	end store.Position
	// contents are the documents of the plain collection by id, docs the rows of all
	// collections by generation and id.
	contents    map[string]*content
	docs        map[store.Key]*modelDoc
	collections map[string]*modelCollection
	paused      bool
	registered  bool  // somebody has registered the plain collection
	changes     int64 // of views
}

// content is what all generations have of a document.
type content struct {
	ops []modelOp
	ids map[string]int64
	// views has, by version, the view after each operation, as far as somebody asked;
	// the first one is that before them all.
	views     map[int][]state
	forgotten bool
}

// modelDoc is a document in one generation.
type modelDoc struct {
	*content
	key     store.Key // with the version
	version int
	// made tells that it is made from others or of a mapping: its head is what the store
	// says, and it has no operations.
	made     bool
	told     int64 // the head of such a document
	round    store.Round
	exists   bool // is in the store
	applied  int64
	parked   bool
	parkedAt int64 // the operation
	// changed is the number of the last change of the view, counted by the model.
	changed int64
	// epoch is that which a commit needs, top the greatest that there ever was, also
	// before a power cut.
	epoch, top int64
	lease      modelLease
}

// modelLease is who has a document; the zero value is nobody.
type modelLease struct {
	holder string
	by     *process
	taken  time.Time
	until  time.Time
}

type modelOp struct {
	id, body  string
	position  store.Position
	discarded bool
}

// state is the view of a simulated document.
type state struct {
	N   int64  `json:"n"` // the last operation that was not passed over
	Sum uint64 `json:"sum"`
	// V is the version of the fold, 0 for the first.
	V int `json:"v,omitempty"`
}

// next is the fold of a version, without its faults. It deletes if that is asked for.
func (s state) next(version int, seq int64, id string, body []byte) state {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %q %s", s.Sum, seq, id, body)
	next := state{N: seq, Sum: h.Sum64()}
	if version > 1 {
		next.V, next.Sum = version, next.Sum+uint64(version)
	}
	return next
}

// deletes reports whether an operation with this body deletes its document.
func deletes(body string) bool { return strings.HasSuffix(body, `"delete":true}`) }

func newModel() *model {
	return &model{contents: make(map[string]*content), docs: make(map[store.Key]*modelDoc), collections: map[string]*modelCollection{collection: {served: 1, unfilled: make(map[int]bool)}}}
}

// doc returns the row that a key means.
func (m *model) doc(k store.Key) *modelDoc {
	n := m.generation(k.Collection)
	k.Collection = n.String()
	d := m.docs[k]
	if d == nil {
		d = &modelDoc{key: k, version: n.Version, made: n.Name != collection || n.Source != ""}
		if !d.made {
			d.content = m.content(k.ID)
		}
		m.docs[k] = d
	}
	return d
}

func (m *model) content(id string) *content {
	c := m.contents[id]
	if c == nil {
		c = &content{ids: make(map[string]int64), views: make(map[int][]state)}
		m.contents[id] = c
	}
	return c
}

func (d *modelDoc) head() int64 {
	switch {
	case d.made:
		return d.told
	case !d.exists:
		return 0
	}
	return int64(len(d.ops))
}

// state returns the view that a version has after so many operations: the zero state if
// it is deleted then.
func (c *content) state(version int, applied int64) state {
	views := c.views[version]
	if len(views) == 0 {
		views = make([]state, 1, len(c.ops)+1)
	}
	for i := len(views); int64(i) <= applied; i++ {
		op, before := &c.ops[i-1], views[i-1]
		switch {
		case op.discarded:
			views = append(views, before)
		case deletes(op.body):
			views = append(views, state{})
		default:
			views = append(views, before.next(version, int64(i), op.id, []byte(op.body)))
		}
	}
	c.views[version] = views
	return views[applied]
}

// state returns the view after so many operations.
func (d *modelDoc) state(applied int64) state { return d.content.state(d.version, applied) }

// view returns the encoded view after so many operations; nil if it is deleted then.
func (d *modelDoc) view(applied int64) []byte {
	if applied == 0 || d.gone(applied) {
		return nil
	}
	b, _ := json.Marshal(d.state(applied))
	return b
}

// gone reports whether the last of the first operations that was not passed over deletes
// the document.
func (c *content) gone(applied int64) bool {
	for i := applied; i > 0; i-- {
		if op := &c.ops[i-1]; !op.discarded {
			return deletes(op.body)
		}
	}
	return false
}

// plan says what an append must answer, and returns what makes it so.
func (m *model) plan(appends []store.Append) (want store.Appended, do func(), err error) {
	next := m.end
	want.Documents = make([]store.AppendedDocument, len(appends))
	var stores []func()
	for i := range appends {
		a := &appends[i]
		d := m.doc(a.Key)
		if d.forgotten {
			return want, nil, store.ErrForgotten
		}
		head, fresh := d.head(), false
		batch := make(map[string]int)
		placed := make([]store.Placed, len(a.Entries))
		for j := range a.Entries {
			e := &a.Entries[j]
			if seq, ok := d.ids[e.ID]; ok && e.ID != "" {
				if d.ops[seq-1].body != string(e.Body) {
					return want, nil, store.ErrIDReused
				}
				placed[j] = store.Placed{Seq: seq, Position: d.ops[seq-1].position, Duplicate: true}
				continue
			}
			if first, ok := batch[e.ID]; ok && e.ID != "" {
				if !bytes.Equal(a.Entries[first].Body, e.Body) {
					return want, nil, store.ErrIDReused
				}
				placed[j] = placed[first]
				placed[j].Duplicate = true
				continue
			}
			batch[e.ID] = j
			head++
			next++
			fresh = true
			placed[j] = store.Placed{Seq: head, Position: next}
			op, seq := modelOp{id: e.ID, body: string(e.Body), position: next}, head
			stores = append(stores, func() {
				d.exists = d.exists || d.version == 1
				d.ops = append(d.ops, op)
				if op.id != "" {
					d.ids[op.id] = seq
				}
			})
		}
		if a.Head != nil && fresh && *a.Head != d.head() {
			return want, nil, store.ErrConflict
		}
		want.Documents[i] = store.AppendedDocument{Head: head, Parked: d.parked, Operations: placed}
	}
	return want, func() {
		for _, f := range stores {
			f()
		}
		m.end = next
	}, nil
}

// sameAppended returns how an answer differs from the one that was expected.
func sameAppended(got store.Appended, err error, want store.Appended, wantErr error) error {
	if !errors.Is(err, wantErr) || wantErr == nil && err != nil {
		return fmt.Errorf("append said %v, want %v", err, wantErr)
	}
	if err != nil {
		return nil
	}
	for i := range want.Documents {
		w, g := want.Documents[i], got.Documents[i]
		if w.Head != g.Head || w.Parked != g.Parked || !slices.Equal(w.Operations, g.Operations) {
			return fmt.Errorf("append of document %d gave %+v, want %+v", i, g, w)
		}
	}
	return nil
}

// commit says what must become of a commit, and returns what makes it so. What becomes of
// a document that is made from others is a matter of what its sources tell it meanwhile:
// see [shared.made].
func (m *model) commit(c *store.Commit) (want store.Outcome, do func()) {
	d := m.doc(c.Key)
	if d.stale(c) {
		return store.Stale, func() {}
	}
	do = func() {
		d.parked = c.Failure != nil && c.Failure.Park
		if d.parked {
			d.parkedAt = c.Failure.Seq
		}
		if d.parked || c.Applied > d.applied {
			m.changes++
			d.changed = m.changes
		}
		if !d.made {
			d.applied = c.Applied
		}
		d.settleLease(c)
	}
	if c.Applied < d.head() {
		return store.StillDirty, do
	}
	return store.Done, do
}

func (d *modelDoc) stale(c *store.Commit) bool {
	return d.head() == 0 || d.parked || d.applied != c.Loaded || d.epoch != c.Epoch || d.otherRound(c)
}

// settleLease is what becomes of the lease by a commit.
func (d *modelDoc) settleLease(c *store.Commit) {
	if c.Keep != nil && d.lease.holder != "" && d.dirty() && !d.parked {
		d.lease.lengthen(*c.Keep)
	} else {
		d.lease = modelLease{}
	}
}

func (d *modelDoc) dirty() bool { return d.applied < d.head() }

// leasable says what must become of the wish for a document that has to wait for
// so long.
func (m *model) leasable(k store.Key, wait time.Duration, holder string, over bool) store.NotLeased {
	d := m.doc(k)
	switch {
	case m.heldBack(d), !d.dirty(), d.parked:
		return store.NotRunnable
	case wait > 0:
		return store.Waiting
	case d.lease.holder == "", d.lease.holder == holder:
		return store.Taken
	case d.lease.held():
		return store.Elsewhere
	case !over:
		return store.LeftBehind
	}
	return store.Taken
}

// held reports whether somebody has it whose lease has not run out.
func (l *modelLease) held() bool { return l.holder != "" && l.until.After(time.Now()) }

func (l *modelLease) lengthen(terms store.LeaseTerms) {
	l.until = time.Now().Add(terms.For)
	if most := l.taken.Add(terms.Most); most.Before(l.until) {
		l.until = most
	}
}
