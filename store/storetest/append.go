package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

var appendChecks = []check{
	{"new entries get the next seqs and positions", func(f *fixture) {
		a := f.append(key("a"), "1", "2")
		b := f.append(key("b"), "1")
		again := f.append(key("a"), "3")
		mustBePlaced(f, a, 2, store.Placed{Seq: 1, Position: 1}, store.Placed{Seq: 2, Position: 2})
		mustBePlaced(f, b, 1, store.Placed{Seq: 1, Position: 3})
		mustBePlaced(f, again, 3, store.Placed{Seq: 3, Position: 4})
	}},
	{"all entries of all documents are stored", func(f *fixture) {
		other := store.Key{Collection: "tasks", ID: "a"}
		result := f.appendAll(
			store.Append{Key: key("a"), Entries: entries("1", "2")},
			store.Append{Key: other, Entries: entries("3")},
			store.Append{Key: key("b"), Entries: entries("4", "5", "6")},
		)
		for i, k := range []store.Key{key("a"), other, key("b")} {
			operations := f.operations(k)
			if d := result.Documents[i]; d.Head != int64(len(d.Operations)) || len(operations) != len(d.Operations) {
				f.Fatalf("%s has %d operations, Append said %+v", k, len(operations), d)
			}
			for j, op := range operations {
				if want := result.Documents[i].Operations[j]; op.Seq != want.Seq || op.Position != want.Position || want.Duplicate {
					f.Errorf("operation %d of %s is at %d, Append said %+v", op.Seq, k, op.Position, want)
				}
			}
		}
	}},
	{"the token covers them all", func(f *fixture) {
		f.append(key("c"), "1")
		result := f.appendAll(
			store.Append{Key: key("b"), Entries: entries("1", "2")},
			store.Append{Key: key("a"), Entries: entries("1")},
		)
		seqs, err := f.b.Resolve(background, result.Token, []store.Key{key("a"), key("b"), key("c")})
		if err != nil || fmt.Sprint(seqs) != "[1 2 1]" {
			f.Errorf("the token resolves to %v, %v, want [1 2 1]", seqs, err)
		}
	}},
	{"the token covers what is new before a duplicate", func(f *fixture) {
		old := store.Append{Key: key("a"), Entries: []store.Entry{named("1")}}
		f.appendAll(old)
		result := f.appendAll(store.Append{Key: key("b"), Entries: entries("1", "2")}, old)
		mustResolve(f, result.Token, "[1 2]", key("a"), key("b"))
	}},
	{"none is stored if one is refused", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{{ID: "x", Body: []byte("1")}}})
		fine := store.Append{Key: store.Key{Collection: "fresh", ID: "b"}, Entries: entries("1")}
		f.refuse(store.ErrConflict, fine, store.Append{Key: key("a"), Head: new(int64(0)), Entries: entries("2")})
		f.refuse(store.ErrConflict, store.Append{Key: key("a"), Head: new(int64(2)), Entries: entries("2")}, fine)
		f.refuse(store.ErrIDReused, fine, store.Append{Key: key("a"), Entries: []store.Entry{{Body: []byte("2")}, {ID: "x", Body: []byte("3")}}})
		f.refuse(store.ErrInvalid, fine, store.Append{Key: key("a"), Entries: []store.Entry{{}, {Kind: "\x00"}}})
		mustBePlaced(f, f.append(key("a"), "2"), 2, store.Placed{Seq: 2, Position: 2})
	}},
	{"a document may appear once", func(f *fixture) {
		one := store.Append{Key: key("a"), Entries: entries("1")}
		f.refuse(store.ErrInvalid, one, store.Append{Key: key("b"), Entries: entries("1")}, one)
	}},
	{"there must be something to append", func(f *fixture) {
		f.refuse(store.ErrInvalid)
		f.refuse(store.ErrInvalid, store.Append{Key: key("a"), Entries: entries("1")}, store.Append{Key: key("b")})
	}},
	{"the expected head is compared", func(f *fixture) {
		expect := func(head int64, body string) store.Append {
			return store.Append{Key: key("a"), Head: &head, Entries: entries(body, body)}
		}
		mustConflict(f, f.refuse(store.ErrConflict, expect(1, "1")), key("a"), 1, 0)
		f.appendAll(expect(0, "1"))
		mustConflict(f, f.refuse(store.ErrConflict, expect(0, "1")), key("a"), 0, 2)
		mustConflict(f, f.refuse(store.ErrConflict, expect(1, "1")), key("a"), 1, 2)
		mustConflict(f, f.refuse(store.ErrConflict, expect(3, "1")), key("a"), 3, 2)
		f.appendAll(expect(2, "2"))
		f.append(key("a"), "any head")
	}},
	{"each touched document is dirty", func(f *fixture) {
		f.appendAll(
			store.Append{Key: key("b"), Entries: entries("1", "2", "3")},
			store.Append{Key: key("a"), Entries: entries("1")},
		)
		f.fold(key("a"), 1)
		if f.load(key("a")).Dirty() {
			f.Fatal("a document is dirty after all is applied")
		}
		f.append(key("a"), "2")
		for _, k := range []store.Key{key("a"), key("b")} {
			if d := f.load(k); !d.Dirty() {
				f.Errorf("%s is not dirty: %+v", k, d)
			}
		}
	}},
	{"since is the first operation that the view lacks", func(f *fixture) {
		f.append(key("other"), "1")
		f.append(key("a"), "1", "2")
		f.append(key("a"), "3")
		mustBeSince(f, key("a"), 2)
		f.fold(key("a"), 1)
		mustBeSince(f, key("a"), 3)
		f.fold(key("a"), 3)
		mustBeSince(f, key("a"), 0)
		f.append(key("a"), "4", "5")
		mustBeSince(f, key("a"), 5)
	}},
	{"since has the time of the store's clock", func(f *fixture) {
		at := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
		entry := store.Entry{Time: at, Body: []byte("1")}
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{entry}})
		first := f.load(key("a")).Since.Time
		time.Sleep(20 * time.Millisecond)
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{entry}})
		if still := f.load(key("a")).Since.Time; !still.Equal(first) {
			f.Errorf("since moved from %s to %s with an append", first, still)
		}
		f.fold(key("a"), 1)
		second := f.load(key("a")).Since.Time
		mustBeNow(f, first)
		mustBeNow(f, second)
		if !second.After(first) {
			f.Errorf("the second operation was appended at %s, 20 ms after the first at %s", second, first)
		}
	}},
	{"an operation is given back as it was", func(f *fixture) {
		at := time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("east", 7200))
		want := []store.Entry{
			{ID: "id 1 'quoted\" ü", Kind: "Kind/ü", Time: at, Meta: []byte{0, 1, 255}, Body: []byte("\x00body\xff")},
			{Time: time.Unix(0, 0), Body: []byte("{}")},
			{Time: time.Unix(-1, 999999999)},
		}
		f.appendAll(store.Append{Key: key("a"), Entries: want})
		for i, op := range f.operations(key("a")) {
			w := want[i]
			if op.ID != w.ID || op.Kind != w.Kind || string(op.Meta) != string(w.Meta) || string(op.Body) != string(w.Body) {
				f.Errorf("operation %d is %+v, want %+v", op.Seq, op.Entry, w)
			}
			if !op.Time.Equal(w.Time) || op.Time.Location() != time.UTC {
				f.Errorf("operation %d has time %v, want %v", op.Seq, op.Time, w.Time.UTC())
			}
		}
	}},
	{"no time means the store's clock", func(f *fixture) {
		f.append(key("a"), "1")
		op := f.operations(key("a"))[0]
		mustBeNow(f, op.Time)
		if op.Time.Location() != time.UTC {
			f.Errorf("the time is %v, not in UTC", op.Time)
		}
	}},
	{"time never decides an order", func(f *fixture) {
		for year := 2030; year > 2020; year-- {
			f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{{Time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}}})
		}
		for i, op := range f.operations(key("a")) {
			if op.Time.Year() != 2030-i {
				f.Errorf("operation %d is of %d", op.Seq, op.Time.Year())
			}
		}
	}},
	{"ids are any text", func(f *fixture) {
		for _, id := range []string{"'; DROP TABLE notes; --", "a/b", "%_\\", "\u2028", "🜁", " ", "\n", "A", "a", "ä", "a\u0308"} {
			f.append(key(id), id)
			if ops := f.operations(key(id)); len(ops) != 1 || string(ops[0].Body) != id {
				f.Errorf("document %q has operations %+v", id, ops)
			}
		}
	}},
	{"appenders do not disturb each other", func(f *fixture) {
		const appenders = 16
		keys := []store.Key{key("a"), key("b"), {Collection: "tasks", ID: "a"}, key("c")}
		each := small(5, 25)
		var group sync.WaitGroup
		for n := range appenders {
			group.Go(func() {
				for i := range each {
					first, second := keys[(n+i)%len(keys)], keys[(n+i+1)%len(keys)]
					body := fmt.Sprintf("%d/%d", n, i)
					_, err := f.b.Append(background, []store.Append{
						{Key: first, Entries: entries(body, body)}, {Key: second, Entries: entries(body)},
					})
					if err != nil {
						f.Errorf("Append: %v", err)
						return
					}
				}
			})
		}
		group.Wait()
		total := 0
		for _, k := range keys {
			total += len(f.operations(k))
		}
		if want := appenders * each * 3; total != want {
			f.Errorf("%d operations are stored, want %d", total, want)
		}
	}},
	{"one of many that expect the same head succeeds", func(f *fixture) {
		const appenders = 16
		for head := range int64(small(3, 10)) {
			var done, refused atomic.Int64
			var group sync.WaitGroup
			for n := range appenders {
				group.Go(func() {
					_, err := f.b.Append(background, []store.Append{{Key: key("a"), Head: &head, Entries: entries(fmt.Sprint(n))}})
					if errors.Is(err, store.ErrConflict) {
						refused.Add(1)
					} else if err != nil {
						f.Errorf("Append: %v", err)
					} else {
						done.Add(1)
					}
				})
			}
			group.Wait()
			if done.Load() != 1 || refused.Load() != appenders-1 {
				f.Fatalf("at head %d, %d appends succeeded and %d conflicted", head, done.Load(), refused.Load())
			}
		}
	}},
	{"an append survives reopening", func(f *fixture) {
		f.appendAll(
			store.Append{Key: key("a"), Entries: []store.Entry{{ID: "1", Kind: "k", Meta: []byte("m"), Body: []byte("b")}, {}}},
			store.Append{Key: store.Key{Collection: "tasks", ID: "t"}, Entries: entries("1")},
		)
		f.fold(key("a"), 1)
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
		mustBePlaced(f, f.append(key("a"), "3"), 3, store.Placed{Seq: 3, Position: 4})
	}},
}

// mustBePlaced compares what Append said of a document.
func mustBePlaced(f *fixture, got store.AppendedDocument, head int64, want ...store.Placed) {
	f.Helper()
	if got.Head != head || got.Parked || fmt.Sprint(got.Operations) != fmt.Sprint(want) {
		f.Fatalf("Append returned %+v, want head %d and %+v", got, head, want)
	}
}

func mustConflict(f *fixture, err error, k store.Key, expected, actual int64) {
	f.Helper()
	conflict, ok := errors.AsType[*store.ConflictError](err)
	if !ok || *conflict != (store.ConflictError{Key: k, Expected: expected, Actual: actual}) {
		f.Errorf("conflict is %#v, want %s, expected %d, actual %d", err, k, expected, actual)
	}
}

func mustBeSince(f *fixture, k store.Key, want store.Position) {
	f.Helper()
	if d := f.load(k); d.Since.Position != want {
		f.Errorf("%s is dirty since %d, want %d", k, d.Since.Position, want)
	}
}

// mustBeNow leaves room for a clock on another machine.
func mustBeNow(t testing.TB, at time.Time) {
	t.Helper()
	if off := time.Since(at).Abs(); off > time.Minute {
		t.Errorf("%s is not by the store's clock", at)
	}
}
