package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

var limitChecks = []check{
	{"what is at the limit is stored", func(f *fixture) {
		k := store.Key{Collection: "c" + strings.Repeat("_", store.MaxCollection-1), ID: strings.Repeat("d", store.MaxDocumentID)}
		want := store.Entry{
			ID:   strings.Repeat("i", store.MaxOperationID),
			Kind: strings.Repeat("k", store.MaxKind),
			Meta: []byte(strings.Repeat("m", store.MaxMeta)),
			Body: []byte(strings.Repeat("b", f.maxBody())),
		}
		f.appendAll(store.Append{Key: k, Entries: []store.Entry{want}})
		got := f.operations(k)[0].Entry
		if got.ID != want.ID || got.Kind != want.Kind || string(got.Meta) != string(want.Meta) || string(got.Body) != string(want.Body) {
			f.Error("the operation was not given back as it was")
		}
		mustScan(f, k.Collection, "", k.ID)
	}},
	{"what is beyond is refused by name", func(f *fixture) {
		many := func(n int) string { return strings.Repeat("x", n) }
		for name, c := range map[string]struct {
			key   store.Key
			entry store.Entry
			field string
		}{
			"collection length": {store.Key{Collection: many(store.MaxCollection + 1), ID: "a"}, store.Entry{}, "collection name"},
			"collection case":   {store.Key{Collection: "Notes", ID: "a"}, store.Entry{}, "collection name"},
			"collection empty":  {store.Key{ID: "a"}, store.Entry{}, "collection name"},
			"document id":       {key(many(store.MaxDocumentID + 1)), store.Entry{}, "document id"},
			"document empty":    {key(""), store.Entry{}, "document id"},
			"document NUL":      {key("a\x00b"), store.Entry{}, "document id"},
			"document UTF-8":    {key("a\xc3"), store.Entry{}, "document id"},
			"id length":         {key("a"), store.Entry{ID: many(store.MaxOperationID + 1)}, "operation 2 for notes/a: id"},
			"id NUL":            {key("a"), store.Entry{ID: "\x00"}, "operation 2 for notes/a: id"},
			"id UTF-8":          {key("a"), store.Entry{ID: "\x80"}, "operation 2 for notes/a: id"},
			"kind length":       {key("a"), store.Entry{Kind: many(store.MaxKind + 1)}, "operation 2 for notes/a: kind"},
			"kind NUL":          {key("a"), store.Entry{Kind: "\x00"}, "operation 2 for notes/a: kind"},
			"meta":              {key("a"), store.Entry{Meta: make([]byte, store.MaxMeta+1)}, "operation 2 for notes/a: meta"},
			"body":              {key("a"), store.Entry{Body: make([]byte, f.maxBody()+1)}, "operation 2 for notes/a: body"},
			"time before":       {key("a"), store.Entry{Time: time.Date(1677, 9, 21, 0, 12, 43, 0, time.UTC)}, "operation 2 for notes/a: time"},
			"time after":        {key("a"), store.Entry{Time: time.Date(2262, 4, 11, 23, 47, 17, 0, time.UTC)}, "operation 2 for notes/a: time"},
		} {
			err := f.refuse(store.ErrInvalid,
				store.Append{Key: key("fine"), Entries: entries("1")},
				store.Append{Key: c.key, Entries: []store.Entry{{}, c.entry}})
			invalid, ok := errors.AsType[*store.InvalidError](err)
			if !ok || invalid.Field != c.field || invalid.Got == "" || invalid.Want == "" {
				f.Errorf("%s: error is %v, want one that names %q", name, err, c.field)
			}
		}
	}},
	{"the first and the last time are stored", func(f *fixture) {
		first := time.Date(1677, 9, 21, 0, 12, 43, 145224192, time.UTC)
		last := time.Date(2262, 4, 11, 23, 47, 16, 854775807, time.UTC)
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{{Time: first}, {Time: last}}})
		for i, op := range f.operations(key("a")) {
			if want := []time.Time{first, last}[i]; !op.Time.Equal(want) {
				f.Errorf("time is %v, want %v", op.Time, want)
			}
		}
	}},
	{"one append has at most 65,536 operations", func(f *fixture) {
		half := make([]store.Entry, store.MaxPerAppend/2)
		err := f.refuse(store.ErrInvalid,
			store.Append{Key: key("a"), Entries: half}, store.Append{Key: key("b"), Entries: half},
			store.Append{Key: key("c"), Entries: half[:1]})
		if invalid, ok := errors.AsType[*store.InvalidError](err); !ok || invalid.Field != "append" {
			f.Errorf("error is %v, want one that names the append", err)
		}
		most := half[:small(100, len(half))]
		result := f.appendAll(store.Append{Key: key("a"), Entries: most}, store.Append{Key: key("b"), Entries: most})
		if head := result.Documents[1].Head; head != int64(len(most)) {
			f.Errorf("head is %d, want %d", head, len(most))
		}
	}},
}

// maxBody returns the backend's limit of a body.
func (f *fixture) maxBody() int {
	if f.MaxBody > 0 {
		return f.MaxBody
	}
	return store.MaxBody
}
