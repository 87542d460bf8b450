package store_test

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// rules says again, in other words, what a key and an entry must be like.
var rules = struct {
	collection *regexp.Regexp
	text       func(s string, least, most int) bool
	first      time.Time
	last       time.Time
}{
	collection: regexp.MustCompile(`\A[a-z][a-z0-9_-]{0,62}\z`),
	text: func(s string, least, most int) bool {
		return least <= len(s) && len(s) <= most && utf8.ValidString(s) && !strings.Contains(s, "\x00")
	},
	first: time.Unix(0, math.MinInt64),
	last:  time.Unix(0, math.MaxInt64),
}

// FuzzChecks checks appends: what is refused is named in a text of some length, and
// what is not is stored and read as it was.
func FuzzChecks(f *testing.F) {
	f.Add("notes", "n1", "op-1", "created", []byte("meta"), []byte("body"), int64(0), 0, uint8(0))
	f.Add("Notes", "", "", "", []byte{}, []byte{}, int64(-1), -1, uint8(1))
	f.Add("n-_9", "\x00", "\xff", "k\x00", []byte{0}, []byte{0xff}, int64(math.MaxInt64), 1, uint8(2))
	f.Add(strings.Repeat("n", 63), strings.Repeat("ä", 256), strings.Repeat("i", 255), strings.Repeat("k", 128), make([]byte, store.MaxMeta), []byte("b"), int64(math.MinInt64), 0, uint8(3))
	f.Add(strings.Repeat("n", 64), strings.Repeat("ä", 257), strings.Repeat("i", 256), strings.Repeat("k", 129), make([]byte, store.MaxMeta+1), []byte("b"), int64(1), 2, uint8(4))
	f.Add("a", "a b/\"c\"\u2028", "\u202e", "é", []byte(nil), []byte("'; DROP TABLE"), int64(1e9), 0, uint8(5))
	f.Fuzz(func(t *testing.T, collection, id, operationID, kind string, meta, body []byte, nanos int64, head int, years uint8) {
		k := store.Key{Collection: collection, ID: id}
		keyOK := rules.collection.MatchString(collection) && rules.text(id, 1, store.MaxDocumentID)
		mustRefuse(t, "key", store.CheckKey(k), !keyOK)
		mustRefuse(t, "kind", store.CheckKind(kind), !rules.text(kind, 0, store.MaxKind))

		at := time.Unix(0, nanos).AddDate(int(years), 0, 0)
		expected := int64(head)
		a := store.Append{Key: k, Head: &expected, Entries: []store.Entry{{ID: operationID, Kind: kind, Time: at, Meta: meta, Body: body}}}
		bad := !keyOK || head < 0 || !rules.text(operationID, 0, store.MaxOperationID) || !rules.text(kind, 0, store.MaxKind) ||
			len(meta) > store.MaxMeta || len(body) > store.MaxBody || at.Before(rules.first) || at.After(rules.last)
		err := store.CheckAppends([]store.Append{a}, 0)
		mustRefuse(t, "append", err, bad)
		if bad {
			return
		}
		mustRefuse(t, "the document twice", store.CheckAppends([]store.Append{a, a}, 0), true)
		a.Head = nil
		mustRoundTrip(t, a)
	})
}

func mustRefuse(t *testing.T, what string, err error, want bool) {
	t.Helper()
	switch {
	case (err != nil) != want:
		t.Errorf("%s: error %v, want one: %v", what, err, want)
	case err == nil:
	case !errors.Is(err, store.ErrInvalid):
		t.Errorf("%s: %v is no ErrInvalid", what, err)
	case len(err.Error()) > 4096 || !utf8.ValidString(err.Error()):
		t.Errorf("%s: the error has %d bytes: %.100q", what, len(err.Error()), err)
	}
}

// mustRoundTrip stores an append and reads it.
func mustRoundTrip(t *testing.T, a store.Append) {
	t.Helper()
	st := memory.New(nil)
	if _, err := st.Append(t.Context(), []store.Append{a}); err != nil {
		t.Fatalf("it is refused after all: %v", err)
	}
	ops, err := st.Operations(t.Context(), []store.Range{{Key: a.Key}}, store.Budget{})
	if err != nil || len(ops[0]) != 1 {
		t.Fatalf("read %v, %v", ops, err)
	}
	got, want := ops[0][0].Entry, a.Entries[0]
	if got.ID != want.ID || got.Kind != want.Kind || string(got.Meta) != string(want.Meta) || string(got.Body) != string(want.Body) ||
		!want.Time.IsZero() && !got.Time.Equal(want.Time) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// FuzzKeyString checks that no two keys have the same text.
func FuzzKeyString(f *testing.F) {
	f.Add("a", "b", "a", `"b"`)
	f.Add("a", "b c", "a", `"b c"`)
	f.Add("a", "\u202e", "a", `"\u202e"`)
	f.Add("a", "b/c", "a-b", "c")
	f.Fuzz(func(t *testing.T, c1, id1, c2, id2 string) {
		one, other := store.Key{Collection: c1, ID: id1}, store.Key{Collection: c2, ID: id2}
		if store.CheckKey(one) != nil || store.CheckKey(other) != nil {
			return
		}
		if (one == other) != (one.String() == other.String()) {
			t.Errorf("%+v is %s, and %+v is %s", one, one, other, other)
		}
		if strings.ContainsAny(one.String(), "\n\r\x1b") {
			t.Errorf("%q is not for a line of a log", one.String())
		}
	})
}
