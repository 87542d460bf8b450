package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// background is the context of calls that nobody ends.
var background = context.Background()

// patience is how long a check waits for what must happen soon.
const patience = 30 * time.Second

// modelTime is after how long the models begin no further run.
var modelTime = 3 * time.Second

// fixture is the store of one check, and what checks do with it over and over.
type fixture struct {
	*suite
	*testing.T
	b store.Backend
	// closed tells that the check has closed b and that nothing follows.
	closed bool
	// removed tells that the check has removed documents, so that positions of the
	// log are missing.
	removed bool
}

// key returns the key of a document of the collection notes.
func key(id string) store.Key { return store.Key{Collection: "notes", ID: id} }

// entries returns entries with these bodies and nothing else.
func entries(bodies ...string) []store.Entry {
	all := make([]store.Entry, len(bodies))
	for i, body := range bodies {
		all[i].Body = []byte(body)
	}
	return all
}

// another opens one more store, which shares nothing with f.b.
func (f *fixture) another() store.Backend {
	f.Helper()
	b := f.open(f.T)
	f.closeAtEnd(b)
	return b
}

// closeAtEnd closes a store when the check is over.
func (f *fixture) closeAtEnd(b store.Backend) {
	f.Cleanup(func() {
		if err := b.Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
	})
}

// reopen closes f.b and opens its content again; it skips what cannot be tried.
func (f *fixture) reopen() {
	f.Helper()
	if f.Reopen == nil {
		f.Skip("the backend keeps nothing")
	}
	f.b = f.Reopen(f.T, f.b)
	f.closeAtEnd(f.b)
}

// reopenIfKept closes f.b and opens its content again, if the backend keeps it.
func (f *fixture) reopenIfKept() {
	f.Helper()
	if f.Reopen != nil {
		f.reopen()
	}
}

// append adds operations to one document.
func (f *fixture) append(k store.Key, bodies ...string) store.AppendedDocument {
	f.Helper()
	return f.appendAll(store.Append{Key: k, Entries: entries(bodies...)}).Documents[0]
}

// appendAll is Append, which must succeed.
func (f *fixture) appendAll(appends ...store.Append) store.Appended {
	f.Helper()
	result, err := f.b.Append(background, appends)
	if err != nil {
		f.Fatalf("Append: %v", err)
	}
	if len(result.Documents) != len(appends) {
		f.Fatalf("Append of %d documents returned %d", len(appends), len(result.Documents))
	}
	for i, d := range result.Documents {
		if len(d.Operations) != len(appends[i].Entries) { // #nosec G602 -- the length is checked above
			f.Fatalf("Append of %d entries returned %d", len(appends[i].Entries), len(d.Operations)) // #nosec G602 -- the length is checked above
		}
	}
	return result
}

// refuse is Append, which must fail with target and change nothing.
func (f *fixture) refuse(target error, appends ...store.Append) error {
	f.Helper()
	return f.unchangedBy(target, func() error {
		_, err := f.b.Append(background, appends)
		return err
	})
}

// unchangedBy calls what must fail with target and change nothing.
func (f *fixture) unchangedBy(target error, call func() error) error {
	f.Helper()
	before := contents(f.T, f.b)
	err := call()
	if !errors.Is(err, target) {
		f.Errorf("error is %v, want %v", err, target)
	}
	f.mustContain(before)
	return err
}

// mustContain compares all that is in the store with what contents returned.
func (f *fixture) mustContain(want []string) {
	f.Helper()
	got := contents(f.T, f.b)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			f.Fatalf("the store lost %s", want[i])
		case i >= len(want):
			f.Fatalf("the store has, and should not, %s", got[i])
		case got[i] != want[i]:
			f.Fatalf("the store has\n\t%s\nwant\n\t%s", got[i], want[i])
		}
	}
}

// load returns one document with its view.
func (f *fixture) load(k store.Key) store.Document {
	f.Helper()
	documents, err := f.b.Load(background, []store.Key{k}, store.WithViews)
	if err != nil {
		f.Fatalf("Load: %v", err)
	}
	if len(documents) != 1 {
		f.Fatalf("Load of 1 document returned %d", len(documents))
	}
	if documents[0].Key != k {
		f.Fatalf("Load of %s returned %s", k, documents[0].Key)
	}
	return documents[0]
}

// operations returns all operations of one document.
func (f *fixture) operations(k store.Key) []store.Operation {
	f.Helper()
	return collect(f.T, store.ReadOperations(background, f.b, k, 1))
}

// commit is Commit, which must succeed.
func (f *fixture) commit(commits ...store.Commit) []store.Outcome {
	f.Helper()
	outcomes, err := f.b.Commit(background, commits)
	if err != nil {
		f.Fatalf("Commit: %v", err)
	}
	if len(outcomes) != len(commits) {
		f.Fatalf("Commit of %d documents returned %d outcomes", len(commits), len(outcomes))
	}
	return outcomes
}

// mustCommit is commit of one document with the expected outcome.
func (f *fixture) mustCommit(want store.Outcome, c store.Commit) {
	f.Helper()
	if got := f.commit(c)[0]; got != want {
		f.Fatalf("Commit of %s is %s, want %s", c.Key, got, want)
	}
}

// fold commits the view of all operations up to applied, over what is loaded.
func (f *fixture) fold(k store.Key, applied int64) store.Outcome {
	f.Helper()
	d := f.load(k)
	return f.commit(store.Commit{Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: applied, View: viewOf(applied)})[0]
}

// park commits a failure for good at the first operation that the view lacks.
func (f *fixture) park(k store.Key) {
	f.Helper()
	d := f.load(k)
	f.mustCommit(store.StillDirty, store.Commit{
		Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Applied,
		Failure: &store.Failure{Seq: d.Applied + 1, Attempts: 7, Error: "broken", Stack: "main.fold", Park: true},
	})
}

// viewOf returns the view that fold stores.
func viewOf(applied int64) []byte { return fmt.Appendf(nil, "view of %d", applied) }

// runnable returns the runnable documents of collections, by default of notes.
func (f *fixture) runnable(collections ...string) []store.Runnable {
	f.Helper()
	if len(collections) == 0 {
		collections = []string{"notes"}
	}
	return collect(f.T, f.b.Runnable(background, collections))
}

// mustRun compares the ids of the runnable notes, in order, with the wanted ones.
func (f *fixture) mustRun(want ...string) {
	f.Helper()
	var got []string
	for _, r := range f.runnable() {
		got = append(got, r.Key.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("runnable are %q, want %q", got, want)
	}
}

// end returns the token of all that is in the log.
func (f *fixture) end() store.Token {
	f.Helper()
	token, err := f.b.End(background)
	if err != nil {
		f.Fatalf("End: %v", err)
	}
	return token
}

// forget is Forget, which must succeed.
func (f *fixture) forget(k store.Key) {
	f.Helper()
	f.removed = true
	if err := f.b.Forget(background, k); err != nil {
		f.Fatalf("Forget %s: %v", k, err)
	}
}

// drop is Drop, which must succeed.
func (f *fixture) drop(collection string) {
	f.Helper()
	f.removed = true
	if err := f.b.Drop(background, collection); err != nil {
		f.Fatalf("Drop %s: %v", collection, err)
	}
}

// pause is Pause, which must succeed.
func (f *fixture) pause(collection string, paused bool) {
	f.Helper()
	if err := f.b.Pause(background, collection, paused); err != nil {
		f.Fatalf("Pause %s %t: %v", collection, paused, err)
	}
}

// discard is Discard, which must succeed.
func (f *fixture) discard(k store.Key, seq int64) {
	f.Helper()
	if err := f.b.Discard(background, discardOf(k, seq)); err != nil {
		f.Fatalf("Discard %d of %s: %v", seq, k, err)
	}
}

func discardOf(k store.Key, seq int64) store.Discard {
	return store.Discard{Key: k, Seq: seq, By: "ann", Why: fmt.Sprint("broken by release ", seq)}
}

// small returns the smaller size with -short.
func small(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}
