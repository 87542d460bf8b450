package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// Tags are made of notes: each contributes its view to those that its operations' ids end
// with. A world does not have them: whatever became of each step, they must agree with the
// notes by themselves, see lookDerived.

var deriving = step{"derive", func(ctx context.Context, st *sqlite.Store) (effect, error) {
	err := st.Derive(ctx, store.Derivation{Name: "tags", Version: 1, Sources: []string{"notes"}, Deltas: true})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // making notes was refused
	}
	return nil, err
}}

// tagging fills and serves tags, and does all that is to be done, a key at a time.
var tagging = step{"commit tags", func(ctx context.Context, st *sqlite.Store) (effect, error) {
	for more := true; more; {
		var err error
		if more, err = st.Fill(ctx, "tags@1"); err != nil {
			return nil, unlessMissing(err)
		}
	}
	for _, do := range []struct {
		name string
		with func(ctx context.Context, st *sqlite.Store, d store.Document) (store.Commit, error)
	}{{"tags@1<notes", contributing}, {"tags@1", reducing}} {
		for n := 0; ; n++ {
			d, err := firstOf(ctx, st, do.name)
			if err != nil || d.Head == 0 {
				if err != nil {
					return nil, err
				}
				break
			}
			if n == 1000 {
				return nil, fmt.Errorf("%w: %s is never clean", errWrong, do.name)
			}
			c, err := do.with(ctx, st, d)
			if err != nil {
				return nil, err
			}
			if _, err := st.Commit(ctx, []store.Commit{c}); err != nil {
				return nil, err
			}
		}
	}
	_, err := st.Switch(ctx, "tags@1", store.SwitchTerms{})
	return nil, err
}}

func unlessMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// firstOf loads the first runnable document of a name; Head is 0 if there is none.
func firstOf(ctx context.Context, st store.Backend, name string) (store.Document, error) {
	for r, err := range st.Runnable(ctx, []string{name}) {
		if err != nil {
			return store.Document{}, err
		}
		docs, err := st.Load(ctx, []store.Key{r.Key}, store.WithViews)
		if err != nil {
			return store.Document{}, err
		}
		return docs[0], nil
	}
	return store.Document{}, nil
}

// tagsOf is what a view of notes contributes.
func tagsOf(view []byte) (pairs []store.Pair) {
	var keys []string
	for _, id := range strings.Fields(string(view))[min(len(view), 1):] {
		keys = append(keys, id[len(id)-1:])
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		pairs = append(pairs, store.Pair{Key: key, Body: view})
	}
	return pairs
}

func contributing(ctx context.Context, st *sqlite.Store, d store.Document) (store.Commit, error) {
	docs, err := st.Load(ctx, []store.Key{of(d.Key.ID)}, store.WithViews)
	if err != nil {
		return store.Commit{}, err
	}
	e := &store.Effects{From: d.Round}
	if e.From.To == 0 {
		e.From.To = d.Head
	}
	for _, p := range tagsOf(docs[0].View) {
		if p.Key > e.From.After && len(e.Pairs) == 0 {
			e.Pairs, e.Upto = append(e.Pairs, p), p.Key
		}
	}
	return store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: e.From.To, Effects: e}, nil
}

func reducing(ctx context.Context, st *sqlite.Store, d store.Document) (store.Commit, error) {
	view, err := reduce(ctx, st, d.Key, nil)
	return store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte(view)}, err
}

// reduce makes a tag of its contributions, and notes these by their source.
func reduce(ctx context.Context, st store.Backend, k store.Key, by map[string][]store.Pair) (view string, err error) {
	some, err := st.Contributions(ctx, k, store.Contributor{}, store.Budget{})
	for _, c := range some {
		view += fmt.Sprintf("%s:%s;", c.Source, c.Body)
		if by != nil {
			by[c.Source] = append(by[c.Source], store.Pair{Key: k.ID, Body: c.Body})
		}
	}
	return view, err
}

// lookDerived checks that what is clean is what its sources make it: tags of their
// contributions, and contributions of the views of notes.
func lookDerived(ctx context.Context, st store.Backend) error {
	by := make(map[string][]store.Pair)
	again := func(d store.Document) (bool, error) { // whether it is as it was: an earlier process's erasing may go on
		docs, err := st.Load(ctx, []store.Key{d.Key}, store.WithoutViews)
		return err == nil && docs[0].Head == d.Head && docs[0].Applied == d.Applied, err
	}
	for d, err := range st.Scan(ctx, "tags@1", "", store.WithViews) {
		if err != nil {
			return err
		}
		view, err := reduce(ctx, st, d.Key, by)
		if err != nil {
			return err
		}
		deltas, err := st.Operations(ctx, []store.Range{{Key: d.Key}}, store.Budget{})
		if err != nil {
			return err
		}
		wrong := int64(len(deltas[0])) != d.Head-d.Applied || d.Dirty() != (d.Since.Position > 0) || !d.Dirty() && string(d.View) != view
		if same, err := again(d); err != nil {
			return err
		} else if same && wrong {
			return fmt.Errorf("%w: %+v has %d deltas, and its contributions give %q", errWrong, d, len(deltas[0]), view)
		}
	}
	for d, err := range st.Scan(ctx, "tags@1<notes", "", store.WithoutViews) {
		if err != nil {
			return err
		}
		docs, err := st.Load(ctx, []store.Key{of(d.Key.ID)}, store.WithViews)
		if err != nil {
			return err
		}
		got, want := by[d.Key.ID], tagsOf(docs[0].View)
		wrong := !d.Dirty() && (d.Round != store.Round{} || fmt.Sprint(got) != fmt.Sprint(want))
		if same, err := again(d); err != nil {
			return err
		} else if same && wrong {
			return fmt.Errorf("%w: %+v contributes %q, want %q", errWrong, d, got, want)
		}
	}
	return nil
}
