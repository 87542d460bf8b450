package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// A step is something that an application does with a store. do returns what that
// changes if it takes effect; it may be done again.
type step struct {
	name string
	do   func(ctx context.Context, st *sqlite.Store) (effect, error)
}

// views reports whether the step stores views alone, which a power cut may take.
func (s step) views() bool { return strings.HasPrefix(s.name, "commit ") }

// effect changes a world. nil changes nothing.
type effect func(w *world)

// of returns the key of a document: "a" is notes/a.
func of(id string) store.Key { return store.Key{Collection: "notes", ID: id} }

func appending(size int, key store.Key, ids ...string) step {
	return step{fmt.Sprint("append ", key, ids), func(ctx context.Context, st *sqlite.Store) (effect, error) {
		_, err := st.Append(ctx, []store.Append{appendOf(size, key, ids...)})
		return func(w *world) { w.add(key, size, ids...) }, err
	}}
}

func appendOf(size int, key store.Key, ids ...string) store.Append {
	a := store.Append{Key: key}
	for _, id := range ids {
		a.Entries = append(a.Entries, entry(id, size))
	}
	return a
}

// appendingTo appends to several documents at once.
func appendingTo(size int, ids ...string) step {
	return step{fmt.Sprint("append to all of ", ids), func(ctx context.Context, st *sqlite.Store) (effect, error) {
		var appends []store.Append
		for _, id := range ids {
			appends = append(appends, appendOf(size, of(id), id+"-x", id+"-y"))
		}
		_, err := st.Append(ctx, appends)
		return func(w *world) {
			for _, id := range ids {
				w.add(of(id), size, id+"-x", id+"-y")
			}
		}, err
	}}
}

// committing folds the documents up to their heads, or up to a seq, and stores the
// views.
func committing(upTo int64, park bool, ids ...string) step {
	return step{fmt.Sprint(map[bool]string{true: "park ", false: "commit "}[park], ids, " up to ", upTo), func(ctx context.Context, st *sqlite.Store) (effect, error) {
		var keys []store.Key
		for _, id := range ids {
			keys = append(keys, of(id))
		}
		docs, err := st.Load(ctx, keys, store.WithViews)
		if err != nil {
			return nil, err
		}
		var commits []store.Commit
		for _, d := range docs {
			c := store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: max(d.Applied, min(d.Head, upTo))}
			if d.Head == 0 || d.Parked() {
				continue
			}
			operations, err := st.Operations(ctx, []store.Range{{Key: d.Key, To: c.Applied}}, store.Budget{})
			if err != nil {
				return nil, err
			}
			if n := min(int64(len(operations[0])), c.Applied); n != c.Applied && c.Applied > 0 {
				return nil, fmt.Errorf("%w: %d of %d operations of %s", errWrong, n, c.Applied, d.Key)
			}
			c.View = []byte(foldEntries(operations[0][:c.Applied]))
			if park {
				c.Failure = &store.Failure{Seq: c.Applied + 1, Attempts: 3, Error: "planted", Park: true}
			}
			commits = append(commits, c)
		}
		outcomes, err := st.Commit(ctx, commits)
		return func(w *world) {
			for i, c := range commits {
				if outcomes == nil || outcomes[i] != store.Stale {
					w.commit(c)
				}
			}
		}, err
	}}
}

func (w *world) commit(c store.Commit) {
	w.change(c.Key, func(d *document) {
		if d.applied != c.Loaded || d.failure.park {
			return
		}
		if c.Applied > d.applied {
			d.applied, d.view = c.Applied, string(c.View)
		}
		d.failure = failure{}
		if f := c.Failure; f != nil {
			d.failure = failure{f.Seq, int64(f.Attempts), f.Park}
		}
	})
}

const all = 1 << 30 // committing up to the head

// script is a life of a store in which everything happens. Between two parts it is
// closed and opened again.
func script(path string) [][]step {
	parts := scriptOfDerived(path)
	for i := range parts {
		parts[i] = slices.DeleteFunc(parts[i], func(s step) bool { return s.name == deriving.name || s.name == tagging.name })
	}
	return parts
}

// scriptOfDerived has a derived collection besides.
func scriptOfDerived(path string) [][]step {
	return [][]step{{
		{"register", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			return func(w *world) { w.collections["notes"] = collection{1, w.collections["notes"].paused} }, st.Register(ctx, "notes", 1)
		}},
		appending(10, of("a"), "a1", "a2"),
		appendingTo(10, "b", "c"),
		appending(20_000, of("d"), "d1"),
		committing(all, false, "a", "d"),
		committing(1, false, "b"),
		deriving,
		tagging,
		looking,
		appending(10, of("a"), "a3"),
		committing(1, true, "b"),
		appending(10, of("b"), "b4"),
		{"resume", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			_, err := st.Resume(ctx, []store.Key{of("b")})
			return func(w *world) {
				w.change(of("b"), func(d *document) {
					if d.failure.park {
						d.failure.park, d.failure.attempts = false, 0
					}
				})
			}, err
		}},
		{"discard", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			return func(w *world) {
				w.change(of("b"), func(d *document) {
					if len(d.operations) < 2 || d.applied >= 2 || d.operations[1].discarded {
						return
					}
					d.operations[1].discarded = true
					if d.failure.seq == 2 && d.failure.park {
						d.failure.park, d.failure.attempts = false, 0
					}
				})
			}, st.Discard(ctx, store.Discard{Key: of("b"), Seq: 2, By: "test", Why: "planted"})
		}},
		claiming,
		{"append what is refused", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			first, err := st.Operations(ctx, []store.Range{{Key: of("a"), To: 1}}, store.Budget{})
			if err != nil || len(first[0]) == 0 || first[0][0].ID != "a1" {
				return nil, err // that append was refused
			}
			other := appendOf(10, of("a"), "a1")
			other.Entries[0].Body = []byte("other")
			if _, err = st.Append(ctx, []store.Append{other}); err == nil {
				return nil, fmt.Errorf("%w: an id with another body was accepted", errWrong)
			}
			return nil, err
		}},
		{"pause", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			return pausing(true), st.Pause(ctx, "notes", true)
		}},
		{"unpause", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			return pausing(false), st.Pause(ctx, "notes", false)
		}},
		committing(all, false, "b", "c"), // last, so that nothing of it is synced when the store is closed
	}, {
		appending(10, store.Key{Collection: "drops", ID: "x"}, "x1", "x2"),
		{"drop", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			return func(w *world) {
				delete(w.collections, "drops")
				delete(w.documents, store.Key{Collection: "drops", ID: "x"})
			}, st.Drop(ctx, "drops")
		}},
		tagging,
		{"forget", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			return func(w *world) {
				delete(w.documents, of("c"))
				w.forgotten[of("c")] = true
			}, st.Forget(ctx, of("c"))
		}},
		{"update", func(ctx context.Context, st *sqlite.Store) (effect, error) {
			err := st.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, err := st.AppendTx(ctx, tx, []store.Append{appendOf(10, of("e"), "e1")})
				return err
			})
			return func(w *world) { w.add(of("e"), 10, "e1") }, err
		}},
		appending(10, of("c"), "c3"), // which was forgotten
		looking,
		checkpointing(path),
		committing(all, false, "a", "b", "c", "d", "e"),
		tagging,
		appending(10, of("a"), "a4", "a5"),
		committing(4, false, "a"),
	}}
}

func pausing(paused bool) effect {
	return func(w *world) {
		if c, ok := w.collections["notes"]; ok {
			c.paused = paused
			w.collections["notes"] = c
		}
	}
}

// looking reads everything; what it sees is judged by the ledger.
var looking = step{"look", func(ctx context.Context, st *sqlite.Store) (effect, error) {
	_, err := look(ctx, st)
	return nil, err
}}

// checkpointing has another connection copy the log into the file, so that it is
// written from its start again.
func checkpointing(path string) step {
	return step{"checkpoint", func(ctx context.Context, _ *sqlite.Store) (effect, error) {
		db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw&_synchronous=FULL")
		if err != nil {
			return nil, err
		}
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(RESTART)")
		return nil, errors.Join(err, db.Close())
	}}
}

// claiming claims the store and gives it back.
var claiming = step{"claim", func(ctx context.Context, st *sqlite.Store) (effect, error) {
	c, err := st.Claim(ctx)
	if err != nil {
		return func(w *world) { w.marked = true }, err
	}
	if err := c.Release(); err != nil {
		return func(w *world) { w.marked = false }, fmt.Errorf("%w: %w", errNotReleased, err)
	}
	return func(w *world) { w.marked = false }, nil
}}

// errNotReleased means that a claim was made, and could not be released.
var errNotReleased = errors.New("the claim was not released")
