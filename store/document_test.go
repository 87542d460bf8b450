package store_test

import (
	"testing"

	"github.com/refold-go/refold/store"
)

func TestKeyString(t *testing.T) {
	for id, want := range map[string]string{
		"n1":       "notes/n1",
		"a/b":      "notes/a/b",
		"ünï🜁":     "notes/ünï🜁",
		"a b":      `notes/"a b"`,
		"a\nb":     `notes/"a\nb"`,
		"a\x00":    `notes/"a\x00"`,
		"\x7f":     `notes/"\x7f"`,
		`say "hi"`: `notes/"say \"hi\""`,
		`"`:        `notes/"\""`,
	} {
		if got := (store.Key{Collection: "notes", ID: id}).String(); got != want {
			t.Errorf("key %q is written %s, want %s", id, got, want)
		}
	}
}

func TestDocumentState(t *testing.T) {
	for _, c := range []struct {
		document      store.Document
		dirty, parked bool
	}{
		{store.Document{}, false, false},
		{store.Document{Head: 1}, true, false},
		{store.Document{Head: 2, Applied: 1}, true, false},
		{store.Document{Head: 2, Applied: 2}, false, false},
		{store.Document{Head: 2, Applied: 1, Failure: &store.Failure{}}, true, false},
		{store.Document{Head: 2, Applied: 1, Failure: &store.Failure{Park: true}}, true, true},
	} {
		if c.document.Dirty() != c.dirty || c.document.Parked() != c.parked {
			t.Errorf("%+v: dirty %t, parked %t", c.document, c.document.Dirty(), c.document.Parked())
		}
	}
}

func TestOutcomeString(t *testing.T) {
	for outcome, want := range map[store.Outcome]string{
		store.Done: "done", store.StillDirty: "still dirty", store.Stale: "stale", 99: "unknown outcome",
	} {
		if got := outcome.String(); got != want {
			t.Errorf("outcome %d is written %q, want %q", outcome, got, want)
		}
	}
}
