package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

var logChecks = []check{
	{"it has every operation once, in order of position", func(f *fixture) {
		appendMixed(f, small(60, 900))
		mustLogAll(f)
	}},
	{"an operation is what it is in its document", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{
			{ID: "1", Kind: "k", Time: logTime, Meta: []byte("meta"), Body: []byte("body")}, {},
		}})
		f.appendAll(store.Append{Key: key("a"), History: true, Entries: entries("3")})
		f.discard(key("a"), 2)
		want := f.operations(key("a"))
		for i, l := range mustLog(f, store.Token{}, store.Token{}) {
			if got, want := describeLogged(l), describeLogged(store.Logged{Key: key("a"), Operation: want[i]}); got != want {
				f.Errorf("in the log\n\t%s\nin its document\n\t%s", got, want)
			}
		}
	}},
	{"it is what is after one token and up to another", func(f *fixture) {
		tokens := append([]store.Token{{}}, appendMixed(f, small(12, 30))...)
		all := mustLog(f, store.Token{}, store.Token{})
		last := make([]store.Position, len(tokens)) // of each token
		for i, token := range tokens[1:] {
			n := len(mustLog(f, store.Token{}, token))
			last[i+1] = all[n-1].Position
		}
		for i, from := range tokens {
			for j, to := range tokens[1:] {
				var want []store.Logged
				for _, l := range all {
					if l.Position > last[i] && l.Position <= last[j+1] {
						want = append(want, l)
					}
				}
				if got := mustLog(f, from, to); positions(got) != positions(want) {
					f.Fatalf("after %q and up to %q are %s, want %s", from, to, positions(got), positions(want))
				}
			}
		}
	}},
	{"a token cuts where its append ends", func(f *fixture) {
		first := f.appendAll(store.Append{Key: key("a"), Entries: entries("1", "2")}, store.Append{Key: key("b"), Entries: entries("1")}).Token
		second := f.appendAll(store.Append{Key: key("b"), Entries: entries("2", "3")}).Token
		f.append(key("a"), "3")
		mustLogged(f, store.Token{}, first, "a1 a2 b1")
		mustLogged(f, first, second, "b2 b3")
		mustLogged(f, second, store.Token{}, "a3")
	}},
	{"a token may cut through an append", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: entries("1", "2", "3")}, store.Append{Key: key("b"), Entries: entries("1", "2")})
		f.append(key("a"), "4", "5")
		if len(mustLog(f, store.Token{}, store.Token{})) != 7 {
			f.Fatal("not all is there")
		}
		names := strings.Fields("a1 a2 a3 b1 b2 a4 a5")
		for i := range 7 {
			for j := i + 1; j <= 7; j++ {
				from := beyond(f, f.end(), int64(i-7))
				if i == 0 {
					from = store.Token{}
				}
				mustLogged(f, from, beyond(f, f.end(), int64(j-7)), strings.Join(names[i:j], " "))
			}
		}
	}},
	{"a range that is empty has nothing", func(f *fixture) {
		mustLogged(f, store.Token{}, store.Token{}, "")
		first := f.appendAll(store.Append{Key: key("a"), Entries: entries("1")}).Token
		second := f.appendAll(store.Append{Key: key("a"), Entries: entries("2")}).Token
		mustLogged(f, first, first, "")
		mustLogged(f, second, store.Token{}, "")
		mustLogged(f, second, first, "")
	}},
	{"a token of another store is foreign", func(f *fixture) {
		other := f.another()
		if _, err := other.Append(background, []store.Append{{Key: key("a"), Entries: entries("1")}}); err != nil {
			f.Fatal(err)
		}
		foreign, err := other.End(background)
		if err != nil {
			f.Fatal(err)
		}
		end := f.appendAll(store.Append{Key: key("a"), Entries: entries("1", "2")}).Token
		for _, tokens := range [][2]store.Token{{foreign, {}}, {{}, foreign}, {foreign, end}, {end, foreign}, {foreign, foreign}} {
			if err := f.refuseLog(tokens[0], tokens[1]); !errors.Is(err, store.ErrForeignToken) {
				f.Errorf("after %q and up to %q: %v", tokens[0], tokens[1], err)
			}
		}
	}},
	{"a token beyond the end is of the future, and the error says how far the log is", func(f *fixture) {
		end := f.appendAll(store.Append{Key: key("a"), Entries: entries("1", "2")}).Token
		for _, ahead := range []int64{1, 1 << 40} {
			later := beyond(f, end, ahead)
			for _, tokens := range [][2]store.Token{{later, {}}, {{}, later}, {end, later}, {later, end}} {
				mustBeFuture(f, f.refuseLog(tokens[0], tokens[1]), later)
			}
			_, err := f.b.Resolve(background, later, []store.Key{key("a")})
			mustBeFuture(f, err, later)
		}
		mustLogged(f, store.Token{}, end, "a1 a2")
	}},
	{"what is erased or dropped is left out", func(f *fixture) {
		task := store.Key{Collection: "tasks", ID: "t"}
		first := f.appendAll(store.Append{Key: key("a"), Entries: entries("1", "2")}, store.Append{Key: task, Entries: entries("1")}).Token
		f.append(key("b"), "1", "2")
		f.append(key("a"), "3")
		f.append(task, "2")
		f.append(key("b"), "3")
		f.forget(key("a"))
		mustLogged(f, store.Token{}, store.Token{}, "t1 b1 b2 t2 b3")
		mustLogged(f, first, store.Token{}, "b1 b2 t2 b3")
		f.drop("tasks")
		mustLogged(f, store.Token{}, store.Token{}, "b1 b2 b3")
		mustLogged(f, store.Token{}, first, "")
		f.append(task, "again")
		mustLogged(f, first, store.Token{}, "b1 b2 b3 t1")
	}},
	{"what was refused, or was there before, is not in it", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1")}})
		f.refuse(store.ErrConflict, store.Append{Key: key("b"), Entries: entries("x")}, store.Append{Key: key("a"), Head: new(int64(7)), Entries: entries("x")})
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1"), {}, named("2"), named("1")}})
		mustLogged(f, store.Token{}, store.Token{}, "a1 a2 a3")
		mustLogAll(f)
	}},
	{"large operations come one by one", func(f *fixture) {
		n := small(5, 12)
		size := min(1<<20, f.maxBody())
		for i := range n {
			f.append(key(fmt.Sprint(i%3)), strings.Repeat(string(rune('a'+i)), size), "small")
		}
		i := 0
		for _, l := range mustLog(f, store.Token{}, store.Token{}) {
			if want := []int{size, len("small")}[i%2]; len(l.Body) != want || i%2 == 0 && l.Body[0] != byte('a'+i/2) {
				f.Errorf("operation %d has %d bytes, want %d", i, len(l.Body), want)
			}
			i++
		}
		if i != 2*n {
			f.Errorf("there are %d operations, want %d", i, 2*n)
		}
	}},
	{"positions are contiguous", func(f *fixture) {
		if _, many := f.b.(store.Writers); many {
			f.Skip("a log of many writers may have gaps")
		}
		n := len(appendMixed(f, small(40, 200)))
		f.refuse(store.ErrConflict, store.Append{Key: key("a"), Head: new(int64(1 << 40)), Entries: entries("x")})
		f.append(key("a"), "last")
		all := mustLog(f, store.Token{}, store.Token{})
		for i, l := range all {
			if l.Position != store.Position(i+1) || l.Writer != 0 {
				f.Fatalf("operation %d is at %d of writer %d", i+1, l.Position, l.Writer)
			}
		}
		if len(all) < n {
			f.Errorf("%d operations of %d appends", len(all), n)
		}
	}},
}
