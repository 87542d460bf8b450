package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// model is what the store must hold: the log, what of it is in the views, and who
// has which document.
type model struct {
	end     store.Position
	docs    map[store.Key]*modelDoc
	paused  bool
	changes int64 // of views
}

type modelDoc struct {
	ops      []modelOp
	ids      map[string]int64
	applied  int64
	parked   bool
	parkedAt int64 // the operation
	// views has the view after each operation, the first one that before them all.
	views     []state
	forgotten bool
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
}

// next is the fold, without its faults.
func (s state) next(seq int64, id string, body []byte) state {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %q %s", s.Sum, seq, id, body)
	return state{seq, h.Sum64()}
}

func newModel() *model { return &model{docs: make(map[store.Key]*modelDoc)} }

func (m *model) doc(k store.Key) *modelDoc {
	k = key(k.ID) // one generation is all there is, and runs call it by its version
	d := m.docs[k]
	if d == nil {
		d = &modelDoc{ids: make(map[string]int64), views: make([]state, 1)}
		m.docs[k] = d
	}
	return d
}

func (d *modelDoc) head() int64 { return int64(len(d.ops)) }

// view returns the encoded view after so many operations.
func (d *modelDoc) view(applied int64) []byte {
	if applied == 0 {
		return nil
	}
	b, _ := json.Marshal(d.views[applied])
	return b
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
				d.ops = append(d.ops, op)
				d.views = append(d.views, d.views[len(d.views)-1].next(seq, op.id, []byte(op.body)))
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

// commit says what must become of a commit, and returns what makes it so.
func (m *model) commit(c *store.Commit) (want store.Outcome, do func()) {
	d := m.doc(c.Key)
	if d.head() == 0 || d.parked || d.applied != c.Loaded || d.epoch != c.Epoch {
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
		d.applied = c.Applied
		if c.Keep != nil && d.lease.holder != "" && d.dirty() && !d.parked {
			d.lease.lengthen(*c.Keep)
		} else {
			d.lease = modelLease{}
		}
	}
	if c.Applied < d.head() {
		return store.StillDirty, do
	}
	return store.Done, do
}

func (d *modelDoc) dirty() bool { return d.applied < d.head() }

// discard marks an operation, which the view must lack.
func (d *modelDoc) discard(seq int64) {
	d.ops[seq-1].discarded = true
	d.lease = modelLease{}
	if d.parked && d.parkedAt == seq {
		d.parked = false
	}
	for i := seq; i <= d.head(); i++ {
		op, before := d.ops[i-1], d.views[i-1]
		if d.views[i] = before; !op.discarded {
			d.views[i] = before.next(i, op.id, []byte(op.body))
		}
	}
}

// leasable says what must become of the wish for a document that has to wait for
// so long.
func (m *model) leasable(k store.Key, wait time.Duration, holder string, over bool) store.NotLeased {
	d := m.doc(k)
	switch {
	case m.paused, !d.dirty(), d.parked:
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
