package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/refold-go/refold/store"
)

// What was written is read, and nothing else is.
func FuzzDelta(f *testing.F) {
	for _, d := range []store.Delta{
		{},
		{Contributor: store.Contributor{Input: 63, Source: "s"}, Before: []byte{}, After: nil},
		{Contributor: store.Contributor{Source: "a/b"}, Before: []byte("was"), After: []byte("is")},
	} {
		b := store.AppendDelta(nil, d)
		got, err := store.ParseDelta(b)
		if diff := cmp.Diff(d, got); err != nil || diff != "" {
			f.Errorf("%v: %v\n%s", d, err, diff)
		}
		f.Add(b)
	}
	f.Add([]byte{0x80, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := store.ParseDelta(b)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if again := store.AppendDelta(nil, d); string(again) != string(b) {
			t.Fatalf("%x is read as %+v and written as %x", b, d, again)
		}
	})
}
