package store_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

func x(n int) string { return strings.Repeat("x", n) }

func TestCheckCollection(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "notes": true, "a-b_c9": true, "z-": true, "a_": true, x(63): true,
		"": false, x(64): false, "A": false, "aB": false, "1a": false, "-a": false, "_a": false, "a b": false,
		"a/b": false, "a.b": false, "é": false, "aé": false, "a\x00": false, "a`": false, "a{": false, "`a": false, "{a": false, "a:": false,
	} {
		mustCheck(t, name, store.CheckCollection(name), ok, "collection name")
	}
}

func TestCheckKey(t *testing.T) {
	wide := strings.Repeat("🜁", 128)
	for id, ok := range map[string]bool{
		"a": true, " ": true, "a/b": true, "\x01": true, "\n": true, "🜁": true, "\uffff": true, x(512): true, wide: true,
		"": false, x(513): false, wide + "x": false, "\x00": false, "a\x00b": false,
		"\xff": false, "a\xc3": false, "\xed\xa0\x80": false,
	} {
		mustCheck(t, id, store.CheckKey(store.Key{Collection: "notes", ID: id}), ok, "document id")
	}
	mustCheck(t, "no collection", store.CheckKey(store.Key{ID: "a"}), false, "collection name")
}

func TestCheckVersion(t *testing.T) {
	most := math.MaxInt32
	for version, ok := range map[int]bool{1: true, 2: true, most: true, 0: false, -1: false, math.MinInt: false, most + 1: false} {
		mustCheck(t, "version", store.CheckVersion(version), ok, "version")
	}
}

func TestCheckAppendsEntry(t *testing.T) {
	const smaller = 1000
	first, last := time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
	for _, c := range []struct {
		name  string
		entry store.Entry
		most  int
		field string // of what is refused
	}{
		{"nothing", store.Entry{}, 0, ""},
		{"id", store.Entry{ID: x(255)}, 0, ""},
		{"long id", store.Entry{ID: x(256)}, 0, "id"},
		{"id with NUL", store.Entry{ID: "a\x00"}, 0, "id"},
		{"id not UTF-8", store.Entry{ID: "\xff"}, 0, "id"},
		{"kind", store.Entry{Kind: x(128)}, 0, ""},
		{"long kind", store.Entry{Kind: x(129)}, 0, "kind"},
		{"kind with NUL", store.Entry{Kind: "\x00"}, 0, "kind"},
		{"kind not UTF-8", store.Entry{Kind: "\xff"}, 0, "kind"},
		{"meta", store.Entry{Meta: make([]byte, 64<<10)}, 0, ""},
		{"long meta", store.Entry{Meta: make([]byte, 64<<10+1)}, 0, "meta"},
		{"body", store.Entry{Body: make([]byte, 16<<20)}, 0, ""},
		{"long body", store.Entry{Body: make([]byte, 16<<20+1)}, 0, "body"},
		{"body at the backend's limit", store.Entry{Body: make([]byte, smaller)}, smaller, ""},
		{"body beyond the backend's limit", store.Entry{Body: make([]byte, smaller+1)}, smaller, "body"},
		{"long body and a high limit", store.Entry{Body: make([]byte, 16<<20+1)}, 17 << 20, "body"},
		{"long body and no limit", store.Entry{Body: make([]byte, 16<<20+1)}, -1, "body"},
		{"first time", store.Entry{Time: first}, 0, ""},
		{"before the first time", store.Entry{Time: first.Add(-1)}, 0, "time"},
		{"last time", store.Entry{Time: last}, 0, ""},
		{"after the last time", store.Entry{Time: last.Add(1)}, 0, "time"},
		{"time with a zone", store.Entry{Time: last.In(time.FixedZone("east", 14*3600))}, 0, ""},
	} {
		appends := []store.Append{
			{Key: store.Key{Collection: "notes", ID: "fine"}, Entries: make([]store.Entry, 1)},
			{Key: store.Key{Collection: "notes", ID: "n 1"}, Entries: []store.Entry{{}, c.entry, {}}},
		}
		mustCheck(t, c.name, store.CheckAppends(appends, c.most), c.field == "", `operation 2 for notes/"n 1": `+c.field)
	}
}

func TestCheckAppends(t *testing.T) {
	one := make([]store.Entry, 1)
	a, b := store.Key{Collection: "notes", ID: "a"}, store.Key{Collection: "notes", ID: "b"}
	most := make([]store.Entry, store.MaxPerAppend)
	for _, c := range []struct {
		name    string
		appends []store.Append
		field   string // of what is refused
	}{
		{"no document", nil, "append"},
		{"no operation", []store.Append{{Key: a, Entries: one}, {Key: b}}, "append to notes/b"},
		{"two documents", []store.Append{{Key: a, Entries: one}, {Key: b, Entries: one}}, ""},
		{"same id in two collections", []store.Append{{Key: a, Entries: one}, {Key: store.Key{Collection: "tasks", ID: "a"}, Entries: one}}, ""},
		{"a document twice", []store.Append{{Key: a, Entries: one}, {Key: b, Entries: one}, {Key: a, Entries: one}}, "append"},
		{"bad key", []store.Append{{Key: store.Key{Collection: "notes"}, Entries: one}}, "document id"},
		{"head 0", []store.Append{{Key: a, Head: new(int64(0)), Entries: one}}, ""},
		{"head -1", []store.Append{{Key: a, Head: new(int64(-1)), Entries: one}}, "expected head of notes/a"},
		{"as many as may be", []store.Append{{Key: a, Entries: most[1:]}, {Key: b, Entries: one}}, ""},
		{"one more", []store.Append{{Key: a, Entries: most}, {Key: b, Entries: one}}, "append"},
	} {
		mustCheck(t, c.name, store.CheckAppends(c.appends, 0), c.field == "", c.field)
	}
}

func TestCheckCommits(t *testing.T) {
	a, b := store.Key{Collection: "notes", ID: "a"}, store.Key{Collection: "notes", ID: "b"}
	for _, c := range []struct {
		name    string
		commits []store.Commit
		field   string // of what is refused
	}{
		{"none", nil, ""},
		{"nothing applied", []store.Commit{{Key: a}}, ""},
		{"something applied", []store.Commit{{Key: a, Loaded: 3, Applied: 4}, {Key: b, Loaded: 3, Applied: 3}}, ""},
		{"less than loaded", []store.Commit{{Key: a, Loaded: 3, Applied: 2}}, "commit of notes/a"},
		{"negative", []store.Commit{{Key: a, Loaded: -1, Applied: 2}}, "commit of notes/a"},
		{"a document twice", []store.Commit{{Key: a}, {Key: b}, {Key: a}}, "commit"},
		{"bad key", []store.Commit{{Key: store.Key{Collection: "notes"}}}, "document id"},
		{"bad name", []store.Commit{{Key: store.Key{Collection: "Notes", ID: "a"}}}, "collection name"},
		{"bad version", []store.Commit{{Key: store.Key{Collection: "notes@0", ID: "a"}}}, "version in a collection name"},
		{"two versions", []store.Commit{{Key: store.Key{Collection: "notes@1", ID: "a"}}, {Key: store.Key{Collection: "notes@2", ID: "a"}}, {Key: store.Key{Collection: "notes<files", ID: "a"}}}, ""},
		{"with a version and without", []store.Commit{{Key: b}, {Key: store.Key{Collection: "notes@1", ID: "a"}}, {Key: a}}, "commit"},
		{"one with a version, another without", []store.Commit{{Key: b}, {Key: store.Key{Collection: "notes@1", ID: "a"}}}, ""},
		{"a mapping with a version and without", []store.Commit{{Key: store.Key{Collection: "notes<files", ID: "a"}}, {Key: store.Key{Collection: "notes@1<files", ID: "a"}}}, "commit"},
	} {
		mustCheck(t, c.name, store.CheckCommits(c.commits), c.field == "", c.field)
	}
}

func TestCheckDiscard(t *testing.T) {
	long := strings.Repeat("x", store.MaxDiscardText)
	for _, c := range []struct{ name, by, why, field string }{
		{"short", "a", "b", ""},
		{"long", long, long, ""},
		{"by nobody", "", "b", "who discards"},
		{"for no reason", "a", "", "reason to discard"},
		{"name too long", long + "x", "b", "who discards"},
		{"reason too long", "a", long + "x", "reason to discard"},
		{"not UTF-8", "\xff", "b", "who discards"},
		{"with NUL", "a", "b\x00", "reason to discard"},
	} {
		mustCheck(t, c.name, store.CheckDiscard(&store.Discard{By: c.by, Why: c.why}), c.field == "", c.field)
	}
}

// A message must stay readable whatever the input was.
func TestInvalidErrorIsShort(t *testing.T) {
	for _, err := range []error{
		store.CheckCollection(strings.Repeat("A", 1<<20)),
		store.CheckKey(store.Key{Collection: "notes", ID: strings.Repeat("\x00", 512)}),
		store.CheckKey(store.Key{Collection: "notes", ID: strings.Repeat("x", 1<<20)}),
	} {
		if n := len(err.Error()); n > 1000 {
			t.Errorf("a message of %d bytes: %.100s…", n, err)
		}
	}
}

func mustCheck(t *testing.T, name string, err error, ok bool, field string) {
	t.Helper()
	if ok {
		if err != nil {
			t.Errorf("%.40q: %v", name, err)
		}
		return
	}
	invalid, is := errors.AsType[*store.InvalidError](err)
	if !is || !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%.40q: error is %v, want an InvalidError", name, err)
	} else if invalid.Field != field || invalid.Got == "" || invalid.Want == "" {
		t.Errorf("%.40q: error is %+v, want field %q", name, invalid, field)
	}
}

func TestCheckBare(t *testing.T) {
	for name, bare := range map[string]bool{"notes": true, "": true, "No collection": true, "notes@1": false, "notes<files": false, "@": false} {
		mustCheck(t, name, store.CheckBare(name), bare, "collection name")
	}
}

func TestWaitLeft(t *testing.T) {
	now := time.Now().Round(0)
	for left, want := range map[time.Duration]time.Duration{
		-time.Hour: 0, 0: 0, 1: 1, time.Hour: time.Hour, store.MaxDelay: store.MaxDelay,
		store.MaxDelay + 1: store.MaxDelay, store.MaxDelay + time.Hour: store.MaxDelay, store.MaxDelay + time.Hour + 1: 0,
		100000 * time.Hour: 0,
	} {
		if got := store.WaitLeft(now.Add(left), now); got != want {
			t.Errorf("%s before, %s is left to wait, want %s", left, got, want)
		}
	}
	if got := store.WaitLeft(time.Time{}, now); got != 0 {
		t.Errorf("%s is left to wait for no time", got)
	}
}
