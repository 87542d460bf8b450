package faults

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

// ledger has the worlds that are possible after what was said of each step: one,
// but for steps that are in doubt.
type ledger struct{ possible []world }

func newLedger() *ledger { return &ledger{[]world{newWorld()}} }

// judge notes how a step went. After an error that is not in doubt nothing may be
// stored, so that the worlds stay as they are.
func (l *ledger) judge(s step, e effect, err error) {
	if e == nil {
		return
	}
	switch {
	case err == nil || errors.Is(err, store.ErrTraces):
		l.possible = l.after(e)
	case errors.Is(err, errNotReleased) && !errors.Is(err, store.ErrInDoubt):
		l.possible = l.after(func(w *world) { w.marked = true })
	case errors.Is(err, errNotReleased):
		l.possible = append(l.after(func(w *world) { w.marked = true }), l.after(e)...)
	case errors.Is(err, store.ErrInDoubt), s.name == "drop": // its contract says nothing of half of it
		l.possible = append(l.possible, l.after(e)...)
	}
	l.distinct()
}

// judgeTogether notes how steps went that were done at once, in any order.
func (l *ledger) judgeTogether(steps []step, effects []effect, errs []error) {
	var all []world
	for order := range permutations(len(steps)) {
		try := &ledger{l.possible}
		for _, i := range order {
			try.judge(steps[i], effects[i], errs[i])
		}
		all = append(all, try.possible...)
	}
	l.possible = all
	l.distinct()
}

// permutations returns the orders of n things.
func permutations(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var extend func(order []int) bool
		extend = func(order []int) bool {
			if len(order) == n {
				return yield(order)
			}
			for i := range n {
				if !slices.Contains(order, i) && !extend(append(slices.Clone(order), i)) {
					return false
				}
			}
			return true
		}
		extend(nil)
	}
}

func (l *ledger) after(e effect) []world {
	var all []world
	for _, w := range l.possible {
		w = w.clone()
		e(&w)
		all = append(all, w)
	}
	return all
}

func (l *ledger) distinct() {
	seen := make(map[string]bool)
	var kept []world
	for _, w := range l.possible {
		if s := fmt.Sprint(w, w.marked, w.forgotten); !seen[s] {
			seen[s] = true
			kept = append(kept, w)
		}
	}
	l.possible = kept
}

// see compares what was read with what is possible, and keeps the worlds that it
// shows.
func (l *ledger) see(seen string) error {
	var kept []world
	for _, w := range l.possible {
		if w.String() == seen {
			kept = append(kept, w)
		}
	}
	if kept == nil {
		var b strings.Builder
		fmt.Fprintf(&b, "%v: it holds\n%s", errWrong, seen)
		for _, w := range l.possible {
			fmt.Fprintf(&b, "possible is\n%s", w)
		}
		return errors.New(b.String())
	}
	l.possible = kept
	return nil
}

// check reads everything, which must be possible.
func (l *ledger) check(ctx context.Context, st store.Backend) error {
	seen, err := look(ctx, st)
	if err != nil {
		return err
	}
	if err := l.see(seen); err != nil {
		return err
	}
	for _, w := range l.possible {
		for key := range w.forgotten {
			if yes, err := st.Forgotten(ctx, key); err != nil || !yes {
				return fmt.Errorf("forgotten %s: %t, %v", key, yes, err)
			}
		}
	}
	return nil
}

// checkMark claims the store, which says whether the last claim was released.
func (l *ledger) checkMark(ctx context.Context, st store.Claimer) error {
	c, err := st.Claim(ctx)
	if err != nil {
		return err
	}
	ok := false
	for _, w := range l.possible {
		ok = ok || w.marked == c.Unclean
	}
	if !ok {
		return fmt.Errorf("%w: the last claim is called unclean: %t", errWrong, c.Unclean)
	}
	return c.Release()
}
