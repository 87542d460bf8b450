package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/refold-go/refold/store"
)

// model is what the store must hold: the log, and what of it is in the views.
type model struct {
	end  store.Position
	docs map[store.Key]*modelDoc
}

type modelDoc struct {
	ops     []modelOp
	ids     map[string]int64
	applied int64
	parked  bool
	// views has the view after each operation, the first one that before them all.
	views []state
}

type modelOp struct {
	id, body string
	position store.Position
}

// state is the view of a simulated document.
type state struct {
	N   int64  `json:"n"`
	Sum uint64 `json:"sum"`
}

// next is the fold, without its faults.
func (s state) next(seq int64, id string, body []byte) state {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %q %s", s.Sum, seq, id, body)
	return state{s.N + 1, h.Sum64()}
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
			op, seq := modelOp{e.ID, string(e.Body), next}, head
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

// commit says what must become of a commit, and makes it so. The epoch is left to
// the store: nothing here changes it.
func (m *model) commit(c *store.Commit) (want store.Outcome, do func()) {
	d := m.doc(c.Key)
	if d.head() == 0 || d.parked || d.applied != c.Loaded {
		return store.Stale, func() {}
	}
	do = func() {
		d.applied = c.Applied
		d.parked = c.Failure != nil && c.Failure.Park
	}
	if c.Applied < d.head() {
		return store.StillDirty, do
	}
	return store.Done, do
}
