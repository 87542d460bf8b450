package sim

import (
	"bytes"
	"cmp"
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
		parts[i] = row(key(&all[i]))
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
	of, err := sh.insideOf()
	return cut.In(of), err
}

// insideOf returns the incarnation that the inner store has.
func (sh *shared) insideOf() (store.Incarnation, error) {
	if sh.of == 0 {
		end, err := sh.inner.End(context.Background())
		if err != nil {
			return 0, err
		}
		if _, err := sh.token(end); err != nil {
			return 0, err
		}
	}
	return sh.of, nil
}

// Append implements [store.Store].
func (h *handle) Append(ctx context.Context, appends []store.Append) (got store.Appended, err error) {
	sh, appends := h.sh, slices.Clone(appends) // which are logged, and may be stored late
	for i := range appends {
		appends[i].Entries = slices.Clone(appends[i].Entries)
	}
	call := "append to " + names(appends, func(a *store.Append) store.Key { return a.Key })
	err = h.write(ctx, call, func(late bool) error {
		want, do, wantErr := sh.model.plan(appends)
		sh.pending = func() {
			do()
			sh.log(true, func(st store.Backend) error {
				_, err := st.Append(context.Background(), appends)
				return err
			})
			sh.appearAll()
			for _, a := range appends {
				sh.touch(a.Key)
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
	h.mayWrite(call)
	err = h.write(ctx, call, func(late bool) error {
		want := make([]store.Outcome, len(commits))
		synced := false
		mine := slices.Clone(commits)
		var dos []func()
		for i := range mine {
			c := &mine[i]
			if c.Keep != nil {
				c.Keep = new(h.jump(*c.Keep))
			}
			sh.refresh(c.Key)
			var do func()
			want[i], do = sh.model.commit(c)
			dos = append(dos, do)
			if late && !w.opt.shared {
				sh.overtaken[row(c.Key)] = true
			}
			if late && w.opt.shared && want[i] == store.Stale {
				w.rare.LateRefused++
			}
			if d := sh.model.doc(c.Key); d.epoch != c.Epoch && d.head() > 0 {
				w.rare.StaleEpochs++
			}
			if w.opt.shared && want[i] != store.Stale && h.p.under(row(c.Key), c.Epoch) == nil {
				w.fail("%s %s: it has no lease with epoch %d", h.p.name, call, c.Epoch)
			}
			sh.touch(c.Key)
			synced = synced || want[i] != store.Stale && c.Failure != nil && c.Failure.Park
		}
		sh.pending = func() {
			for i, do := range dos {
				do()
				if d := sh.model.doc(mine[i].Key); d.made && want[i] != store.Stale {
					want[i] = sh.committed(d, &mine[i], len(mine) > 1)
				}
				h.p.committed(&mine[i])
			}
			sh.logCommit(synced, mine)
		}
		got, err := sh.inner.Commit(context.Background(), mine)
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
			if got[i] != want[i] && !(want[i] == either && got[i] != store.Stale) {
				w.fail("%s commit of %s from %d to %d is %v, want %v", h.p.name, c.Key, c.Loaded, c.Applied, got[i], want[i])
			}
			if c.Failure != nil && strings.HasPrefix(c.Failure.Error, "the process ended while") && got[i] != store.Stale {
				w.rare.Suspects++
			}
			switch {
			case got[i] == store.Stale:
				w.rare.StaleRefused++
			case c.Failure != nil && c.Failure.Park && strings.Contains(c.Key.Collection, "<"):
				w.rare.MappingsParked++
			case c.Failure != nil && c.Failure.Park && sh.model.doc(c.Key).made:
				w.rare.DerivedParked++
			case c.Failure != nil && c.Failure.Park:
				w.rare.ParkedDocs++
			case c.Deleted && sh.model.doc(c.Key).made:
				w.rare.DerivedDeleted++
			case c.Deleted:
				w.rare.Deletions++
			case got[i] == store.StillDirty && c.Failure == nil && c.Effects == nil:
				w.rare.Slices++
			}
			w.note(h.p.name, "commit of", row(c.Key), fmt.Sprint(c.Loaded, " to ", c.Applied), got[i].String())
		}
		outcomes = got
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// committed ends the process's own record of the lease under which it has
// committed, unless that is kept.
func (p *process) committed(c *store.Commit) {
	g := p.under(row(c.Key), c.Epoch)
	if g == nil {
		return
	}
	if l := &p.w.sh.model.doc(c.Key).lease; l.holder == "" {
		p.givenBack(row(c.Key), c.Epoch)
	} else if l.holder == g.holder {
		g.until = l.until
	}
}

// logCommit journals commits, with the times that are in them as they are now: when
// that is repeated after a power cut, some time has passed.
func (sh *shared) logCommit(synced bool, commits []store.Commit) {
	kept, begun := slices.Clone(commits), time.Now() // views may be used again by the caller
	until := make([]time.Time, len(commits))
	for i := range kept {
		kept[i].View = bytes.Clone(kept[i].View)
		until[i] = sh.model.doc(kept[i].Key).lease.until
	}
	sh.log(synced, func(st store.Backend) error {
		again := slices.Clone(kept)
		for i := range again {
			c := &again[i]
			if c.Keep != nil {
				c.Keep = new(termsUntil(until[i]))
			}
			if c.Failure != nil {
				f := *c.Failure
				f.Delay = max(f.Delay-time.Since(begun), 0)
				c.Failure = &f
			}
		}
		_, err := st.Commit(context.Background(), again)
		return err
	})
}

// Resume implements [store.Parking].
func (h *handle) Resume(ctx context.Context, keys []store.Key) (n int, err error) {
	sh := h.sh
	err = h.write(ctx, "resume "+names(keys, own), func(late bool) (err error) {
		for _, k := range keys {
			sh.refresh(k)
		}
		sh.pending = func() {
			for _, k := range keys {
				if d := sh.model.doc(k); d.parked {
					d.parked = false
					h.p.w.rare.Resumes++
				}
				sh.touch(k)
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
			h.skewLease(ctx, &docs[i].Lease)
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
				h.skewLease(ctx, &r.Lease)
				rows = append(rows, r)
			}
			if h.p.w.opt.derived { // in what order rows are that share a place is up to the backend
				slices.SortStableFunc(rows, func(a, b store.Runnable) int {
					return cmp.Or(cmp.Compare(a.Since.Position, b.Since.Position), compareKeys(a.Key, b.Key))
				})
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
	w := h.p.w
	if h.p.dead.Load() {
		return nil, errDead
	}
	if err := ended(ctx, false); err != nil {
		return nil, err
	}
	if w.faults && w.c.oneIn(w.opt.unreadable) {
		h.trouble = time.Now()
		w.rare.FailReads++
		return nil, fmt.Errorf("%w: collections", errInjected)
	}
	all, err := h.sh.inner.Collections(context.Background())
	if pl, ok := at(ctx); ok && err == nil && (learns(pl.name) || pl.name == "operator" && h.asking) {
		h.asking = h.asking && pl.name != "operator"
		h.paused = h.sh.model.paused
	}
	return all, err
}

// learns reports whether a goroutine reads the collections to learn which of them are
// paused, and not for an answer.
func learns(name string) bool {
	return name == "run" || strings.HasSuffix(name, "/follow0") || strings.HasSuffix(name, "/sweep0") || strings.HasSuffix(name, "/keep0")
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
