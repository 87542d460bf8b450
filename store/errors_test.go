package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
)

func TestTypedErrors(t *testing.T) {
	k := store.Key{Collection: "notes", ID: "n1"}
	sentinels := []error{store.ErrInvalid, store.ErrConflict, store.ErrIDReused, store.ErrVersion, store.ErrInDoubt, store.ErrBusy}
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{&store.InvalidError{Field: "kind", Got: "129 bytes", Want: "0 to 128 bytes"}, store.ErrInvalid,
			"refold: kind: 129 bytes, want 0 to 128 bytes"},
		{&store.ConflictError{Key: k, Expected: 3, Actual: 5}, store.ErrConflict,
			"refold: head of notes/n1 is 5, expected 3"},
		{&store.IDReusedError{Key: k, ID: "x y", Seq: 4}, store.ErrIDReused,
			`refold: operation id "x y" of notes/n1 is that of seq 4, which has another kind or body`},
		{&store.IDReusedError{Key: k, ID: "x"}, store.ErrIDReused,
			`refold: operation id "x" of notes/n1 is given twice in one append with different kinds or bodies`},
		{&store.VersionError{Collection: "notes", Stored: 2, Registered: 3}, store.ErrVersion,
			"refold: collection notes is stored at version 2 and was registered at version 3, of which it has no generation"},
	} {
		if c.err.Error() != c.text {
			t.Errorf("error is written\n%s, want\n%s", c.err, c.text)
		}
		wrapped := fmt.Errorf("appending: %w", c.err)
		for _, sentinel := range sentinels {
			if errors.Is(wrapped, sentinel) != (sentinel == c.is) {
				t.Errorf("%v is %v: %t", wrapped, sentinel, errors.Is(wrapped, sentinel))
			}
		}
	}
}
