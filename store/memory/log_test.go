package memory

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
)

// What is removed leaves nothing behind: no body, no place in the log, and no chunk
// when all of it is gone. What was beside it is as it was.
func TestLogAfterForgetting(t *testing.T) {
	s := New(nil)
	first, second := store.Key{Collection: "notes", ID: "first"}, store.Key{Collection: "notes", ID: "second"}
	want := make(map[store.Position]string)
	body := func(n int) []byte {
		return bytes.Repeat([]byte(fmt.Sprintf("%04d", n)), []int{1, logSmall / 4, logSmall}[n%3])
	}
	add := func(k store.Key, operations int) {
		for range operations {
			n := int(s.end) + 1
			one := store.Append{Key: k, Entries: []store.Entry{{Body: body(n), Meta: body(n + 1)}}}
			if _, err := s.Append(t.Context(), []store.Append{one}); err != nil {
				t.Fatal(err)
			}
			if k == second {
				want[store.Position(n)] = string(body(n)) + string(body(n+1))
			}
		}
	}
	add(second, 10)
	add(first, 3*logChunk)
	add(second, 10)
	add(first, 1)
	gone := s.documentLocked(first).operations
	bodies := make([][]byte, len(gone))
	for i, op := range gone {
		bodies[i] = op.Body
	}
	if err := s.Forget(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	add(second, 2*logChunk)
	for i := range bodies {
		if len(bytes.Trim(bodies[i], "\x00")) > 0 || gone[i].of != nil {
			t.Fatalf("operation %d is still there", i)
		}
	}
	seen, last := 0, store.Position(0)
	for l, err := range s.Log(t.Context(), store.Token{}, store.Token{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := string(l.Body) + string(l.Meta); l.Key != second || l.Position <= last || got != want[l.Position] {
			t.Errorf("%s at %d has %q", l.Key, l.Position, got)
		}
		seen, last = seen+1, l.Position
	}
	if seen != len(want) {
		t.Errorf("%d operations, want %d", seen, len(want))
	}
	if s.log.chunks[0] == nil || s.log.chunks[1] != nil || s.log.chunks[2] != nil || s.log.chunks[3] == nil {
		t.Errorf("the chunks of what is gone are kept, or others are not")
	}
}

// A view that is written over a longer one leaves nothing of it behind: it may have been of what is forgotten.
func TestNothingIsBehindAShorterView(t *testing.T) {
	d := new(document)
	d.setView(&store.Commit{Applied: 1, View: []byte("a longer view")})
	d.setView(&store.Commit{Applied: 2, View: []byte("a shorter")})
	if got := string(d.view); got != "a shorter" {
		t.Errorf("the view is %q", got)
	}
	if rest := d.view[len(d.view):cap(d.view)]; len(bytes.Trim(rest, "\x00")) > 0 {
		t.Errorf("behind it is %q", rest)
	}
}
