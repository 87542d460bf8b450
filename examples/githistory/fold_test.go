package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

func change(at int64, author string, added, deleted int64) materializer.Operation[Change] {
	return materializer.Operation[Change]{
		Time: time.Unix(at, 0),
		Body: Change{Author: author, Added: added, Deleted: deleted, Binary: added+deleted == 0},
	}
}

func foldAll(t *testing.T, ops []materializer.Operation[Change]) (f File) {
	t.Helper()
	for _, op := range ops {
		var err error
		if f, err = fold(f, op); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestFoldInAnyOrder checks what the example rests on: the order of appending
// cannot be seen in a view, nor where it was stored in between.
func TestFoldInAnyOrder(t *testing.T) {
	ops := []materializer.Operation[Change]{
		change(100, "a", 5, 2), change(-7, "b", 0, 0), change(300, "a", 1, 8), change(200, "c", 3, 3), change(0, "b", 9, 0),
	}
	want := File{
		Changes: 5, Added: 18, Deleted: 13, Authors: map[string]int64{"a": 2, "b": 2, "c": 1},
		First: -7, Last: 300, Largest: 9,
	}
	for range 50 {
		rand.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		if got := foldAll(t, ops); !got.equal(want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		half := foldAll(t, ops[:2])
		stored, err := json.Marshal(half)
		if err != nil {
			t.Fatal(err)
		}
		var back File
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
		for _, op := range ops[2:] {
			back, _ = fold(back, op)
		}
		if !back.equal(want) {
			t.Fatalf("stored in between: %+v, want %+v", back, want)
		}
	}
}

func TestOperationTime(t *testing.T) {
	for unix, want := range map[int64]string{
		0:          "1970-01-01T00:00:00Z",
		-1:         "1969-12-31T23:59:59Z",
		1263926168: "2010-01-19T18:36:08Z",
		1 << 62:    "2262-04-11T23:47:16Z",
		-1 << 62:   "1677-09-21T00:12:44Z",
	} {
		if got := operationTime(unix).Format(time.RFC3339); got != want {
			t.Errorf("operationTime(%d) = %s, want %s", unix, got, want)
		}
	}
}

func TestDocuments(t *testing.T) {
	c := Commit{Hash: hashA, Time: 12, Author: "a"}
	for _, path := range []string{"x", "y", "x", "\xe4", "x"} {
		c.Changes = append(c.Changes, FileChange{Path: path, Added: int64(len(c.Changes)), Deleted: 9})
	}
	var got []string
	for _, d := range documents(c) {
		for _, op := range d.operations {
			got = append(got, fmt.Sprintf("%s %s %d %+v", d.id, op.ID[38:], op.Time.Unix(), op.Body))
		}
	}
	want := []string{
		"x aa 12 {Author:a Added:0 Deleted:9 Binary:false}",
		"x aa#2 12 {Author:a Added:2 Deleted:9 Binary:false}",
		"x aa#3 12 {Author:a Added:4 Deleted:9 Binary:false}",
		"y aa 12 {Author:a Added:1 Deleted:9 Binary:false}",
		`"\344" aa 12 {Author:a Added:3 Deleted:9 Binary:false}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
