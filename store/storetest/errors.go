package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// errStopped is the cause of contexts that have ended.
var errStopped = errors.New("stopped by the test")

// ended returns a context that has ended with errStopped.
func ended() context.Context {
	ctx, cancel := context.WithCancelCause(background)
	cancel(errStopped)
	return ctx
}

var errorChecks = []check{
	{"F17_AppendThatFailedStoredNothing", func(f *fixture) {
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1"), {}}})
		f.park(key("a"))
		reused := named("1")
		reused.Body = nil
		entry := func(e store.Entry) store.Append {
			return store.Append{Key: key("a"), Entries: []store.Entry{named("new"), e}}
		}
		long := strings.Repeat("x", store.MaxMeta+1)
		for name, c := range map[string]struct {
			want error
			bad  store.Append
		}{
			"head":             {store.ErrConflict, store.Append{Key: key("a"), Head: new(int64(1)), Entries: entries("1")}},
			"no document":      {store.ErrConflict, store.Append{Key: key("b"), Head: new(int64(1)), Entries: entries("1")}},
			"document exists":  {store.ErrConflict, store.Append{Key: key("a"), Head: new(int64(0)), Entries: entries("1")}},
			"negative head":    {store.ErrInvalid, store.Append{Key: key("a"), Head: new(int64(-1)), Entries: entries("1")}},
			"id reused":        {store.ErrIDReused, entry(reused)},
			"id reused within": {store.ErrIDReused, entry(store.Entry{ID: "new"})},
			"id too long":      {store.ErrInvalid, entry(store.Entry{ID: long[:store.MaxOperationID+1]})},
			"id not UTF-8":     {store.ErrInvalid, entry(store.Entry{ID: "\xff"})},
			"id with NUL":      {store.ErrInvalid, entry(store.Entry{ID: "a\x00"})},
			"kind too long":    {store.ErrInvalid, entry(store.Entry{Kind: long[:store.MaxKind+1]})},
			"meta too long":    {store.ErrInvalid, entry(store.Entry{Meta: []byte(long)})},
			"time too early":   {store.ErrInvalid, entry(store.Entry{Time: time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC)})},
			"document twice":   {store.ErrInvalid, store.Append{Key: key("fine"), Entries: entries("1")}},
			"no entries":       {store.ErrInvalid, store.Append{Key: key("a")}},
			"document id":      {store.ErrInvalid, store.Append{Key: key(""), Entries: entries("1")}},
			"collection":       {store.ErrInvalid, store.Append{Key: store.Key{Collection: "No", ID: "a"}, Entries: entries("1")}},
		} {
			fine := store.Append{Key: key("fine"), Entries: entries("1")}
			fresh := store.Append{Key: store.Key{Collection: "fresh", ID: "a"}, Entries: entries("1")}
			for _, call := range [][]store.Append{{c.bad, fine, fresh}, {fine, fresh, c.bad}} {
				if err := f.refuse(c.want, call...); errors.Is(err, store.ErrInDoubt) {
					f.Errorf("%s: %v is in doubt", name, err)
				}
			}
		}
	}},
	{"a refused append does not disturb those beside it", func(f *fixture) {
		each := small(5, 30)
		var group sync.WaitGroup
		for n := range 8 {
			group.Go(func() {
				for i := range each {
					bad := n%2 == 1
					a := store.Append{Key: key(fmt.Sprint(n % 3)), Entries: entries("1", "2")}
					if bad {
						a.Head = new(int64(math.MaxInt64))
					}
					_, err := f.b.Append(background, []store.Append{{Key: key(fmt.Sprint("own", n)), Entries: entries("1")}, a})
					if bad != errors.Is(err, store.ErrConflict) || !bad && err != nil {
						f.Errorf("append %d of %d: %v", i, n, err)
					}
				}
			})
		}
		group.Wait()
		for n := range 8 {
			want := int64(each)
			if n%2 == 1 {
				want = 0
			}
			if head := f.load(key(fmt.Sprint("own", n))).Head; head != want {
				f.Errorf("appender %d has stored %d operations, want %d", n, head, want)
			}
		}
	}},
	{"a context that has ended stores nothing", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		f.park(key("b"))
		for name, call := range map[string]func(context.Context) error{
			"Append": func(ctx context.Context) error {
				_, err := f.b.Append(ctx, []store.Append{{Key: key("a"), Entries: entries("2")}})
				return err
			},
			"Commit": func(ctx context.Context) error {
				_, err := f.b.Commit(ctx, []store.Commit{{Key: key("a"), Applied: 1, View: []byte("1")}})
				return err
			},
			"Commit that parks": func(ctx context.Context) error {
				_, err := f.b.Commit(ctx, []store.Commit{{Key: key("a"), Failure: &store.Failure{Seq: 1, Attempts: 1, Park: true}}})
				return err
			},
		} {
			err := f.unchangedBy(store.ErrBusy, func() error { return call(ended()) })
			if !errors.Is(err, errStopped) || errors.Is(err, store.ErrInDoubt) {
				f.Errorf("%s: %v, want the context's cause", name, err)
			}
		}
		for name, call := range map[string]func() error{
			"Register": func() error { return f.b.Register(ended(), "fresh", 1) },
			"Resume":   func() error { _, err := f.b.Resume(ended(), []store.Key{key("b")}); return err },
			"Discard":  func() error { return f.b.Discard(ended(), discardOf(key("b"), 1)) },
			"Pause":    func() error { return f.b.Pause(ended(), "notes", true) },
			"Forget":   func() error { return f.b.Forget(ended(), key("a")) },
			"Drop":     func() error { return f.b.Drop(ended(), "notes") },
			"Claim":    func() error { _, err := f.b.Claim(ended()); return err },
		} {
			if err := f.unchangedBy(store.ErrBusy, call); !errors.Is(err, errStopped) {
				f.Errorf("%s: %v, want the context's cause", name, err)
			}
		}
		mustRelease(f, mustClaim(f, f.b))
		if yes, err := f.b.Forgotten(background, key("a")); yes || err != nil {
			f.Errorf("Forgotten: %t, %v", yes, err)
		}
	}},
	{"a context that ends during an append stores all or nothing", func(f *fixture) {
		stored := 0
		for i := range small(20, 200) {
			ctx, cancel := context.WithCancelCause(background)
			var group sync.WaitGroup
			group.Go(func() { cancel(errStopped) })
			_, err := f.b.Append(ctx, []store.Append{
				{Key: key("a"), Entries: entries(fmt.Sprint(i))}, {Key: key("b"), Entries: entries(fmt.Sprint(i))},
			})
			if err == nil {
				stored++
			} else if !errors.Is(err, store.ErrBusy) || !errors.Is(err, errStopped) {
				f.Fatalf("Append: %v", err)
			}
			group.Wait()
		}
		for _, k := range []store.Key{key("a"), key("b")} {
			if head := f.load(k).Head; head != int64(stored) {
				f.Errorf("%s has %d operations, %d appends succeeded", k, head, stored)
			}
		}
		f.append(key("a"), "the store still works")
	}},
}
