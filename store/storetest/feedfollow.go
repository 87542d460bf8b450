package storetest

import (
	"strings"
	"sync"

	"github.com/refold-go/refold/store"
)

// followChecks are those of who follows the feed for long.
var followChecks = []check{
	{"many changes, and large ones, come in order", func(f *fixture) {
		n := small(300, 1500)
		appendMany(f, n)
		var commits []store.Commit
		for i := range n {
			c := store.Commit{Key: key(number(i * 7 % n)), Applied: 1, View: viewOf(1)}
			if i%100 == 50 {
				c.View = []byte(strings.Repeat("v", 700_000))
			}
			commits = append(commits, c)
		}
		for i := 0; i < n; i += 100 {
			f.commit(commits[i:min(i+100, n)]...)
		}
		all := mustChanges(f, store.Cursor{})
		if len(all) != n {
			f.Fatalf("there are %d changes, want %d", len(all), n)
		}
		for i, c := range all {
			if c.Document.Key != commits[i].Key || len(c.Document.View) != len(commits[i].View) {
				f.Fatalf("change %d is of %s, want %s", i, c.Document.Key, commits[i].Key)
			}
		}
		if rest := mustChanges(f, all[n-3].Cursor); len(rest) != 2 {
			f.Errorf("after the third but last are %d changes", len(rest))
		}
	}},
	{"from backlog to live nothing is missed", func(f *fixture) {
		documents, each := 12, small(20, 120)
		for i := range documents {
			f.append(key(number(i)), make([]string, each)...)
			f.fold(key(number(i)), 1)
		}
		done := make(chan struct{})
		var group sync.WaitGroup
		for g := range 3 {
			group.Go(func() {
				for applied := range int64(each - 1) {
					for i := g; i < documents; i += 3 {
						c := store.Commit{Key: key(number(i)), Loaded: applied + 1, Applied: applied + 2, View: viewOf(applied + 2)}
						if out, err := f.b.Commit(background, []store.Commit{c}); err != nil || out[0] == store.Stale {
							f.Errorf("Commit of %s: %v, %v", c.Key, out, err)
							return
						}
					}
				}
			})
		}
		go func() {
			group.Wait()
			close(done)
		}()
		defer group.Wait()
		var last store.Cursor
		seen := make(map[store.Key]int64)
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			for _, c := range mustChanges(f, last) {
				if d := c.Document; d.Applied < seen[d.Key] || string(d.View) != string(viewOf(d.Applied)) {
					f.Fatalf("%s came at %d after %d, with the view %q", d.Key, d.Applied, seen[d.Key], d.View)
				}
				seen[c.Document.Key], last = c.Document.Applied, c.Cursor
			}
		}
		for i := range documents {
			if seen[key(number(i))] != int64(each) {
				f.Errorf("%s was last seen at %d, want %d", number(i), seen[key(number(i))], each)
			}
		}
	}},
	{"the loop may call any method, and ends", func(f *fixture) {
		n := small(300, 1200)
		appendMany(f, n)
		for i := range n {
			f.fold(key(number(i)), 1)
		}
		seen, last := make(map[store.Key]bool), store.Cursor{}
		loops := 0
		for c, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithViews) {
			if err != nil {
				f.Fatal(err)
			}
			if !last.Before(c.Cursor) {
				f.Fatalf("cursor %s came after %s", c.Cursor, last)
			}
			last, seen[c.Document.Key] = c.Cursor, true
			if loops++; loops%200 == 1 && loops < 2*n {
				callEverything(f, c.Document.Key)
			}
		}
		if len(seen) != n {
			f.Errorf("%d documents came, want %d", len(seen), n)
		}
		mustChange(f, last, "")
	}},
	{"leaving the loop releases everything", func(f *fixture) {
		appendMany(f, 20)
		for i := range 20 {
			f.fold(key(number(i)), 1)
		}
		for range 50 {
			for _, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithViews) {
				if err != nil {
					f.Fatal(err)
				}
				break
			}
		}
		callEverything(f, key(number(3)))
	}},
	{"what it returns belongs to the caller", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: []byte("view"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e"}})
		before := contents(f.T, f.b)
		for _, c := range mustChanges(f, store.Cursor{}) {
			scribble(c.Document.View)
			*c.Document.Failure = store.Failure{}
		}
		f.mustContain(before)
	}},
	{"cursors survive reopening, and none is given again", func(f *fixture) {
		f.append(key("a"), make([]string, 20)...)
		f.append(key("b"), "1")
		f.fold(key("a"), 1)
		first := lastChange(f)
		f.fold(key("b"), 1)
		given := []store.Cursor{first, lastChange(f)}
		for round := range int64(3) {
			f.reopen()
			mustChange(f, store.Cursor{}, "a b")
			mustChange(f, first, "b")
			mustChange(f, given[len(given)-1], "")
			given = append(given, lastChange(f))
			f.fold(key("a"), round+2)
			c := mustChange(f, given[len(given)-1], "a")
			for _, old := range given {
				if !old.Before(c[0].Cursor) {
					f.Fatalf("cursor %s was given before %s, which is new", old, c[0].Cursor)
				}
			}
			given = append(given, c[0].Cursor)
			f.append(key("b"), "more")
			f.fold(key("b"), round+2)
			mustChange(f, c[0].Cursor, "b")
			given = append(given, lastChange(f))
			first = c[0].Cursor
		}
	}},
	{"C2_105_updates_and_one_after_coming_back", func(f *fixture) {
		const updates = 105
		var want []string
		for i := range updates {
			f.append(key(number(i)), "1")
			f.fold(key(number(i)), 1)
			want = append(want, number(i))
		}
		var last store.Cursor // of who was away since the third
		for c, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithoutViews) {
			if err != nil {
				f.Fatal(err)
			}
			if last = c.Cursor; c.Document.Key.ID == number(2) {
				break
			}
		}
		f.append(key(number(updates)), "1")
		f.fold(key(number(updates)), 1)
		want = append(want, number(updates))
		mustChange(f, last, strings.Join(want[3:], " "))
		mustChange(f, store.Cursor{}, strings.Join(want, " "))
	}},
	{"handles have one counter", func(f *fixture) {
		second := &fixture{suite: f.suite, T: f.T, b: f.second()}
		f.append(key("a"), make([]string, 20)...)
		f.append(key("b"), make([]string, 20)...)
		last := lastChange(f)
		for i := range int64(10) {
			f.fold(key("a"), i+1)
			last = lastOf(mustChange(second, last, "a"))
			second.fold(key("b"), i+1)
			last = lastOf(mustChange(f, last, "b"))
			if a, b := lastChange(f), lastChange(second); a != b {
				f.Fatalf("the last change is %s by one handle and %s by the other", a, b)
			}
		}
		third := &fixture{suite: f.suite, T: f.T, b: f.second()}
		mustChange(third, last, "")
		f.fold(key("a"), 11)
		mustChange(third, last, "a")
	}},
}
