package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

// world is what a store must hold, as its contract says: the model that the tests
// with faults compare it with.
type world struct {
	end         store.Position
	collections map[string]collection
	documents   map[store.Key]document
	forgotten   map[store.Key]bool
	marked      bool // a claim was not released
}

type collection struct {
	version int
	paused  bool
}

type document struct {
	operations []operation
	applied    int64
	view       string
	failure    failure
}

type operation struct {
	id        string
	position  store.Position
	size      int
	discarded bool
}

type failure struct {
	seq, attempts int64
	park          bool
}

func newWorld() world {
	return world{
		collections: make(map[string]collection),
		documents:   make(map[store.Key]document),
		forgotten:   make(map[store.Key]bool),
	}
}

func (w world) clone() world {
	w.collections, w.forgotten = maps.Clone(w.collections), maps.Clone(w.forgotten)
	w.documents = maps.Clone(w.documents)
	for k, d := range w.documents {
		d.operations = slices.Clone(d.operations)
		w.documents[k] = d
	}
	return w
}

// entry is the operation that an id stands for, so that sending it again sends the
// same.
func entry(id string, size int) store.Entry {
	return store.Entry{ID: id, Kind: "k", Body: []byte(strings.Repeat(id+".", max(1, size/(len(id)+1))))}
}

// add appends operations, those that are there already excepted.
func (w *world) add(key store.Key, size int, ids ...string) {
	if w.forgotten[key] {
		return
	}
	if _, ok := w.collections[key.Collection]; !ok {
		w.collections[key.Collection] = collection{}
	}
	d := w.documents[key]
	for _, id := range ids {
		if !slices.ContainsFunc(d.operations, func(op operation) bool { return op.id == id }) {
			w.end++
			d.operations = append(d.operations, operation{id: id, position: w.end, size: len(entry(id, size).Body)})
		}
	}
	w.documents[key] = d
}

// change changes a document that is there.
func (w *world) change(key store.Key, f func(d *document)) {
	if d, ok := w.documents[key]; ok {
		f(&d)
		w.documents[key] = d
	}
}

// fold is the same of what a store returned.
func foldEntries(operations []store.Operation) string {
	view := "-"
	for _, op := range operations {
		if !op.Discarded {
			view += " " + op.ID
		}
	}
	return view
}

// String describes all of it, like look.
func (w world) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, "end", w.end)
	var dirty []string
	for _, name := range slices.Sorted(maps.Keys(w.collections)) {
		c := w.collections[name]
		fmt.Fprintln(&b, "collection", name, c.version, c.paused)
		for _, key := range w.keys(name) {
			d := w.documents[key]
			head := int64(len(d.operations))
			fmt.Fprintln(&b, key, head, d.applied, d.view, d.failure)
			for i, op := range d.operations {
				fmt.Fprintln(&b, "operation", i+1, op.position, op.id, op.size, op.discarded)
				if op.discarded {
					fmt.Fprintln(&b, "on the record")
				}
			}
			if head > d.applied && !d.failure.park && !c.paused {
				dirty = append(dirty, fmt.Sprintf("%09d dirty %s\n", d.operations[d.applied].position, key))
			}
		}
	}
	slices.Sort(dirty)
	return b.String() + strings.Join(dirty, "")
}

func (w world) keys(collection string) []store.Key {
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(w.documents)), func(k store.Key) bool { return k.Collection != collection })
	slices.SortFunc(keys, func(a, b store.Key) int { return cmp.Compare(a.ID, b.ID) })
	return keys
}

// look reads all that a store holds, through its contract, and checks what can be
// checked of it by itself.
func look(ctx context.Context, st store.Backend) (string, error) {
	collections, err := st.Collections(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	end, err := lastPosition(ctx, st)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(&b, "end", end)
	var names []string
	for _, c := range collections {
		if c.Derived {
			if err := lookDerived(ctx, st); err != nil {
				return "", err
			}
			continue
		}
		names = append(names, c.Name)
		fmt.Fprintln(&b, "collection", c.Name, c.Version, c.Paused)
		record := make(map[store.Range]bool) // which operations are discarded
		for d, err := range st.Discards(ctx, c.Name) {
			if err != nil {
				return "", err
			}
			record[store.Range{Key: d.Key, From: d.Seq}] = true
		}
		for d, err := range st.Scan(ctx, c.Name, "", store.WithViews) {
			if err != nil {
				return "", err
			}
			f := failure{}
			if d.Failure != nil {
				f = failure{d.Failure.Seq, int64(d.Failure.Attempts), d.Failure.Park}
			}
			fmt.Fprintln(&b, d.Key, d.Head, d.Applied, string(d.View), f)
			if err := lookAt(ctx, st, d, record, &b); err != nil {
				return "", err
			}
		}
	}
	dirty := 0
	for r, err := range st.Runnable(ctx, names) {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%09d dirty %s\n", r.Since.Position, r.Key)
		dirty++
	}
	for _, c := range collections {
		if c.Derived {
			continue
		}
		n, err := st.Count(ctx, c.Name)
		if err != nil {
			return "", err
		}
		if !c.Paused {
			dirty -= int(n.Dirty)
		}
	}
	if dirty != 0 {
		return "", fmt.Errorf("%w: %d more documents are runnable than are counted as dirty", errWrong, dirty)
	}
	return b.String(), nil
}

// errWrong is the error of an answer that is wrong by itself.
var errWrong = errors.New("the store contradicts itself")

func lookAt(ctx context.Context, st store.Backend, d store.Document, record map[store.Range]bool, b *strings.Builder) error {
	seq, view := int64(0), "-"
	for op, err := range store.ReadOperations(ctx, st, d.Key, 1) {
		if err != nil {
			return err
		}
		if seq++; op.Seq != seq {
			return fmt.Errorf("%w: operation %d of %s follows %d", errWrong, op.Seq, d.Key, seq-1)
		}
		if want := entry(op.ID, len(op.Body)); string(want.Body) != string(op.Body) {
			return fmt.Errorf("%w: operation %d of %s has another body", errWrong, op.Seq, d.Key)
		}
		if seq <= d.Applied && !op.Discarded {
			view += " " + op.ID
		}
		fmt.Fprintln(b, "operation", op.Seq, op.Position, op.ID, len(op.Body), op.Discarded)
		if record[store.Range{Key: d.Key, From: op.Seq}] {
			fmt.Fprintln(b, "on the record")
		}
	}
	if d.Applied > 0 && view != string(d.View) {
		return fmt.Errorf("%w: the view of %s is %q, its operations fold to %q", errWrong, d.Key, d.View, view)
	}
	return nil
}

// lastPosition reads the end of the log from the text of a token.
func lastPosition(ctx context.Context, st store.Backend) (end store.Position, err error) {
	token, err := st.End(ctx)
	if err != nil || token.IsZero() {
		return 0, err
	}
	_, text, _ := strings.Cut(token.String(), ":m")
	_, err = fmt.Sscan(text, &end)
	return end, err
}
