package main

import (
	"strings"
	"testing"
)

func TestTopFolder(t *testing.T) {
	long := strings.Repeat("x", 600)
	for path, want := range map[string]string{
		"README.md":              ".",
		"a/b/c":                  "a",
		"a b/c":                  "a b",
		"\xff/x":                 `"\377"`,
		"a/\xff":                 "a",
		"a/" + long:              "a",
		"\xff/" + long:           `"\377"`,
		`"a/b`:                   `"a`,
		`"\377"/x`:               documentID(`"\377"`),
		strings.Repeat("a", 600): ".",
		"a/" + long + "/\xff":    "a",
		"ü/a":                    "ü",
	} {
		if got := topFolder(documentID(path)); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestAuthorsAreApart(t *testing.T) {
	seen := make(map[string]string)
	for _, author := range []string{"", "a@b", `""`, `"\000"`, quote("\xff"), "\xff", strings.Repeat("a", 600), strings.Repeat("a", 601)} {
		id := authorID(author)
		if other, twice := seen[id]; twice || id == "" || len(id) > maxID {
			t.Errorf("%q has the id %q, as has %q", author, id, other)
		}
		seen[id] = author
	}
}
