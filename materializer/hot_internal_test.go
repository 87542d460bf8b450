package materializer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// What a run gets from hot must be what it would have read, whatever an entry has.
func TestHotHasWhatTheStoreHas(t *testing.T) {
	onDisk, err := sqlite.Open(filepath.Join(t.TempDir(), "hot.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]store.Backend{"memory": memory.New(nil), "sqlite": onDisk} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { st.Close() })
			if err := st.Register(t.Context(), "notes", 3); err != nil {
				t.Fatal(err)
			}
			h, r, ctx := newHot(1<<20), rand.New(rand.NewPCG(1, 1)), context.Background()
			defer st.Listen(store.Listener{Stored: func(a []store.Append, at store.Appended, t time.Time) { h.appended(asNamed, a, at, t) }})()
			taken := 0
			for i := range 300 {
				k := store.Key{Collection: "notes", ID: fmt.Sprint(r.IntN(3))}
				entries := make([]store.Entry, 1+r.IntN(3))
				for j := range entries {
					entries[j] = randomEntry(r, i, j)
				}
				body := entries[0].Body
				if _, err := st.Append(ctx, []store.Append{{Key: k, History: r.IntN(4) == 0, Entries: entries}}); err != nil {
					t.Fatal(err)
				}
				clear(body) // the caller may
				if r.IntN(2) == 0 {
					continue
				}
				docs, err := st.Load(ctx, []store.Key{k}, store.WithViews)
				if err != nil {
					t.Fatal(err)
				}
				ops, err := st.Operations(ctx, []store.Range{{Key: k, From: docs[0].Applied + 1}}, store.Budget{})
				if err != nil {
					t.Fatal(err)
				}
				if doc, hotOps, ok := h.take(k); ok {
					taken++
					doc.Last = docs[0].Last // no run looks at it
					if !reflect.DeepEqual(doc, docs[0]) || !reflect.DeepEqual(hotOps, ops[0]) {
						t.Fatalf("hot has\n%+v\n%+v, the store\n%+v\n%+v", doc, hotOps, docs[0], ops[0])
					}
				}
				if _, _, ok := h.take(k); ok {
					t.Fatal("taken twice")
				}
				c := store.Commit{Key: k, Loaded: docs[0].Applied, Epoch: docs[0].Epoch, Applied: docs[0].Head - int64(r.IntN(len(ops[0]))), Deleted: r.IntN(5) == 0}
				if !c.Deleted {
					c.View = fmt.Append(nil, "view ", i)
				}
				if _, err := st.Commit(ctx, []store.Commit{c}); err != nil {
					t.Fatal(err)
				}
				docs[0].Applied, docs[0].View, docs[0].Deleted = c.Applied, c.View, c.Deleted
				h.put(&docs[0])
			}
			if taken < 50 {
				t.Errorf("only %d documents were hot", taken)
			}
		})
	}
}

func randomEntry(r *rand.Rand, i, j int) store.Entry {
	e := store.Entry{Kind: fmt.Sprint("kind", r.IntN(2)), Body: fmt.Append(nil, "body", i, j)}
	if r.IntN(2) == 0 {
		e.ID = fmt.Sprint(i-r.IntN(2), "-", j)
		e.Kind, e.Body = "", []byte("same") // so that a duplicate is one
	}
	if r.IntN(3) == 0 {
		e.Time = time.Unix(r.Int64N(1e9), r.Int64N(1e9)).In(time.FixedZone("there", 3600))
	}
	if r.IntN(3) == 0 {
		e.Meta = fmt.Append(nil, "meta", j)
	}
	return e
}

// Operations that were told in another order, or not at all, are no run's.
// asNamed has a collection of which the runs are called as what is appended.
var asNamed = &registry{named: map[string][]*collection{"notes": {{own: "notes"}}}}

func TestHotKnowsOfGaps(t *testing.T) {
	k := store.Key{Collection: "notes", ID: "a"}
	tell := func(h *hot, seq int64) {
		h.appended(asNamed, []store.Append{{Key: k, Entries: []store.Entry{{Body: []byte("x")}}}},
			store.Appended{Documents: []store.AppendedDocument{{Operations: []store.Placed{{Seq: seq, Position: store.Position(seq)}}}}}, time.Unix(seq, 0))
	}
	for _, row := range []struct {
		name string
		told []int64
		want int64 // operations; 0 is none
	}{
		{"nothing", nil, 0},
		{"the next", []int64{3}, 1},
		{"two in another order", []int64{4, 3}, 2},
		{"one twice", []int64{3, 3}, 1},
		{"not the next", []int64{4}, 0},
		{"a gap behind", []int64{3, 5}, 0},
		{"a gap that is filled", []int64{3, 5, 4}, 3},
		{"what the view has", []int64{1, 2}, 0},
		{"also what the view has", []int64{2, 3}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newHot(1 << 20)
			tell(h, 1) // nobody knows the document yet
			h.put(&store.Document{Key: k, Applied: 2, Epoch: 7, View: []byte("view")})
			for _, seq := range row.told {
				tell(h, seq)
			}
			doc, ops, ok := h.take(k)
			if ok != (row.want > 0) || int64(len(ops)) != row.want {
				t.Fatalf("%d operations, %v, want %d", len(ops), ok, row.want)
			}
			if ok && (doc.Head != 2+row.want || doc.Applied != 2 || doc.Epoch != 7 || doc.Since.Position != 3 || doc.Since.Time.Unix() != 3) {
				t.Errorf("%+v", doc)
			}
		})
	}
}

func TestHotIsBounded(t *testing.T) {
	const limit = 256 << 10
	h, r := newHot(2*hotShare*limit), rand.New(rand.NewPCG(2, 2))
	for i := range 20_000 {
		k := store.Key{Collection: "notes", ID: fmt.Sprint(r.IntN(5000))}
		switch r.IntN(4) {
		case 0:
			h.put(&store.Document{Key: k, Applied: 1, View: make([]byte, r.IntN(2*hotDocument/(1+r.IntN(100))))})
		case 1:
			h.take(k)
		default:
			h.appended(asNamed, []store.Append{{Key: k, Entries: []store.Entry{{Body: make([]byte, r.IntN(2000))}}}},
				store.Appended{Documents: []store.AppendedDocument{{Operations: []store.Placed{{Seq: int64(i)}}}}}, time.Now())
		}
		if i%100 > 0 {
			continue
		}
		sum := int64(0)
		for _, w := range h.young {
			counted := int64(hotOverhead + len(w.view))
			for _, op := range w.ops {
				counted += hotOverhead + int64(len(op.Body))
			}
			if counted != w.bytes || counted > 2*hotDocument {
				t.Fatalf("%d bytes of a document are counted as %d", counted, w.bytes)
			}
			sum += counted
		}
		if sum != h.bytes || sum > limit {
			t.Fatalf("%d bytes, counted as %d, want at most %d", sum, h.bytes, limit)
		}
	}
	h.turn()
	h.turn()
	if n := len(h.young) + len(h.old); n != 0 || h.bytes != 0 {
		t.Errorf("%d documents of %d bytes are kept that nobody uses", n, h.bytes)
	}
}
