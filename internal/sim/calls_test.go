package sim

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// names returns the documents of a call, for the trace.
func names[T any](all []T, key func(*T) store.Key) string {
	parts := make([]string, len(all))
	for i := range all {
		parts[i] = key(&all[i]).ID
	}
	return strings.Join(parts, "+")
}

func own(k *store.Key) store.Key { return *k }

// token turns a token of the inner store into one that outlives it.
func (sh *shared) token(t store.Token) (store.Token, error) {
	if t.IsZero() {
		return t, nil
	}
	if sh.of == 0 {
		if _, err := fmt.Sscanf(t.String(), "%016x", (*uint64)(&sh.of)); err != nil {
			return t, err
		}
	}
	cut, err := t.Cut(sh.of)
	return cut.In(sh.outside), err
}

// inside turns it back. The inner store's incarnation is known if it gave out a
// token, else there are none.
func (sh *shared) inside(t store.Token) (store.Token, error) {
	cut, err := t.Cut(sh.outside)
	if err != nil || t.IsZero() {
		return t, err
	}
	if sh.of == 0 {
		end, err := sh.inner.End(context.Background())
		if err != nil {
			return t, err
		}
		if _, err := sh.token(end); err != nil {
			return t, err
		}
	}
	return cut.In(sh.of), nil
}

// Append implements [store.Store].
func (h *handle) Append(ctx context.Context, appends []store.Append) (got store.Appended, err error) {
	sh := h.sh
	call := "append to " + names(appends, func(a *store.Append) store.Key { return a.Key })
	err = h.write(ctx, call, func(late bool) error {
		want, do, wantErr := sh.model.plan(appends)
		sh.pending = func() {
			do()
			sh.log(true, func(st store.Backend) error {
				_, err := st.Append(context.Background(), appends)
				return err
			})
			for _, a := range appends {
				sh.touched[a.Key] = true
			}
		}
		result, err := sh.inner.Append(context.Background(), appends)
		if !late && h.p.dead.Load() {
			return errDead // it died before it could say so
		}
		if err == nil {
			sh.effect()
		}
		sh.pending = nil
		if diff := sameAppended(result, err, want, wantErr); diff != nil {
			h.p.w.fail("%s %s: %v", h.p.name, call, diff)
		}
		if err == nil {
			if result.Token, err = sh.token(result.Token); err != nil {
				return err
			}
		}
		got = result
		h.p.w.note(h.p.name, call, appendedText(result, err))
		return err
	})
	if err != nil {
		return store.Appended{}, err
	}
	return got, nil
}

func appendedText(a store.Appended, err error) string {
	if err != nil {
		return "refused"
	}
	return fmt.Sprintf("%v", a.Documents)
}

// Commit implements [store.Store].
func (h *handle) Commit(ctx context.Context, commits []store.Commit) (outcomes []store.Outcome, err error) {
	sh, w := h.sh, h.p.w
	call := "commit of " + names(commits, func(c *store.Commit) store.Key { return c.Key })
	if h.p.returned && !h.p.dead.Load() {
		w.fail("%s writes after Run has returned: %s", h.p.name, call)
	}
	err = h.write(ctx, call, func(late bool) error {
		want := make([]store.Outcome, len(commits))
		synced := false
		kept := slices.Clone(commits) // the caller's may be used again
		for i := range kept {
			kept[i].View = bytes.Clone(kept[i].View)
		}
		var dos []func()
		for i := range commits {
			c := &commits[i]
			var do func()
			want[i], do = sh.model.commit(c)
			dos = append(dos, do)
			if late {
				sh.overtaken[c.Key.ID] = true
			}
			sh.touched[key(c.Key.ID)] = true
			synced = synced || want[i] != store.Stale && c.Failure != nil && c.Failure.Park
		}
		sh.pending = func() {
			for _, do := range dos {
				do()
			}
			sh.log(synced, func(st store.Backend) error {
				_, err := st.Commit(context.Background(), kept)
				return err
			})
		}
		got, err := sh.inner.Commit(context.Background(), commits)
		if !late && h.p.dead.Load() {
			return errDead // it died before it could say so
		}
		if err != nil {
			sh.pending = nil
			w.fail("%s %s: %v", h.p.name, call, err)
			return err
		}
		sh.effect()
		for i := range got {
			c := &commits[i]
			if got[i] != want[i] {
				w.fail("%s commit of %s from %d to %d is %v, want %v", h.p.name, c.Key, c.Loaded, c.Applied, got[i], want[i])
			}
			if c.Failure != nil && strings.HasPrefix(c.Failure.Error, "the process ended while") && got[i] != store.Stale {
				w.rare.Suspects++
			}
			switch {
			case got[i] == store.Stale:
				w.rare.StaleRefused++
			case c.Failure != nil && c.Failure.Park:
				w.rare.ParkedDocs++
			case got[i] == store.StillDirty && c.Failure == nil:
				w.rare.Slices++
			}
			w.note(h.p.name, "commit of", c.Key.ID, fmt.Sprint(c.Loaded, " to ", c.Applied), got[i].String())
		}
		outcomes = got
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// Register implements [store.Registrar].
func (h *handle) Register(ctx context.Context, name string, version int) error {
	return h.write(ctx, "register", func(bool) error {
		h.sh.log(true, func(st store.Backend) error { return st.Register(context.Background(), name, version) })
		return h.sh.inner.Register(context.Background(), name, version)
	})
}

// Resume implements [store.Parking].
func (h *handle) Resume(ctx context.Context, keys []store.Key) (n int, err error) {
	sh := h.sh
	err = h.write(ctx, "resume "+names(keys, own), func(late bool) (err error) {
		sh.pending = func() {
			for _, k := range keys {
				sh.model.doc(k).parked = false
				sh.touched[k] = true
			}
			sh.log(true, func(st store.Backend) error {
				_, err := st.Resume(context.Background(), keys)
				return err
			})
		}
		n, err = sh.inner.Resume(context.Background(), keys)
		if !late && h.p.dead.Load() {
			return errDead // it died before it could say so
		}
		sh.effect()
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Load implements [store.Store].
func (h *handle) Load(ctx context.Context, keys []store.Key, parts store.Parts) (docs []store.Document, err error) {
	err = h.read(ctx, "load of "+names(keys, own), func() (err error) {
		docs, err = h.sh.inner.Load(context.Background(), keys, parts)
		for i := range docs {
			if f := docs[i].Failure; f != nil {
				f.Delay = h.skewed(ctx, f.Delay)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// skewed is a time that the store gives, by a clock that drifts and jumps.
func (h *handle) skewed(ctx context.Context, d time.Duration) time.Duration {
	w := h.p.w
	if d <= 0 || !w.faults || isRoot(ctx) || !w.c.oneIn(w.opt.skew) {
		return d
	}
	return of(w.c, 0, d/2, d+d/10, 2*d, d+5*time.Second)
}

// Operations implements [store.Store].
func (h *handle) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) (ops [][]store.Operation, err error) {
	err = h.read(ctx, "operations of "+names(ranges, func(r *store.Range) store.Key { return r.Key }), func() (err error) {
		ops, err = h.sh.inner.Operations(context.Background(), ranges, budget)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// Runnable implements [store.Store]. The rows are those of one moment, and others
// may go on between two of them.
func (h *handle) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		var rows []store.Runnable
		err := h.read(ctx, "runnable", func() error {
			for r, err := range h.sh.inner.Runnable(context.Background(), collections) {
				if err != nil {
					return err
				}
				r.Wait = h.skewed(ctx, r.Wait)
				rows = append(rows, r)
			}
			return nil
		})
		if err != nil {
			yield(store.Runnable{}, err)
			return
		}
		pl, named := at(ctx)
		feed := named && strings.HasSuffix(pl.name, "/feed0")
		if feed {
			if h.reads++; h.reads > 1 {
				h.p.w.rare.Rereads++
			}
		}
		for i, r := range rows {
			if i > 0 && named {
				h.p.w.park(pl, "between rows", nil)
				if h.p.dead.Load() {
					yield(store.Runnable{}, errDead)
					return
				}
			}
			if !yield(r, nil) {
				if feed && !h.p.dead.Load() {
					h.p.w.rare.TableFull++
				}
				return
			}
		}
	}
}

// Scan implements [store.Store].
func (h *handle) Scan(ctx context.Context, name, after string, parts store.Parts) iter.Seq2[store.Document, error] {
	return h.stream(ctx, "scan", func() iter.Seq2[store.Document, error] {
		return h.sh.inner.Scan(context.Background(), name, after, parts)
	})
}

// Parked implements [store.Parking].
func (h *handle) Parked(ctx context.Context, name string) iter.Seq2[store.Document, error] {
	return h.stream(ctx, "parked", func() iter.Seq2[store.Document, error] {
		return h.sh.inner.Parked(context.Background(), name)
	})
}

func (h *handle) stream(ctx context.Context, call string, of func() iter.Seq2[store.Document, error]) iter.Seq2[store.Document, error] {
	return func(yield func(store.Document, error) bool) {
		var docs []store.Document
		err := h.read(ctx, call, func() error {
			for d, err := range of() {
				if err != nil {
					return err
				}
				docs = append(docs, d)
			}
			return nil
		})
		if err != nil {
			yield(store.Document{}, err)
			return
		}
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Collections implements [store.Registrar]. It does not yield, because it is called
// with a mutex held, that of what is known of collections.
func (h *handle) Collections(ctx context.Context) ([]store.Collection, error) {
	if err := h.readAtOnce(ctx, "collections"); err != nil {
		return nil, err
	}
	return h.sh.inner.Collections(context.Background())
}

// Generations implements [store.Generator], of which a process with one version of each
// fold needs nothing else. It does not yield either.
func (h *handle) Generations(ctx context.Context, collection string) ([]store.Generation, error) {
	if err := h.readAtOnce(ctx, "generations"); err != nil {
		return nil, err
	}
	return h.sh.inner.Generations(context.Background(), collection)
}

// readAtOnce returns the error of a reading that does not yield, if it fails.
func (h *handle) readAtOnce(ctx context.Context, what string) error {
	w := h.p.w
	if h.p.dead.Load() {
		return errDead
	}
	if err := ended(ctx, false); err != nil {
		return err
	}
	if w.faults && w.c.oneIn(w.opt.unreadable) {
		h.trouble = time.Now()
		w.rare.FailReads++
		return fmt.Errorf("%w: %s", errInjected, what)
	}
	return nil
}

// Count implements [store.Censor].
func (h *handle) Count(ctx context.Context, name string) (n store.Counts, err error) {
	err = h.read(ctx, "count", func() (err error) {
		n, err = h.sh.inner.Count(context.Background(), name)
		return err
	})
	return n, err
}

// Forgotten implements [store.Eraser].
func (h *handle) Forgotten(ctx context.Context, key store.Key) (yes bool, err error) {
	err = h.read(ctx, "forgotten", func() (err error) {
		yes, err = h.sh.inner.Forgotten(context.Background(), key)
		return err
	})
	return yes, err
}

// Resolve implements [store.Resolver].
func (h *handle) Resolve(ctx context.Context, token store.Token, keys []store.Key) (seqs []int64, err error) {
	err = h.read(ctx, "resolve for "+names(keys, own), func() error {
		inside, err := h.sh.inside(token)
		if err == nil {
			seqs, err = h.sh.inner.Resolve(context.Background(), inside, keys)
		}
		return err
	})
	return seqs, err
}

// End implements [store.Resolver].
func (h *handle) End(ctx context.Context) (token store.Token, err error) {
	err = h.read(ctx, "end", func() error {
		if token, err = h.sh.inner.End(context.Background()); err == nil {
			token, err = h.sh.token(token)
		}
		return err
	})
	return token, err
}

// Claim implements [store.Claimer]: the claim is that of the world, because the
// system gives it back when a process dies.
func (h *handle) Claim(ctx context.Context) (claim store.Claim, err error) {
	sh, w := h.sh, h.p.w
	err = h.write(ctx, "claim", func(bool) error {
		if h.p.dead.Load() || sh.holder != nil {
			return store.ErrClaimed
		}
		switch {
		case sh.unclean:
			w.rare.Takeovers++
		case sh.stopped:
			w.rare.Handovers++
		}
		claim = store.Claim{
			Unclean: sh.unclean, End: sh.model.end,
			Release: h.giveUp("release", false), Abandon: h.giveUp("abandon", true),
		}
		sh.holder, sh.unclean = h.p, true
		w.note(h.p.name, "has the claim", fmt.Sprint(claim.Unclean))
		return nil
	})
	if err != nil {
		if !h.p.dead.Load() && sh.holder == h.p { // in doubt: Run gives up, and the lock is gone
			sh.holder = nil
		}
		return store.Claim{}, err
	}
	return claim, nil
}

func (h *handle) giveUp(call string, unclean bool) func() error {
	done := false
	return func() error {
		if done {
			return nil
		}
		done = true
		sh := h.sh
		h.p.w.park(place{h.p, "?"}, "before "+call, nil)
		if h.p.dead.Load() {
			return errDead
		}
		if sh.holder == h.p {
			sh.holder, sh.unclean, sh.stopped = nil, unclean, true
		}
		return nil
	}
}
