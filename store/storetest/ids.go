package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/refold-go/refold/store"
)

// named returns an entry with an id; its body follows from the id.
func named(id string) store.Entry {
	return store.Entry{ID: id, Kind: "kind", Body: []byte("body of " + id)}
}

var idChecks = []check{
	{"the same call again gives back what the first one stored", func(f *fixture) {
		call := []store.Append{
			{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{named("1"), named("2")}},
			{Key: store.Key{Collection: "tasks", ID: "a"}, Entries: []store.Entry{named("1")}},
		}
		first := f.appendAll(call...)
		f.append(key("a"), "between")
		before := contents(f.T, f.b)
		second := f.appendAll(call...)
		f.mustContain(before)
		for i, d := range second.Documents {
			for j, p := range d.Operations {
				want := first.Documents[i].Operations[j]
				want.Duplicate = true
				if p != want {
					f.Errorf("entry %d of document %d is %+v, want %+v", j, i, p, want)
				}
			}
		}
		if head := second.Documents[0].Head; head != 3 {
			f.Errorf("head is %d, want 3", head)
		}
		seqs, err := f.b.Resolve(background, second.Token, []store.Key{key("a")})
		if err != nil || seqs[0] < 2 {
			f.Errorf("the token of duplicates resolves to %v, %v", seqs, err)
		}
	}},
	{"a duplicate adds nothing and the rest is stored", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1"), named("2")}})
		result := f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("3"), named("2"), {}, named("1")}})
		mustBePlaced(f, result.Documents[0], 4,
			store.Placed{Seq: 3, Position: 3}, store.Placed{Seq: 2, Position: 2, Duplicate: true},
			store.Placed{Seq: 4, Position: 4}, store.Placed{Seq: 1, Position: 1, Duplicate: true})
	}},
	{"an id twice in one append is a duplicate", func(f *fixture) {
		result := f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1"), {}, named("1"), named("2")}})
		mustBePlaced(f, result.Documents[0], 3,
			store.Placed{Seq: 1, Position: 1}, store.Placed{Seq: 2, Position: 2},
			store.Placed{Seq: 1, Position: 1, Duplicate: true}, store.Placed{Seq: 3, Position: 3})
	}},
	{"an id belongs to its document", func(f *fixture) {
		other := named("1")
		other.Body = []byte("another")
		f.appendAll(
			store.Append{Key: key("a"), Entries: []store.Entry{named("1")}},
			store.Append{Key: key("b"), Entries: []store.Entry{other}},
		)
		if n := len(f.operations(key("b"))); n != 1 {
			f.Errorf("b has %d operations, want 1", n)
		}
	}},
	{"entries without id are never duplicates", func(f *fixture) {
		f.append(key("a"), "same", "same")
		f.append(key("a"), "same")
		if n := len(f.operations(key("a"))); n != 3 {
			f.Errorf("a has %d operations, want 3", n)
		}
	}},
	{"a duplicate does not make dirty", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1")}})
		f.fold(key("a"), 1)
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1")}})
		if d := f.load(key("a")); d.Dirty() {
			f.Errorf("a is dirty: %+v", d)
		}
	}},
	{"an id with another body or kind is refused", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("0"), named("1")}})
		body, kind := named("1"), named("1")
		body.Body, kind.Kind = []byte("other"), "other"
		for _, e := range []store.Entry{body, kind} {
			err := f.refuse(store.ErrIDReused,
				store.Append{Key: key("fresh"), Entries: entries("1")},
				store.Append{Key: key("a"), Entries: []store.Entry{named("2"), e}})
			reused, ok := errors.AsType[*store.IDReusedError](err)
			if !ok || *reused != (store.IDReusedError{Key: key("a"), ID: "1", Seq: 2}) {
				f.Errorf("error is %#v, want id 1 of a, seq 2", err)
			}
		}
	}},
	{"an id with two bodies in one append is refused", func(f *fixture) {
		other := named("1")
		other.Body = nil
		err := f.refuse(store.ErrIDReused, store.Append{Key: key("a"), Entries: []store.Entry{named("1"), other}})
		reused, ok := errors.AsType[*store.IDReusedError](err)
		if !ok || *reused != (store.IDReusedError{Key: key("a"), ID: "1"}) {
			f.Errorf("error is %#v, want id 1 of a, seq 0", err)
		}
	}},
	{"time and meta do not tell operations apart", func(f *fixture) {
		first, again := named("1"), named("1")
		first.Meta, again.Meta = []byte("first"), []byte("again")
		again.Time = again.Time.AddDate(2000, 0, 0)
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{first}})
		before := contents(f.T, f.b)
		result := f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{again}})
		mustBePlaced(f, result.Documents[0], 1, store.Placed{Seq: 1, Position: 1, Duplicate: true})
		f.mustContain(before)
	}},
	{"ids are looked at before the head", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{named("1")}})
		f.appendAll(store.Append{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{named("1")}})
		err := f.refuse(store.ErrConflict, store.Append{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{named("1"), named("2")}})
		mustConflict(f, err, key("a"), 0, 1)
		result := f.appendAll(store.Append{Key: key("a"), Head: new(int64(1)), Entries: []store.Entry{named("1"), named("2")}})
		mustBePlaced(f, result.Documents[0], 2, store.Placed{Seq: 1, Position: 1, Duplicate: true}, store.Placed{Seq: 2, Position: 2})
		other := named("1")
		other.Body = nil
		f.refuse(store.ErrIDReused, store.Append{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{other}})
	}},
	{"one of many with the same id adds", func(f *fixture) {
		const appenders = 16
		for round := range small(2, 10) {
			id := fmt.Sprint(round)
			var added atomic.Int64
			places := make([]store.Placed, appenders)
			var group sync.WaitGroup
			for n := range appenders {
				group.Go(func() {
					result, err := f.b.Append(background, []store.Append{{Key: key("a"), Entries: []store.Entry{named(id)}}})
					if err != nil {
						f.Errorf("Append: %v", err)
						return
					}
					places[n] = result.Documents[0].Operations[0]
					if !places[n].Duplicate {
						added.Add(1)
					}
					places[n].Duplicate = true
				})
			}
			group.Wait()
			if added.Load() != 1 {
				f.Errorf("%d of %d appends of one id added", added.Load(), appenders)
			}
			for _, p := range places {
				if p != places[0] || p.Seq != int64(round+1) {
					f.Fatalf("appends of one id returned %+v and %+v", places[0], p)
				}
			}
		}
	}},
	{"one of many with the same fresh id and different bodies adds", func(f *fixture) {
		const appenders = 16
		var added, refused atomic.Int64
		var group sync.WaitGroup
		for n := range appenders {
			group.Go(func() {
				e := store.Entry{ID: "1", Body: fmt.Append(nil, n)}
				_, err := f.b.Append(background, []store.Append{{Key: key("a"), Entries: []store.Entry{e}}})
				switch {
				case err == nil:
					added.Add(1)
				case errors.Is(err, store.ErrIDReused):
					refused.Add(1)
				default:
					f.Errorf("Append: %v", err)
				}
			})
		}
		group.Wait()
		if added.Load() != 1 || refused.Load() != appenders-1 {
			f.Errorf("%d appends added and %d were refused", added.Load(), refused.Load())
		}
	}},
	{"one append may have very many ids", func(f *fixture) {
		many := make([]store.Entry, small(1000, 40_000))
		for i := range many {
			many[i].ID = number(i)
		}
		f.appendAll(store.Append{Key: key("a"), Entries: many})
		many[0], many[len(many)-1] = many[len(many)-1], many[0]
		result := f.appendAll(store.Append{Key: key("a"), Head: new(int64(0)), Entries: many}).Documents[0]
		for i, p := range result.Operations {
			want := int64(i + 1)
			if i == 0 || i == len(many)-1 {
				want = int64(len(many) - i)
			}
			if !p.Duplicate || p.Seq != want || p.Position != store.Position(want) {
				f.Fatalf("entry %d is %+v, want a duplicate of %d", i, p, want)
			}
		}
	}},
	{"ids survive reopening", func(f *fixture) {
		call := store.Append{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{named("1"), named("2")}}
		f.appendAll(call)
		f.reopen()
		before := contents(f.T, f.b)
		mustBePlaced(f, f.appendAll(call).Documents[0], 2,
			store.Placed{Seq: 1, Position: 1, Duplicate: true}, store.Placed{Seq: 2, Position: 2, Duplicate: true})
		f.mustContain(before)
		other := named("2")
		other.Body = nil
		f.refuse(store.ErrIDReused, store.Append{Key: key("a"), Entries: []store.Entry{other}})
	}},
}
