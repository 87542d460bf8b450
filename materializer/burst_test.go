package materializer_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// tally is a collection that costs as little as can be: operations without a
// body, and how many there were.
type tallyCodec struct{}

func (tallyCodec) Encode(n int) ([]byte, error) { return strconv.AppendInt(nil, int64(n), 10), nil }

func (tallyCodec) Decode(view []byte) (int, error) { return strconv.Atoi(string(view)) }

type emptyCodec struct{}

func (emptyCodec) Encode(struct{}) (string, []byte, error) { return "", nil, nil }

func (emptyCodec) Decode(string, []byte) (op struct{}, err error) { return op, nil }

func registerTally(t testing.TB, m *materializer.Materializer) *materializer.Collection[int, struct{}] {
	t.Helper()
	c, err := materializer.Register(m, materializer.Spec[int, struct{}]{
		Name: "tallies", Version: 1, Operations: emptyCodec{}, Views: tallyCodec{},
		Fold: func(n int, op materializer.Operation[struct{}]) (int, error) { return n + 1, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// W3: a burst that is much larger than every buffer loses nothing.
func TestW3_BurstIntoSmallBuffersLosesNothing(t *testing.T) {
	documents := 1_000_000
	if raceDetector || testing.Short() {
		documents = 20_000
	}
	r := newRig(t, memory.New(nil), materializer.Config{Queue: 64, Announcements: 16}, spec())
	tallies := registerTally(t, r.m)
	r.start()
	var token materializer.Token
	const perAppend = 8 // below and above what fits the announcements
	changes := make([]materializer.Change, 0, 4*perAppend)
	for i := 0; i < documents; {
		changes = changes[:0]
		for range min(perAppend*(1+i%4), documents-i) {
			changes = append(changes, tallies.Change(fmt.Sprintf("%07d", i), struct{}{}))
			i++
		}
		appended, err := r.m.Append(t.Context(), changes...)
		if err != nil {
			t.Fatal(err)
		}
		token = appended.Token
	}
	if err := r.m.Wait(within(t, time.Minute), token); err != nil {
		t.Fatal(err)
	}
	n := 0
	for v, err := range tallies.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%07d", n); v.ID != want || v.State != 1 || v.Applied != 1 || v.Head != 1 {
			t.Fatalf("document %d is %+v, want %s with 1 of 1", n, v, want)
		}
		n++
	}
	if n != documents {
		t.Errorf("%d documents, want %d", n, documents)
	}
	if err := r.halt(); err != nil { // runs are counted after they are stored
		t.Error(err)
	}
	if got := r.m.Stats(); got.Operations != int64(documents) {
		t.Errorf("%d operations folded, want %d", got.Operations, documents)
	}
}
