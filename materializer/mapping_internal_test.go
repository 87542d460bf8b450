package materializer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/refold-go/refold/store"
)

// However large the pairs of a source are together, and in whatever order they come, those that do not go
// into the slice are not kept, and the slices have them all.
func TestSliceIsBoundedInBytes(t *testing.T) {
	const n, room = 300, 1 << 20
	random := rand.New(rand.NewPCG(1, 2))
	sizes := make([]int, n)
	for i := range sizes {
		if sizes[i] = random.IntN(400 << 10); i%50 == 7 {
			sizes[i] = 3 * room // alone it is too much
		}
	}
	body := make([]byte, 3*room)
	var got []store.Pair
	for after := ""; ; {
		s := slice{derived: "d", after: after, room: room}
		for _, i := range random.Perm(n) {
			if err := s.add(fmt.Sprintf("k%03d", i), body[:sizes[i]]); err != nil {
				t.Fatal(err)
			}
			held, largest := 0, 0
			for _, p := range s.pairs {
				held, largest = held+len(p.Body), max(largest, len(p.Body))
			}
			if held > 2*room && len(s.pairs) > 1 {
				t.Fatalf("%d bytes are kept in %d pairs, want at most %d", held, len(s.pairs), 2*room)
			}
		}
		pairs, upto, err := s.end()
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, p := range pairs {
			size += len(p.Body)
		}
		if size > room && len(pairs) > 1 {
			t.Errorf("a slice of %d pairs has %d bytes, want at most %d", len(pairs), size, room)
		}
		got = append(got, pairs...)
		if after = upto; after == "" {
			break
		}
	}
	if len(got) != n {
		t.Fatalf("the slices have %d pairs, want %d", len(got), n)
	}
	for i, p := range got {
		if want := fmt.Sprintf("k%03d", i); p.Key != want || len(p.Body) != sizes[i] {
			t.Errorf("pair %d is %s with %d bytes, want %s with %d", i, p.Key, len(p.Body), want, sizes[i])
		}
	}
}
