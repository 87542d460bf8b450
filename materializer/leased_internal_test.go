package materializer

import (
	"testing"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// The fold of a document ends while its hand is seized: its lease stays, since the worker is about to
// commit it. What the worker has not committed it gives back itself.
func TestLeaseOfAFoldThatEndsWhileItsHandIsSeized(t *testing.T) {
	a, b := store.Key{Collection: "texts@1", ID: "a"}, store.Key{Collection: "texts@1", ID: "b"}
	h := newHand(dispatcher.Ticket{Key: a}, dispatcher.Ticket{Key: b})
	h.leases = map[store.Key]lease{a: {epoch: 1}, b: {epoch: 2}}
	h.startRound(2)
	if !h.startFold(1) || !h.seize(0) {
		t.Fatal("the hand was not seized")
	}
	if !h.endFold() {
		t.Error("the worker is not told that the hand was seized")
	}
	if held := h.takeLeases(true); len(held) != 1 || held[0] != (store.Held{Key: a, Epoch: 1}) {
		t.Errorf("who seized the hand gives back %v, want a", held)
	}
	if held := h.takeLeases(false); len(held) != 1 || held[0] != (store.Held{Key: b, Epoch: 2}) {
		t.Errorf("the worker gives back %v, want b", held)
	}
}
