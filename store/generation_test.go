package store_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

func TestCollectionNameText(t *testing.T) {
	longest := strings.Repeat("n", store.MaxCollection)
	for text, want := range map[string]store.CollectionName{
		"notes":                            {Name: "notes"},
		"notes@2":                          {Name: "notes", Version: 2},
		"authors@1<files":                  {Name: "authors", Version: 1, Source: "files"},
		"authors<files":                    {Name: "authors", Source: "files"},
		longest + "@2147483647<" + longest: {Name: longest, Version: math.MaxInt32, Source: longest},
	} {
		if got, err := store.ParseCollection(text); err != nil || got != want {
			t.Errorf("%q is read as %+v, %v, want %+v", text, got, err, want)
		}
		if got := want.String(); got != text {
			t.Errorf("%+v is written %q, want %q", want, got, text)
		}
	}
}

func TestParseCollectionRefuses(t *testing.T) {
	for _, text := range []string{
		"", "@", "<", "@1", "<files", "notes@", "notes@0", "notes@01", "notes@+1", "notes@-1", "notes@1 ", "notes@x", "notes@2147483648",
		"notes@1@2", "notes<", "notes@1<", "notes<Files", "notes<files<more", "notes<files@1", "Notes", "Notes@1", "no tes<files",
		"notes@\u0661", strings.Repeat("n", 5000) + "@1", "notes@" + strings.Repeat("1", 5000),
	} {
		got, err := store.ParseCollection(text)
		if !errors.Is(err, store.ErrInvalid) || got != (store.CollectionName{}) || len(err.Error()) > 300 {
			t.Errorf("%.40q is read as %+v, %.400v", text, got, err)
		}
	}
}

func FuzzParseCollection(f *testing.F) {
	for _, seed := range []string{"", "notes", "notes@2", "authors@1<files", "authors<files", "notes@01", "<", "@", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := store.ParseCollection(text)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) || name != (store.CollectionName{}) {
				t.Fatalf("%q is read as %+v, %v", text, name, err)
			}
			return
		}
		if name.String() != text {
			t.Fatalf("%q was read and is written %q", text, name)
		}
		if bare := !strings.ContainsAny(text, "@<"); bare != (store.CheckCollection(text) == nil) {
			t.Fatalf("%q is read, and is a collection: %t", text, !bare)
		}
	})
}
