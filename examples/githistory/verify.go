package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/refold-go/refold/materializer"
)

// verifier folds all again in memory and compares. A document is right if its
// view equals the fold of all its stored operations, and if these are all that
// were read: where the document has no others, and is not parked, its view equals the fold of what
// was read as well. What was read is kept, a view for each document. The views by author and
// by folder are right if they are the sums of what the files' operations make.
type verifier struct {
	files      *materializer.Collection[File, Change]
	read       map[string]*expected
	commits    map[string]struct{} // so that one that is listed twice counts once
	authors    map[string]Author   // what the files make together
	folders    map[string]Folder
	wrong      []string // the first differences
	mismatches int
}

// expected is what was read of one document.
type expected struct {
	operations int64
	state      File
}

const differencesShown = 10

func newVerifier(files *materializer.Collection[File, Change]) *verifier {
	return &verifier{
		files: files, read: make(map[string]*expected), commits: make(map[string]struct{}),
		authors: make(map[string]Author), folders: make(map[string]Folder),
	}
}

// expect notes what was read of a commit.
func (v *verifier) expect(b batch) error {
	if _, again := v.commits[b.commit]; again {
		return nil
	}
	v.commits[b.commit] = struct{}{}
	for _, d := range b.documents {
		e := v.read[d.id]
		if e == nil {
			e = new(expected)
			v.read[d.id] = e
		}
		for _, op := range d.operations {
			var err error
			e.operations++
			e.state, err = fold(e.state, materializer.Operation[Change]{Document: d.id, ID: op.ID, Time: op.Time, Body: op.Body})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// check compares the view of one document; that of a parked one with the fold of
// the operations that it says to contain.
func (v *verifier) check(ctx context.Context, view materializer.View[File]) error {
	id, state, applied := view.ID, view.State, view.Applied
	var again File
	n := int64(0)
	for op, err := range v.files.Operations(ctx, id, 1) {
		if err != nil {
			return err
		}
		n++
		if op.Seq != n {
			v.differ("%s: operation %d has seq %d", printable(id), n, op.Seq)
			return nil
		}
		if view.Parked && n > applied {
			continue
		}
		if again, err = fold(again, op); err != nil {
			return fmt.Errorf("operation %d of %s: %w", n, id, err)
		}
	}
	v.add(id, again)
	e := v.read[id]
	delete(v.read, id)
	switch {
	case applied > n || applied < n && !view.Parked:
		v.differ("%s: the view has %d of %s", printable(id), applied, count(n, "operation"))
	case !state.equal(again):
		v.differ("%s: the view is %s, its operations make %s", printable(id), text(state), text(again))
	case e != nil && e.operations > n:
		v.differ("%s: %s stored, %d read", printable(id), count(n, "operation"), e.operations)
	case e != nil && e.operations == n && applied == n && !state.equal(e.state):
		v.differ("%s: the view is %s, what was read makes %s", printable(id), text(state), text(e.state))
	}
	return nil
}

// add counts a file, as its operations make it, with its authors and its folder.
func (v *verifier) add(id string, f File) {
	if f.Changes == 0 {
		return // it is parked at its first operation, and has no view
	}
	for author, changes := range f.Authors {
		a := v.authors[authorID(author)]
		a.Files++
		a.Changes += changes
		v.authors[authorID(author)] = a
	}
	in := v.folders[topFolder(id)]
	in.Files++
	in.Changes += f.Changes
	in.Added += f.Added
	in.Deleted += f.Deleted
	v.folders[topFolder(id)] = in
}

// checkDerived compares a derived collection with what the files make, when all of these
// were checked, and returns how many documents it has.
func checkDerived[V comparable](ctx context.Context, v *verifier, views *materializer.Derived[V], want map[string]V) (n int, err error) {
	for view, err := range views.All(ctx) {
		if err != nil {
			return n, err
		}
		n++
		if w, ok := want[view.ID]; !ok || view.State != w {
			v.differ("%s %s: the view is %s, the files make %s", views.Name(), printable(view.ID), text(view.State), text(w))
		}
		delete(want, view.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		v.differ("%s %s: no document, the files make %s", views.Name(), printable(id), text(want[id]))
	}
	return n, nil
}

// finish adds what was read and is not stored at all.
func (v *verifier) finish() {
	for _, id := range slices.Sorted(maps.Keys(v.read)) {
		v.differ("%s: no document, %s read", printable(id), count(v.read[id].operations, "operation"))
	}
}

func (v *verifier) differ(format string, args ...any) {
	v.mismatches++
	if len(v.wrong) < differencesShown {
		v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
	}
}

func text(state any) string {
	b, err := json.Marshal(state)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
