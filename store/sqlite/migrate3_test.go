package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/refold-go/refold/store"
)

// version2 makes a file that version 2 of the schema had left: with a document in
// each state, collections that are paused, not registered, made again after a drop
// and half dropped, a document half erased, and the mark of a claim.
func version2(t *testing.T) (path string) {
	t.Helper()
	sql, err := os.ReadFile(filepath.Join("testdata", "version2.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "store.db")
	database(t, path, string(sql))
	return path
}

func TestMigrationFromVersion2(t *testing.T) {
	s := open(t, version2(t), nil)
	ctx := t.Context()
	eventually(t, "the end of erasing", func() bool {
		return count(t, s, "refold_collections") == 3 && count(t, s, "refold_documents") == 8
	})
	if n := count(t, s, "refold_generations"); n != 3 {
		t.Errorf("%d generations of 3 collections", n)
	}
	for name, want := range map[string][]string{
		"notes": {"clean 1 of 1 view of 1 at 0", "deleted 1 of 1  at 0 deleted", "discarded 0 of 2  at 10", "half 2 of 3 view of 2 at 4",
			"parked 1 of 2 good at 8 failed 7 times", "waiting 0 of 1  at 9 failed 2 times"},
		"notes@3": {"clean 1 of 1 view of 1 at 0", "deleted 1 of 1  at 0 deleted", "discarded 0 of 2  at 10", "half 2 of 3 view of 2 at 4",
			"parked 1 of 2 good at 8 failed 7 times", "waiting 0 of 1  at 9 failed 2 times"},
		"old":   {"y 0 of 2  at 13"},
		"tasks": {"t 0 of 1  at 15"},
		"gone":  nil,
	} {
		var got []string
		for d, err := range s.Scan(ctx, name, "", store.WithViews) {
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("%s %d of %d %s at %d", d.Key.ID, d.Applied, d.Head, d.View, d.Since.Position)
			if d.Deleted {
				line += " deleted"
			}
			if d.Failure != nil {
				line += fmt.Sprintf(" failed %d times", d.Failure.Attempts)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%q, want\n%q", name, got, want)
		}
	}
	var runnable []string
	for r, err := range s.Runnable(ctx, []string{"notes", "old", "tasks"}) {
		if err != nil {
			t.Fatal(err)
		}
		runnable = append(runnable, r.Key.ID)
	}
	if want := []string{"half", "waiting", "discarded", "y"}; !slices.Equal(runnable, want) {
		t.Errorf("runnable are %q, want %q", runnable, want)
	}
	collections, err := s.Collections(ctx)
	if want := "[{notes 3 false 0s false []} {old 0 false 0s false []} {tasks 0 true 0s false []}]"; err != nil || fmt.Sprint(collections) != want {
		t.Errorf("collections are %v, %v, want %s", collections, err, want)
	}
	for _, id := range []string{"forgotten", "erased"} {
		if yes, err := s.Forgotten(ctx, key(id)); err != nil || !yes {
			t.Errorf("%s is forgotten: %t, %v", id, yes, err)
		}
	}
	if claim, err := s.Claim(ctx); err != nil || !claim.Unclean {
		t.Errorf("the claim is %+v, %v, want an unclean one", claim, err)
	}
	var changed []string
	for c, err := range s.Changes(ctx, "notes", store.NewCursor(s.incarnation, 2), store.WithoutViews) {
		if err != nil {
			t.Fatal(err)
		}
		changed = append(changed, c.Document.Key.ID)
	}
	if want := []string{"deleted", "parked"}; !slices.Equal(changed, want) {
		t.Errorf("after the second change %q changed, want %q", changed, want)
	}
	if err := s.Register(ctx, "tasks", 4); err != nil {
		t.Fatal(err)
	}
	if docs, err := s.Load(ctx, []store.Key{{Collection: "tasks@4", ID: "t"}}, store.WithoutViews); err != nil || docs[0].Version != 4 {
		t.Errorf("the task at its version is %+v, %v", docs, err)
	}
}

// Epochs that were given before are below all that are given from now on.
func TestMigrationRaisesEpochs(t *testing.T) {
	s := open(t, version2(t), nil)
	ctx := t.Context()
	old := store.Key{Collection: "old", ID: "y"}
	epoch := func() int64 {
		t.Helper()
		docs, err := s.Load(ctx, []store.Key{old}, store.WithoutViews)
		if err != nil {
			t.Fatal(err)
		}
		return docs[0].Epoch
	}
	const drops = 1 // in the file, before the collection was made
	before := epoch()
	if before != drops<<32+1 {
		t.Fatalf("the epoch in the file is %d", before)
	}
	if err := s.Discard(ctx, store.Discard{Key: old, Seq: 1, By: "ann", Why: "wrong"}); err != nil {
		t.Fatal(err)
	}
	discarded := epoch()
	if discarded <= (drops+1)<<32 {
		t.Errorf("after a discard the epoch is %d, and was %d", discarded, before)
	}
	if err := s.Drop(ctx, "old"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, []store.Append{{Key: old, Entries: one("y", "1")[0].Entries}}); err != nil {
		t.Fatal(err)
	}
	if again := epoch(); again <= discarded {
		t.Errorf("in a new collection the epoch is %d, and was %d in the dropped one", again, discarded)
	}
}

// A file of now and one that was migrated have the same tables and indexes.
func TestMigratedIsLikeFresh(t *testing.T) {
	path := version2(t)
	open(t, path, nil).Close()
	migrated, err := openConn("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer migrated.close()
	if same, err := hasShape(migrated, schema); err != nil || !same {
		t.Errorf("a migrated file has the shape of a fresh one: %t, %v", same, err)
	}
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	d := load(t, s, "a")
	if _, err := s.Commit(t.Context(), []store.Commit{{Key: d.Key, Applied: 1}}); err != nil {
		t.Fatal(err)
	}
	if last, err := s.LastChange(t.Context()); err != nil || last != store.NewCursor(s.incarnation, 1) || d.Epoch != 0 {
		t.Errorf("in a fresh file the first change is %s, %v, and the first epoch %d", last, err, d.Epoch)
	}
}

// AppendTx cannot be repeated with a sync, so an append gives no numbers of changes,
// whatever it makes.
func TestAppendsGiveNoNumbersOfChanges(t *testing.T) {
	s := fresh(t, nil)
	ctx := t.Context()
	mustAppend(t, s, one("a", "1"))
	if err := s.Drop(ctx, "notes"); err != nil {
		t.Fatal(err)
	}
	before, err := s.LastChange(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		mustAppend(t, s, one("a", "1", "2"))
		mustAppend(t, s, one("b", "1"))
	}
	if after, err := s.LastChange(ctx); err != nil || after != before {
		t.Errorf("the last change was %s and is %s, %v", before, after, err)
	}
	if d := load(t, s, "b"); store.NewCursor(s.incarnation, d.Epoch) != before {
		t.Errorf("the epoch is %d, want that of the drop, %s", d.Epoch, before)
	}
}
