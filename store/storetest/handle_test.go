package storetest_test

import (
	"context"
	"hash/fnv"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/storetest"
)

// TestHandles runs the sections for stores that can be reopened, opened twice
// and followed, on handles that share a store in memory.
func TestHandles(t *testing.T) {
	storetest.Run(t,
		func(testing.TB) store.Backend { return &handle{shared: &shared{Store: memory.New(nil)}} },
		&storetest.Options{
			Reopen: func(t testing.TB, b store.Backend) store.Backend {
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				return &handle{shared: b.(*handle).shared}
			},
			Second: func(_ testing.TB, b store.Backend) store.Backend {
				return &handle{shared: b.(*handle).shared}
			},
		})
}

// shared is a store, with the mark of a claim that outlives handles.
type shared struct {
	*memory.Store
	marked atomic.Bool
	claims atomic.Int64 // those of all handles
}

// handle is a store on what it shares with other handles.
type handle struct {
	shared *shared

	// mu guards the following fields. It is held for reading during a call.
	mu       sync.RWMutex
	closed   bool
	releases []func()

	listeners store.Listeners // of this handle's closing
}

var (
	_ store.Backend  = (*handle)(nil)
	_ store.Follower = (*handle)(nil)
)

// Listen passes on what is announced by any handle, which a listener must expect.
func (h *handle) Listen(l store.Listener) (stop func()) {
	closed := h.listeners.Listen(store.Listener{Closed: l.Closed})
	l.Closed = nil
	shared := h.shared.Listen(l)
	return func() { closed(); shared() }
}

func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.listeners.Closed()
	}
	h.closed = true
	for _, giveUp := range h.releases {
		giveUp()
	}
	h.releases = nil
	return nil
}

// with makes a call, unless the handle is closed.
func with[T any](h *handle, call func() (T, error)) (T, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.closed {
		var none T
		return none, store.ErrClosed
	}
	return call()
}

// stream passes on a stream until the handle is closed.
func stream[T any](h *handle, from iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		open := func() error {
			_, err := with(h, func() (bool, error) { return true, nil })
			return err
		}
		var none T
		if err := open(); err != nil {
			yield(none, err)
			return
		}
		for element, err := range from {
			if closed := open(); closed != nil {
				element, err = none, closed
			}
			if !yield(element, err) || err != nil {
				return
			}
		}
	}
}

func (h *handle) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	return with(h, func() (store.Appended, error) { return h.shared.Append(ctx, appends) })
}

func (h *handle) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	return with(h, func() ([]store.Document, error) { return h.shared.Load(ctx, keys, parts) })
}

func (h *handle) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	return with(h, func() ([][]store.Operation, error) { return h.shared.Operations(ctx, ranges, budget) })
}

func (h *handle) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	return with(h, func() ([]store.Outcome, error) { return h.shared.Commit(ctx, commits) })
}

func (h *handle) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return stream(h, h.shared.Runnable(ctx, collections))
}

func (h *handle) Scan(ctx context.Context, collection, after string, parts store.Parts) iter.Seq2[store.Document, error] {
	return stream(h, h.shared.Scan(ctx, collection, after, parts))
}

func (h *handle) Parked(ctx context.Context, collection string) iter.Seq2[store.Document, error] {
	return stream(h, h.shared.Parked(ctx, collection))
}

func (h *handle) Register(ctx context.Context, name string, version int) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Register(ctx, name, version) })
	return err
}

func (h *handle) Collections(ctx context.Context) ([]store.Collection, error) {
	return with(h, func() ([]store.Collection, error) { return h.shared.Collections(ctx) })
}

func (h *handle) Resolve(ctx context.Context, token store.Token, keys []store.Key) ([]int64, error) {
	return with(h, func() ([]int64, error) { return h.shared.Resolve(ctx, token, keys) })
}

func (h *handle) End(ctx context.Context) (store.Token, error) {
	return with(h, func() (store.Token, error) { return h.shared.End(ctx) })
}

func (h *handle) Resume(ctx context.Context, keys []store.Key) (int, error) {
	return with(h, func() (int, error) { return h.shared.Resume(ctx, keys) })
}

func (h *handle) Pause(ctx context.Context, name string, paused bool) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Pause(ctx, name, paused) })
	return err
}

func (h *handle) Count(ctx context.Context, name string) (store.Counts, error) {
	return with(h, func() (store.Counts, error) { return h.shared.Count(ctx, name) })
}

func (h *handle) Discard(ctx context.Context, d store.Discard) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Discard(ctx, d) })
	return err
}

func (h *handle) Discards(ctx context.Context, collection string) iter.Seq2[store.Discard, error] {
	return stream(h, h.shared.Discards(ctx, collection))
}

func (h *handle) Forget(ctx context.Context, k store.Key) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Forget(ctx, k) })
	return err
}

func (h *handle) Forgotten(ctx context.Context, k store.Key) (bool, error) {
	return with(h, func() (bool, error) { return h.shared.Forgotten(ctx, k) })
}

func (h *handle) Drop(ctx context.Context, name string) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Drop(ctx, name) })
	return err
}

func (h *handle) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) ([]store.Leased, error) {
	return with(h, func() ([]store.Leased, error) { return h.shared.Lease(ctx, holder, terms, keys, over) })
}

func (h *handle) Lengthen(ctx context.Context, holder string, terms store.LeaseTerms, held []store.Held) ([]bool, error) {
	return with(h, func() ([]bool, error) { return h.shared.Lengthen(ctx, holder, terms, held) })
}

func (h *handle) Release(ctx context.Context, holder string, held []store.Held) ([]bool, error) {
	return with(h, func() ([]bool, error) { return h.shared.Release(ctx, holder, held) })
}

func (h *handle) Claim(ctx context.Context) (store.Claim, error) { return h.claim(ctx, h.shared.Claim) }

func (h *handle) Share(ctx context.Context) (store.Claim, error) { return h.claim(ctx, h.shared.Share) }

// claim leaves a mark beside the shared store, which outlives the handle.
func (h *handle) claim(ctx context.Context, take func(context.Context) (store.Claim, error)) (store.Claim, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return store.Claim{}, store.ErrClosed
	}
	claim, err := take(ctx)
	if err != nil {
		return claim, err
	}
	others := h.shared.claims.Add(1) > 1
	claim.Unclean = h.shared.marked.Swap(true) && !others
	giveUp := sync.OnceFunc(func() {
		h.shared.claims.Add(-1)
		_ = claim.Release()
	})
	h.releases = append(h.releases, giveUp)
	released := false
	end := func(marked bool) func() error {
		return func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if released {
				return nil
			}
			released = true
			if h.closed {
				return store.ErrClosed
			}
			if h.shared.claims.Load() == 1 {
				h.shared.marked.Store(marked)
			}
			giveUp()
			return nil
		}
	}
	return store.Claim{Unclean: claim.Unclean, End: claim.End, Holder: claim.Holder, Release: end(false), Abandon: end(true)}, nil
}

// Follow looks at the end of the log every few milliseconds.
func (h *handle) Follow(ctx context.Context, after uint64) (uint64, error) {
	for {
		end, err := h.End(ctx)
		if err != nil {
			return 0, err
		}
		hash := fnv.New64a()
		hash.Write([]byte(end.String()))
		if now := hash.Sum64(); now != after {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (h *handle) Log(ctx context.Context, from, to store.Token) iter.Seq2[store.Logged, error] {
	return stream(h, h.shared.Log(ctx, from, to))
}

func (h *handle) Changes(ctx context.Context, collection string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	return stream(h, h.shared.Changes(ctx, collection, after, parts))
}

func (h *handle) LastChange(ctx context.Context) (store.Cursor, error) {
	return with(h, func() (store.Cursor, error) { return h.shared.LastChange(ctx) })
}

func (h *handle) Generations(ctx context.Context, collection string) ([]store.Generation, error) {
	return with(h, func() ([]store.Generation, error) { return h.shared.Generations(ctx, collection) })
}

func (h *handle) Fill(ctx context.Context, generation string) (bool, error) {
	return with(h, func() (bool, error) { return h.shared.Fill(ctx, generation) })
}

func (h *handle) Switch(ctx context.Context, generation string, terms store.SwitchTerms) (store.Obstacle, error) {
	return with(h, func() (store.Obstacle, error) { return h.shared.Switch(ctx, generation, terms) })
}

func (h *handle) Hold(ctx context.Context, collection string, mine time.Time, d time.Duration) (time.Time, error) {
	return with(h, func() (time.Time, error) { return h.shared.Hold(ctx, collection, mine, d) })
}

func (h *handle) Rollback(ctx context.Context, collection string) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Rollback(ctx, collection) })
	return err
}

func (h *handle) Retire(ctx context.Context, generation string) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Retire(ctx, generation) })
	return err
}

func (h *handle) Sweep(ctx context.Context) (bool, error) {
	return with(h, func() (bool, error) { return h.shared.Sweep(ctx) })
}

func (h *handle) Derive(ctx context.Context, d store.Derivation) error {
	_, err := with(h, func() (bool, error) { return true, h.shared.Derive(ctx, d) })
	return err
}

func (h *handle) Contributions(ctx context.Context, k store.Key, after store.Contributor, budget store.Budget) ([]store.Contribution, error) {
	return with(h, func() ([]store.Contribution, error) { return h.shared.Contributions(ctx, k, after, budget) })
}

func (h *handle) Reads(ctx context.Context, k store.Key) ([]store.Read, error) {
	return with(h, func() ([]store.Read, error) { return h.shared.Reads(ctx, k) })
}
