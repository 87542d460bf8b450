package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// logTime is an application's time.
var logTime = time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)

// appendMixed makes n appends to documents of several collections and returns
// their tokens.
func appendMixed(f *fixture, n int) []store.Token {
	f.Helper()
	var tokens []store.Token
	for i := range n {
		task := store.Key{Collection: "tasks", ID: fmt.Sprint("t", i%3)}
		more := make([]string, i%4+1)
		call := []store.Append{{Key: key(fmt.Sprint("n", i%7)), Entries: entries(more...)}}
		switch i % 3 {
		case 1:
			call = append(call, store.Append{Key: task, History: i%2 == 0, Entries: entries("x", "y")})
		case 2:
			call[0].Key = task
		}
		tokens = append(tokens, f.appendAll(call...).Token)
	}
	return tokens
}

// mustLog reads the log between two tokens and checks its order.
func mustLog(f *fixture, from, to store.Token) []store.Logged {
	f.Helper()
	all := collect(f.T, f.b.Log(background, from, to))
	last := store.Position(0)
	seqs := make(map[store.Key]int64)
	for _, l := range all {
		if l.Position <= last {
			f.Fatalf("position %d comes after %d", l.Position, last)
		}
		if before := seqs[l.Key]; before > 0 && l.Seq != before+1 {
			f.Fatalf("operation %d of %s comes after %d", l.Seq, l.Key, before)
		}
		last, seqs[l.Key] = l.Position, l.Seq
	}
	return all
}

// mustLogAll compares the whole log with the operations of all documents.
func mustLogAll(f *fixture) {
	f.Helper()
	checkConsistent(f.T, f.b, f.removed)
}

// mustLogged compares the ids and seqs of what is between two tokens.
func mustLogged(f *fixture, from, to store.Token, want string) {
	f.Helper()
	var got []string
	for _, l := range mustLog(f, from, to) {
		got = append(got, fmt.Sprint(l.Key.ID, l.Seq))
	}
	if strings.Join(got, " ") != want {
		f.Errorf("after %q and up to %q is %q, want %q", from, to, strings.Join(got, " "), want)
	}
}

// refuseLog reads the log between tokens that cannot be, and returns the error.
func (f *fixture) refuseLog(from, to store.Token) (last error) {
	f.Helper()
	n := 0
	for l, err := range f.b.Log(background, from, to) {
		if n, last = n+1, err; err == nil {
			f.Errorf("after %q and up to %q is operation %d of %s", from, to, l.Seq, l.Key)
			break
		}
	}
	if n != 1 {
		f.Errorf("after %q and up to %q are %d elements, want one error", from, to, n)
	}
	return last
}

// mustBeFuture checks that an error names a token and the end of the log.
func mustBeFuture(f *fixture, err error, token store.Token) {
	f.Helper()
	future, ok := errors.AsType[*store.FutureTokenError](err)
	if !ok || !errors.Is(err, store.ErrFutureToken) || future.Token != token || future.End != f.end() {
		f.Errorf("error is %v, want that %s is of the future and the end %s", err, token, f.end())
	}
}

func positions(all []store.Logged) string {
	var at []store.Position
	for _, l := range all {
		at = append(at, l.Position)
	}
	return fmt.Sprint(at)
}

func describeLogged(l store.Logged) string { return describeOperation(l.Key, l.Operation) }
