package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/position"
)

var writersChecks = []check{
	{"each handle is a writer of its own", func(f *fixture) {
		second := f.secondWriter()
		third := f.secondWriter()
		seen := make(map[store.Writer]bool)
		for _, b := range []store.Backend{f.b, second.b, third.b} {
			w, epoch := writer(f, b)
			if w == 0 || epoch == 0 || seen[w] {
				f.Errorf("writer %d in epoch %d, others are %v", w, epoch, seen)
			}
			seen[w] = true
			if s := standing(f, w); s.Epoch != epoch || s.State != position.Live {
				f.Errorf("of writer %d is stored %s, its epoch is %d", w, s, epoch)
			}
		}
		last := store.Writer(0)
		for _, s := range standings(f) {
			if s.Writer <= last {
				f.Errorf("writer %d comes after %d", s.Writer, last)
			}
			last = s.Writer
		}
	}},
	{"an operation says who wrote it", func(f *fixture) {
		second := f.secondWriter()
		mine, _ := writer(f, f.b)
		theirs, _ := writer(f, second.b)
		f.append(key("a"), "1")
		second.append(key("a"), "2")
		f.append(key("a"), "3", "4")
		second.append(key("b"), "1")
		want := fmt.Sprint(mine, theirs, mine, mine, theirs)
		for _, g := range []*fixture{f, second} {
			var got []any
			for _, l := range mustLog(g, store.Token{}, store.Token{}) {
				got = append(got, l.Writer)
			}
			if fmt.Sprint(got...) != want {
				f.Errorf("the log was written by %v, want %s", got, want)
			}
			for i, op := range g.operations(key("a")) {
				if op.Writer != []store.Writer{mine, theirs, mine, mine}[i] {
					f.Errorf("operation %d was written by %d", op.Seq, op.Writer)
				}
			}
		}
	}},
	{"a position that is open is in no token, and hides nobody else", func(f *fixture) {
		second := f.secondWriter()
		f.append(key("c"), "1")
		open := f.stall(store.Append{Key: key("a"), Entries: entries("1", "2")})
		before := second.end()
		token := second.appendAll(store.Append{Key: key("b"), Entries: entries("1")}).Token
		for _, g := range []*fixture{f, second} {
			mustResolve(g, g.end(), "[0 1 1]", key("a"), key("b"), key("c"))
			mustLogged(g, store.Token{}, g.end(), "c1 b1")
			mustLogged(g, before, store.Token{}, "b1")
		}
		end := second.end()
		open.goOn()
		stored := open.mustSucceed().Token
		for _, g := range []*fixture{f, second} {
			mustLogged(g, store.Token{}, token, "c1 b1")
			mustLogged(g, end, store.Token{}, "a1 a2")
			mustLogged(g, token, stored, "a1 a2")
			mustLogged(g, stored, store.Token{}, "")
			mustLogged(g, store.Token{}, store.Token{}, "c1 a1 a2 b1")
			mustResolve(g, token, "[0 1]", key("a"), key("b"))
			mustResolve(g, stored, "[2]", key("a"))
			mustResolve(g, g.end(), "[2 1]", key("a"), key("b"))
		}
	}},
	{"an append returns when its writer has nothing open before it", func(f *fixture) {
		f.secondWriter()
		open := f.stall(store.Append{Key: key("a"), Entries: entries("1")})
		beside := f.beside(func() (store.Appended, error) {
			return f.b.Append(background, []store.Append{{Key: key("b"), Entries: entries("1")}})
		})
		var early string
		if beside.over() { // then its token must not cover what is open
			early = "b1"
			mustLogged(f, store.Token{}, beside.result.Token, early)
		}
		open.goOn()
		stored := open.mustSucceed().Token
		token := beside.mustSucceed().Token
		mustResolve(f, token, "[1]", key("b"))
		if early != "" {
			mustLogged(f, store.Token{}, token, early)
		}
		mustResolve(f, stored, "[1]", key("a"))
		all := len(mustLog(f, store.Token{}, token)) + len(mustLog(f, token, store.Token{}))
		if all != 2 {
			f.Errorf("before and after the token are %d operations, want 2", all)
		}
	}},
	{"an append to the documents of one that is stalled comes after it", func(f *fixture) {
		second := f.secondWriter()
		open := f.stall(store.Append{Key: key("a"), Entries: entries("1", "2")}, store.Append{Key: key("b"), Entries: entries("1")})
		beside := f.beside(func() (store.Appended, error) {
			return second.b.Append(background, []store.Append{{Key: key("c"), Entries: entries("1")}, {Key: key("a"), Entries: entries("3")}})
		})
		beside.over() // it may wait before it draws, or be refused what it drew
		open.goOn()
		open.mustSucceed()
		beside.mustSucceed()
		last := store.Position(0)
		for _, op := range f.operations(key("a")) {
			if op.Position <= last {
				f.Errorf("operation %d is at %d, the one before it at %d", op.Seq, op.Position, last)
			}
			last = op.Position
		}
		mustLogAll(f)
	}},
	{"nobody is skipped when a stalled one commits late", func(f *fixture) {
		second, third := f.secondWriter(), f.secondWriter()
		var last store.Token
		var all []store.Logged
		read := func() {
			end := third.end()
			all = append(all, collect(f.T, third.b.Log(background, last, end))...)
			last = end
		}
		for i := range small(5, 20) {
			open := f.stall(
				store.Append{Key: key("x0"), Entries: entries(fmt.Sprint(i))},
				store.Append{Key: key("y0"), Entries: entries(fmt.Sprint(i))})
			read()
			second.appendAll(
				store.Append{Key: key("x1"), Entries: entries(fmt.Sprint(2 * i))},
				store.Append{Key: key("y1"), Entries: entries(fmt.Sprint(2 * i))})
			read()
			open.goOn()
			open.mustSucceed()
			second.appendAll(
				store.Append{Key: key("x1"), Entries: entries(fmt.Sprint(2*i + 1))},
				store.Append{Key: key("y1"), Entries: entries(fmt.Sprint(2*i + 1))})
			if i%2 == 0 {
				read()
			}
		}
		read()
		got := make(map[store.Key]int64)
		for _, l := range all {
			if got[l.Key]++; l.Seq != got[l.Key] {
				f.Fatalf("operation %d of %s came when %d was next", l.Seq, l.Key, got[l.Key])
			}
		}
		if whole := len(mustLog(f, store.Token{}, store.Token{})); len(all) != whole {
			f.Errorf("%d operations came, the log has %d", len(all), whole)
		}
	}},
	{"the end never goes back", func(f *fixture) {
		all := []*fixture{f, f.secondWriter(), f.secondWriter()}
		each := small(20, 100)
		done := make(chan struct{})
		var group sync.WaitGroup
		for n, g := range all {
			group.Go(func() {
				for i := range each {
					_, err := g.b.Append(background, []store.Append{
						{Key: key(fmt.Sprint("x", n)), Entries: entries(fmt.Sprint(i))},
						{Key: key("shared"), Entries: entries(fmt.Sprint(i))},
					})
					if err != nil {
						f.Errorf("Append: %v", err)
					}
				}
			})
		}
		go func() {
			group.Wait()
			close(done)
		}()
		defer group.Wait()
		var last store.Token
		var read []store.Logged
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			for _, g := range all {
				end := g.end()
				if !cut(f, last).AtMost(cut(f, end)) {
					f.Fatalf("the end was %s and is %s", last, end)
				}
				read = append(read, collect(f.T, g.b.Log(background, last, end))...)
				last = end
			}
		}
		seqs := make(map[store.Key]int64)
		for _, l := range read {
			if seqs[l.Key]++; l.Seq != seqs[l.Key] {
				f.Fatalf("operation %d of %s came when %d was next", l.Seq, l.Key, seqs[l.Key])
			}
		}
		if len(read) != 2*len(all)*each {
			f.Errorf("%d operations came, want %d", len(read), 2*len(all)*each)
		}
	}},
	{"an idle writer holds nobody back", func(f *fixture) {
		second := f.secondWriter()
		second.append(key("b"), "1")
		for i := range int64(10) {
			f.append(key("a"), "1")
			for _, g := range []*fixture{f, second} {
				end := g.end()
				mustResolve(g, end, fmt.Sprintf("[%d 1]", i+1), key("a"), key("b"))
				if c := cut(f, end); c.Max() != c.Min() {
					f.Errorf("the end is %s, and nothing is open", end)
				}
			}
		}
	}},
	{"a token that names a writer which never was is of the future", func(f *fixture) {
		f.secondWriter()
		end := f.appendAll(store.Append{Key: key("a"), Entries: entries("1", "2", "3")}).Token
		for _, more := range []string{fmt.Sprintf("~4711.%d", cut(f, end).Max()+1), fmt.Sprintf("~4711.%d", int64(1)<<40)} {
			mustBeOfNobody(f, end.String()+more)
		}
		mustBeOfNobody(f, end.String()[:17]+"m0~4711.1")
	}},
	{"epochs grow at reopening", func(f *fixture) {
		f.secondWriter()
		for range 3 {
			f.append(key("a"), "1")
			before := standings(f)
			f.reopen()
			w, epoch := writer(f, f.b)
			for _, s := range before {
				if s.Writer == w && epoch <= s.Epoch {
					f.Errorf("writer %d is opened in epoch %d, it was in %d", w, epoch, s.Epoch)
				}
				if now := standing(f, s.Writer); now.Epoch < s.Epoch || now.Completed < s.Completed {
					f.Errorf("of writer %d is stored %s, before it was %s", s.Writer, now, s)
				}
			}
		}
		mustLogged(f, store.Token{}, f.end(), "a1 a2 a3")
	}},
}

// mustBeOfNobody checks that the token of a text is of the future.
func mustBeOfNobody(f *fixture, text string) {
	f.Helper()
	token, err := store.ParseToken(text)
	if err != nil {
		f.Fatal(err)
	}
	_, err = f.b.Resolve(background, token, []store.Key{key("a")})
	mustBeFuture(f, err, token)
	mustBeFuture(f, f.refuseLog(token, store.Token{}), token)
	mustBeFuture(f, f.refuseLog(store.Token{}, token), token)
	if !errors.Is(err, store.ErrFutureToken) {
		f.Errorf("token %s: %v", token, err)
	}
}
