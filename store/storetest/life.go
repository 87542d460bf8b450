package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/refold-go/refold/store"
)

var lifeChecks = []check{
	{"after close every method returns ErrClosed", func(f *fixture) {
		token := f.appendAll(store.Append{Key: key("a"), Entries: entries("1")}).Token
		mustClose(f)
		for name, call := range methods(f.b, token) {
			if err := call(background); !errors.Is(err, store.ErrClosed) {
				f.Errorf("%s after Close: %v", name, err)
			}
		}
	}},
	{"closing again does nothing", func(f *fixture) {
		mustClose(f)
		mustClose(f)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := f.b.Close(); err != nil {
					f.Errorf("Close again: %v", err)
				}
			})
		}
		group.Wait()
	}},
	{"closing in a loop ends the stream", func(f *fixture) {
		appendMany(f, 1000)
		var last error
		n := 0
		for _, err := range f.b.Scan(background, "notes", "", store.WithViews) {
			if n == 0 {
				mustClose(f)
			}
			n, last = n+1, err
		}
		// What was read ahead may still come; then the error, if more is missing.
		if n < 1000 && !errors.Is(last, store.ErrClosed) {
			f.Errorf("the stream ended after %d elements with %v", n, last)
		}
	}},
	{"close waits for the calls in hand", func(f *fixture) {
		if f.Reopen == nil {
			f.Skip("the backend keeps nothing")
		}
		const appenders = 8
		acknowledged := make([]int64, appenders)
		var begun, group sync.WaitGroup
		begun.Add(appenders)
		for n := range appenders {
			group.Go(func() {
				for {
					_, err := f.b.Append(background, []store.Append{{Key: key(fmt.Sprint(n)), Entries: entries("1")}})
					if acknowledged[n] == 0 {
						begun.Done()
					}
					if err != nil {
						if !errors.Is(err, store.ErrClosed) {
							f.Errorf("Append: %v", err)
						}
						return
					}
					acknowledged[n]++
				}
			})
		}
		begun.Wait()
		mustClose(f)
		group.Wait()
		f.reopen()
		f.closed = false
		for n := range appenders {
			if head := f.load(key(fmt.Sprint(n))).Head; head != acknowledged[n] {
				f.Errorf("appender %d has %d operations stored and %d acknowledged", n, head, acknowledged[n])
			}
		}
	}},
	{"reads with an ended context return its cause or succeed", func(f *fixture) {
		token := f.appendAll(store.Append{Key: key("a"), Entries: entries("1")}).Token
		for name, call := range methods(f.b, token) {
			if err := call(ended()); err != nil && !errors.Is(err, errStopped) && !errors.Is(err, context.Canceled) {
				f.Errorf("%s with an ended context: %v", name, err)
			}
		}
	}},
	{"a stream with an error ends", func(f *fixture) {
		appendMany(f, 10)
		mustClose(f)
		streams := map[string]int{}
		for _, err := range f.b.Runnable(background, []string{"notes"}) {
			streams["Runnable"]++
			mustBeClosed(f, err)
		}
		for _, err := range f.b.Scan(background, "notes", "", store.WithViews) {
			streams["Scan"]++
			mustBeClosed(f, err)
		}
		for _, err := range f.b.Parked(background, "notes") {
			streams["Parked"]++
			mustBeClosed(f, err)
		}
		for _, err := range f.b.Discards(background, "notes") {
			streams["Discards"]++
			mustBeClosed(f, err)
		}
		for _, err := range f.b.Log(background, store.Token{}, store.Token{}) {
			streams["Log"]++
			mustBeClosed(f, err)
		}
		for _, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithViews) {
			streams["Changes"]++
			mustBeClosed(f, err)
		}
		for _, name := range []string{"Runnable", "Scan", "Parked", "Discards", "Log", "Changes"} {
			if streams[name] != 1 {
				f.Errorf("%s returned %d elements of a closed store, want one error", name, streams[name])
			}
		}
	}},
	{"two stores share nothing", func(f *fixture) {
		f.append(key("a"), "1")
		before := contents(f.T, f.b)
		other := f.another()
		if _, err := other.Append(background, []store.Append{{Key: key("a"), Entries: entries("x", "y")}}); err != nil {
			f.Fatal(err)
		}
		mustRelease(f, mustClaim(f, other))
		f.mustContain(before)
	}},
}

// methods returns a call of each method, with input that a store with an
// operation of notes/a accepts.
func methods(b store.Backend, token store.Token) map[string]func(context.Context) error {
	k := key("a")
	calls := map[string]func(context.Context) error{
		"Append": func(ctx context.Context) error {
			_, err := b.Append(ctx, []store.Append{{Key: k, Entries: entries("1")}})
			return err
		},
		"Load": func(ctx context.Context) error {
			_, err := b.Load(ctx, []store.Key{k}, store.WithViews)
			return err
		},
		"Operations": func(ctx context.Context) error {
			_, err := b.Operations(ctx, []store.Range{{Key: k}}, store.Budget{})
			return err
		},
		"Commit": func(ctx context.Context) error {
			_, err := b.Commit(ctx, []store.Commit{{Key: k, Applied: 1, View: []byte("1")}})
			return err
		},
		"Runnable": func(ctx context.Context) error {
			for _, err := range b.Runnable(ctx, []string{"notes"}) {
				return err
			}
			return nil
		},
		"Scan": func(ctx context.Context) error {
			for _, err := range b.Scan(ctx, "notes", "", store.WithViews) {
				return err
			}
			return nil
		},
		"Parked": func(ctx context.Context) error {
			for _, err := range b.Parked(ctx, "notes") {
				return err
			}
			return nil
		},
		"Resume": func(ctx context.Context) error {
			_, err := b.Resume(ctx, []store.Key{k})
			return err
		},
		"Register":    func(ctx context.Context) error { return b.Register(ctx, "notes", 1) },
		"Collections": func(ctx context.Context) error { _, err := b.Collections(ctx); return err },
		"Resolve":     func(ctx context.Context) error { _, err := b.Resolve(ctx, token, []store.Key{k}); return err },
		"End":         func(ctx context.Context) error { _, err := b.End(ctx); return err },
		"Log": func(ctx context.Context) error {
			for _, err := range b.Log(ctx, store.Token{}, token) {
				return err
			}
			return nil
		},
		"Changes": func(ctx context.Context) error {
			for _, err := range b.Changes(ctx, "notes", store.Cursor{}, store.WithViews) {
				return err
			}
			return nil
		},
		"LastChange": func(ctx context.Context) error { _, err := b.LastChange(ctx); return err },
		"Claim":      func(ctx context.Context) error { _, err := b.Claim(ctx); return err },
		"Share":      func(ctx context.Context) error { _, err := b.Share(ctx); return err },
		"Lease": func(ctx context.Context) error {
			_, err := b.Lease(ctx, "h", longTerms, []store.Key{k}, false)
			return err
		},
		"Lengthen": func(ctx context.Context) error {
			_, err := b.Lengthen(ctx, "h", longTerms, []store.Held{{Key: k, Epoch: 1}})
			return err
		},
		"Release": func(ctx context.Context) error {
			_, err := b.Release(ctx, "h", []store.Held{{Key: k, Epoch: 1}})
			return err
		},
		"Discard": func(ctx context.Context) error { return b.Discard(ctx, discardOf(k, 1)) },
		"Discards": func(ctx context.Context) error {
			for _, err := range b.Discards(ctx, "notes") {
				return err
			}
			return nil
		},
		"Pause":     func(ctx context.Context) error { return b.Pause(ctx, "notes", false) },
		"Count":     func(ctx context.Context) error { _, err := b.Count(ctx, "notes"); return err },
		"Forget":    func(ctx context.Context) error { return b.Forget(ctx, key("nobody")) },
		"Forgotten": func(ctx context.Context) error { _, err := b.Forgotten(ctx, k); return err },
		"Drop":      func(ctx context.Context) error { return b.Drop(ctx, "nothing") },
	}
	maps.Copy(calls, generatorMethods(b))
	maps.Copy(calls, deriverMethods(b))
	if writers, ok := b.(store.Writers); ok {
		calls["Standings"] = func(ctx context.Context) error { _, err := writers.Standings(ctx); return err }
		calls["Fence"] = func(ctx context.Context) error {
			w, epoch := writers.Writer()
			_, err := writers.Fence(ctx, w, epoch)
			return err
		}
	}
	if checker, ok := b.(store.Checker); ok {
		calls["Check"] = checker.Check
	}
	if follower, ok := b.(store.Follower); ok {
		calls["Follow"] = func(ctx context.Context) error { _, err := follower.Follow(ctx, 0); return err }
	}
	if transactor, ok := b.(store.Transactor); ok {
		calls["Update"] = func(ctx context.Context) error {
			return transactor.Update(ctx, func(context.Context, *sql.Tx) error { return nil })
		}
	}
	return calls
}

func mustClose(f *fixture) {
	f.Helper()
	f.closed = true
	if err := f.b.Close(); err != nil {
		f.Fatalf("Close: %v", err)
	}
}

func mustBeClosed(f *fixture, err error) {
	f.Helper()
	if !errors.Is(err, store.ErrClosed) {
		f.Errorf("error is %v, want %v", err, store.ErrClosed)
	}
}
