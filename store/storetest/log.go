package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

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
	{"who goes on from the end of one loop misses none", func(f *fixture) {
		each := small(20, 150)
		done := appendBeside(f, 4, each)
		var last store.Token
		var all []store.Logged
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			end := f.end()
			if end.IsZero() { // as to it would be the end of the log
				continue
			}
			all = append(all, mustLog(f, last, end)...)
			last = end
		}
		mustBeWhole(f, all, 4, each)
	}},
	{"the zero token as to is the end when the loop begins", func(f *fixture) {
		n := small(300, 2000)
		appendMany(f, n)
		f.b.Log(background, store.Token{}, store.Token{}) // has not begun
		seen := 0
		for l, err := range f.b.Log(background, store.Token{}, store.Token{}) {
			if err != nil {
				f.Fatal(err)
			}
			if seen++; seen <= 3 {
				f.append(key("late"), "1")
			}
			if l.Key.ID == "late" {
				f.Fatal("what was appended during the loop came in it")
			}
		}
		if seen != n {
			f.Errorf("there are %d operations, want %d", seen, n)
		}
	}},
	{"the loop may call any method", func(f *fixture) {
		appendMany(f, small(300, 1200))
		seen := 0
		for l, err := range f.b.Log(background, store.Token{}, store.Token{}) {
			if err != nil {
				f.Fatal(err)
			}
			if seen%200 == 0 {
				callEverything(f, l.Key)
			}
			seen++
		}
		mustLogAll(f)
	}},
	{"leaving the loop releases everything", func(f *fixture) {
		appendMany(f, small(20, 200))
		for range 50 {
			for _, err := range f.b.Log(background, store.Token{}, store.Token{}) {
				if err != nil {
					f.Fatal(err)
				}
				break
			}
		}
		callEverything(f, key(number(3)))
	}},
	{"what it returns belongs to the caller", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{{Meta: []byte("meta"), Body: []byte("body")}}})
		before := contents(f.T, f.b)
		for _, l := range mustLog(f, store.Token{}, store.Token{}) {
			scribble(l.Meta)
			scribble(l.Body)
		}
		f.mustContain(before)
	}},
	{"it survives reopening", func(f *fixture) {
		tokens := appendMixed(f, small(20, 60))
		middle := tokens[len(tokens)/2]
		whole, rest := mustLog(f, store.Token{}, store.Token{}), mustLog(f, middle, store.Token{})
		f.reopen()
		for from, want := range map[store.Token][]store.Logged{{}: whole, middle: rest} {
			got := mustLog(f, from, store.Token{})
			if len(got) != len(want) {
				f.Fatalf("after %q are %d operations, before reopening %d", from, len(got), len(want))
			}
			for i := range got {
				if describeLogged(got[i]) != describeLogged(want[i]) {
					f.Errorf("now %s, before %s", describeLogged(got[i]), describeLogged(want[i]))
				}
			}
		}
		f.append(key("a"), "later")
		mustLogAll(f)
	}},
	{"another handle has the same", func(f *fixture) {
		second := f.second()
		token := f.appendAll(store.Append{Key: key("a"), Entries: entries("1")}).Token
		if _, err := second.Append(background, []store.Append{{Key: key("b"), Entries: entries("1")}}); err != nil {
			f.Fatal(err)
		}
		f.append(key("a"), "2")
		mustLogged(f, token, store.Token{}, "b1 a2")
		for i, l := range collect(f.T, second.Log(background, store.Token{}, store.Token{})) {
			if got, want := describeLogged(l), describeLogged(mustLog(f, store.Token{}, store.Token{})[i]); got != want {
				f.Errorf("by the second handle %s, by the first %s", got, want)
			}
		}
	}},
}

// appendBeside has n goroutines append each operations to two documents that are
// theirs. done is closed when they are ready.
func appendBeside(f *fixture, n, each int) (done <-chan struct{}) {
	ready := make(chan struct{})
	var group sync.WaitGroup
	for g := range n {
		group.Go(func() {
			for i := range each {
				_, err := f.b.Append(background, []store.Append{
					{Key: key(fmt.Sprint("x", g)), Entries: entries(fmt.Sprint(i))},
					{Key: key(fmt.Sprint("y", g)), Entries: entries(fmt.Sprint(i))},
				})
				if err != nil {
					f.Errorf("Append: %v", err)
				}
			}
		})
	}
	go func() {
		group.Wait()
		close(ready)
	}()
	f.Cleanup(func() { <-ready })
	return ready
}

// mustBeWhole checks that a reader got what appendBeside appended, each operation
// once and in the order of its document.
func mustBeWhole(f *fixture, all []store.Logged, n, each int) {
	f.Helper()
	last := make(map[store.Key]int64)
	for _, l := range all {
		if last[l.Key]++; l.Seq != last[l.Key] || string(l.Body) != fmt.Sprint(l.Seq-1) {
			f.Fatalf("operation %d of %s came when %d was next", l.Seq, l.Key, last[l.Key])
		}
	}
	for g := range n {
		for _, k := range []store.Key{key(fmt.Sprint("x", g)), key(fmt.Sprint("y", g))} {
			if last[k] != int64(each) {
				f.Errorf("of %s came %d operations, want %d", k, last[k], each)
			}
		}
	}
}
