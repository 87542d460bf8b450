package storetest

import (
	"fmt"
	"sync"

	"github.com/refold-go/refold/store"
)

// logFollowChecks are those of who reads the log while it grows, or again.
var logFollowChecks = []check{
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
			all = append(all, mustLog(f, last, end)...)
			last = end
		}
		mustBeWhole(f, all, 4, each)
	}},
	{"the token of an operation is where to go on", func(f *fixture) {
		appendMixed(f, small(30, 200))
		whole := mustLog(f, store.Token{}, store.Token{})
		var middle store.Token
		for i, l := range whole {
			if rest := mustLog(f, l.Token, store.Token{}); positions(rest) != positions(whole[i+1:]) {
				f.Fatalf("behind %s, the token of operation %d, are %s, want %s", l.Token, i+1, positions(rest), positions(whole[i+1:]))
			}
			if i == len(whole)/2 {
				middle = l.Token
			}
		}
		for _, l := range mustLog(f, middle, store.Token{}) {
			seqs, err := f.b.Resolve(background, l.Token, []store.Key{l.Key})
			if err != nil || seqs[0] != l.Seq {
				f.Fatalf("the token of operation %d of %s is that of %v, %v", l.Seq, l.Key, seqs, err)
			}
		}
	}},
	{"the log of an empty store ends at a token of its own", func(f *fixture) {
		empty := f.end()
		if empty.IsZero() {
			f.Errorf("the end of an empty log is the zero token")
		}
		mustLogged(f, store.Token{}, empty, "")
		mustLogged(f, empty, store.Token{}, "")
		f.append(key("a"), "1")
		mustLogged(f, store.Token{}, empty, "")
		mustLogged(f, empty, f.end(), "a1")
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
