package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/refold-go/refold/store"
)

var resolverChecks = []check{
	{"a token is the highest seq at or below it", func(f *fixture) {
		keys := []store.Key{key("a"), key("b"), key("missing"), {Collection: "tasks", ID: "a"}, {Collection: "unknown", ID: "a"}}
		heads := make([]int64, len(keys))
		var tokens []store.Token
		var want []string
		for i := range small(30, 100) {
			n := []int{0, 1, 0, 3, 1, 1, 0}[i%7]
			more := make([]string, i%3+1)
			tokens = append(tokens, f.appendAll(store.Append{Key: keys[n], Entries: entries(more...)}).Token)
			heads[n] += int64(len(more))
			want = append(want, fmt.Sprint(heads))
		}
		f.fold(key("a"), 3)
		for i, token := range tokens {
			seqs, err := f.b.Resolve(background, token, keys)
			if err != nil || fmt.Sprint(seqs) != want[i] {
				f.Fatalf("token %s resolves to %v, %v, want %s", token, seqs, err, want[i])
			}
		}
	}},
	{"the zero token is before everything", func(f *fixture) {
		f.append(key("a"), "1")
		mustResolve(f, store.Token{}, "[0 0]", key("a"), key("missing"))
	}},
	{"the end of an empty log is before everything", func(f *fixture) {
		mustResolve(f, f.end(), "[0]", key("a"))
	}},
	{"end covers all that is in the log", func(f *fixture) {
		f.append(key("a"), "1", "2")
		last := f.appendAll(store.Append{Key: key("b"), Entries: entries("1")}).Token
		end := f.end()
		mustResolve(f, end, "[2 1]", key("a"), key("b"))
		f.append(key("a"), "3")
		f.fold(key("a"), 3)
		mustResolve(f, end, "[2 1]", key("a"), key("b"))
		mustResolve(f, last, "[2 1]", key("a"), key("b"))
		mustResolve(f, f.end(), "[3 1]", key("a"), key("b"))
	}},
	{"end does not cut through an append", func(f *fixture) {
		done := make(chan struct{})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range small(10, 50) {
					_, err := f.b.Append(background, []store.Append{
						{Key: key("a"), Entries: entries("1")}, {Key: key("b"), Entries: entries("1", "2")},
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
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			end, err := f.b.End(background)
			if err != nil {
				f.Errorf("End: %v", err)
				continue
			}
			seqs, err := f.b.Resolve(background, end, []store.Key{key("a"), key("b")})
			if err != nil || seqs[1] != 2*seqs[0] {
				f.Errorf("end is at %v, %v, and each append had 1 and 2 operations", seqs, err)
			}
		}
	}},
	{"a token can be written and read", func(f *fixture) {
		f.append(key("a"), "1")
		token := f.end()
		f.append(key("a"), "2")
		read, err := store.ParseToken(token.String())
		if err != nil || read != token {
			f.Fatalf("token %s was read as %s, %v", token, read, err)
		}
		mustResolve(f, read, "[1]", key("a"))
	}},
	{"a token of another store is foreign", func(f *fixture) {
		other := f.another()
		for _, b := range []store.Backend{f.b, other} {
			if _, err := b.Append(background, []store.Append{{Key: key("a"), Entries: entries("1", "2")}}); err != nil {
				f.Fatal(err)
			}
		}
		foreign, err := other.End(background)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := f.b.Resolve(background, foreign, []store.Key{key("a")}); !errors.Is(err, store.ErrForeignToken) {
			f.Errorf("a token of another store: %v", err)
		}
	}},
	{"a token beyond the end is of the future", func(f *fixture) {
		f.append(key("a"), "1", "2")
		end := f.end()
		for _, ahead := range []int64{1, 1 << 40} {
			if _, err := f.b.Resolve(background, beyond(f, end, ahead), []store.Key{key("a")}); !errors.Is(err, store.ErrFutureToken) {
				f.Errorf("a token %d beyond the end: %v", ahead, err)
			}
		}
		mustResolve(f, end, "[2]", key("a"))
	}},
	{"no keys are no error", func(f *fixture) {
		f.append(key("a"), "1")
		mustResolve(f, f.end(), "[]")
	}},
	{"tokens survive reopening", func(f *fixture) {
		f.append(key("a"), "1")
		token := f.end()
		f.append(key("a"), "2")
		f.reopen()
		mustResolve(f, token, "[1]", key("a"))
		mustResolve(f, f.end(), "[2]", key("a"))
	}},
}

func mustResolve(f *fixture, token store.Token, want string, keys ...store.Key) {
	f.Helper()
	seqs, err := f.b.Resolve(background, token, keys)
	if err != nil || fmt.Sprint(seqs) != want {
		f.Errorf("token %q resolves to %v, %v, want %s", token, seqs, err, want)
	}
}

// beyond returns the token that a store would have made if more operations had
// been appended since it made this one.
func beyond(f *fixture, token store.Token, more int64) store.Token {
	f.Helper()
	front, back, _ := strings.Cut(token.String(), ":m")
	position, err := strconv.ParseInt(back, 10, 64)
	if err != nil {
		f.Fatalf("token %s: %v", token, err)
	}
	later, err := store.ParseToken(fmt.Sprintf("%s:m%d", front, position+more))
	if err != nil {
		f.Fatal(err)
	}
	return later
}
