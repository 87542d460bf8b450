package materializertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/refold-go/refold/materializer"
)

// FoldOptions are the settings of [CheckFold]. The zero value works.
type FoldOptions[O any] struct {
	// Describe says what else belongs to an operation: its id, time and meta; the body
	// that it returns is ignored. nil means no id, no meta, and times that are a
	// second apart.
	Describe func(id string, seq int64, op O) materializer.NewOperation[O]
	// MayFail tells that folds of the sample are meant to fail. Otherwise an error is
	// reported; so it is if it comes in one fold and not in another.
	MayFail bool
	// Rounds is how often all documents are folded in slices at random, and Seed is
	// what chance starts from. 0 means 20 rounds.
	Rounds int
	Seed   uint64
}

// CheckFold checks that a fold is pure and that its codecs keep everything, on a
// sample: the operations of some documents. The more kinds of operations are in
// it, the more is checked. It fails the test with the first thing that is wrong,
// the document, seq and operation where it shows, and the views that differ. nil
// options mean the zero [FoldOptions].
//
// What it checks:
//
//   - folded again, the same operations give the same views. Inside of a bubble of
//     testing/synctest a year passes in between, so that a fold that looks at the
//     clock is found even if it only wants to know the day.
//   - so they do in one run and in slices, with the state stored in between, the
//     documents mixed and two folds of each at a time; and all at once, which the
//     race detector can watch.
//   - no state changes when others are folded, and no operation or Meta is changed.
//   - the view codec gives the same bytes for a state each time, and what was
//     encoded is decoded as it was; so are operations. Neither keeps the bytes.
//   - the operation codec refuses kinds that it does not know, and no codec takes
//     half of what it has encoded for nothing at all.
func CheckFold[S, O any](t TB, spec materializer.Spec[S, O], documents map[string][]O, o *FoldOptions[O]) {
	t.Helper()
	var options FoldOptions[O]
	if o != nil {
		options = *o
	}
	f, err := newFolder(spec, documents, options.Describe, false)
	if err != nil {
		t.Fatalf("materializertest: collection %s: %v", spec.Name, err)
	}
	rounds := options.Rounds
	if rounds <= 0 {
		rounds = 20
	}
	if err := f.check(documents, rounds, options); err != nil {
		t.Errorf("materializertest: collection %s: %v", spec.Name, err)
	}
}

func (f *folder[S, O]) check(documents map[string][]O, rounds int, o FoldOptions[O]) error {
	if err := f.checkOperations(documents); err != nil {
		return err
	}
	first, err := f.first(o.MayFail)
	if err != nil {
		return err
	}
	if err := f.unchanged(first); err != nil {
		return err
	}
	if err := f.checkBrokenViews(); err != nil {
		return err
	}
	aYearPasses()
	for _, d := range f.documents {
		if err := f.whole(d); err != nil {
			return err
		}
		if err := f.slice(&run[S]{document: d}, len(d.want), true, "stored after each operation"); err != nil {
			return err
		}
	}
	for round := range rounds {
		if err := f.shuffled(rand.New(rand.NewPCG(o.Seed, uint64(round)))); err != nil { // #nosec G404 -- it is to be repeatable
			return fmt.Errorf("%w\n\tseed %d, round %d", err, o.Seed, round)
		}
		if err := f.unchanged(first); err != nil {
			return err
		}
	}
	return f.together()
}

// first folds each document for the first time, and sets what the others must
// give. It returns the runs.
func (f *folder[S, O]) first(mayFail bool) ([]*run[S], error) {
	var runs []*run[S]
	for _, d := range f.documents {
		r := &run[S]{document: d}
		for i := range d.entries {
			if err := f.step(r); err != nil {
				d.failure = err
				if _, wrong := errors.AsType[*misuse](err); wrong || !mayFail {
					return nil, fmt.Errorf("%s: %w", d.at(i), err)
				}
				break
			}
			o, err := f.outcome(r)
			if err != nil {
				return nil, err
			}
			d.want = append(d.want, o)
			if err := f.checkViews(r, o); err != nil {
				return nil, err
			}
		}
		if d.failure == nil { // otherwise the state is lost
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// whole folds a document in one run, in which no view is encoded before the end.
func (f *folder[S, O]) whole(d *document) error {
	if err := f.slice(&run[S]{document: d}, len(d.entries), false, "folded again"); err != nil {
		return err
	}
	r := &run[S]{document: d}
	for range d.want {
		if err := f.step(r); err != nil {
			return fmt.Errorf("%s: when folded once more, although it folded before: %w", d.at(r.n), err)
		}
	}
	return f.compare(r, "folded again without encoding the views in between")
}

// slice folds up to n more operations and compares after each. With stored, the
// state is stored after each. how says in what way this fold is another one.
func (f *folder[S, O]) slice(r *run[S], n int, stored bool, how string) error {
	for range n {
		err := f.step(r)
		if r.n == len(r.want) && err != nil && r.failure != nil {
			return nil // as the first time
		}
		if err != nil {
			return fmt.Errorf("%s: when %s, although it folded before: %w", r.at(r.n), how, err)
		}
		if r.n > len(r.want) {
			return fmt.Errorf("%s: it folds when %s, and failed before: %w", r.at(r.n-1), how, r.failure)
		}
		if err := f.compare(r, how); err != nil {
			return err
		}
		if stored {
			if err := f.store(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare compares with the first fold.
func (f *folder[S, O]) compare(r *run[S], how string) error {
	if r.n == 0 {
		return nil
	}
	got, err := f.outcome(r)
	if err != nil {
		return err
	}
	if want := r.want[r.n-1]; !got.equal(want) {
		return fmt.Errorf("%s: the view is another one when %s\n%s", r.at(r.n-1), how, differ(want, got))
	}
	return nil
}

// shuffled folds each document twice, in slices, in a random order.
func (f *folder[S, O]) shuffled(random *rand.Rand) error {
	var runs []*run[S]
	for _, d := range f.documents {
		runs = append(runs, &run[S]{document: d}, &run[S]{document: d})
	}
	for len(runs) > 0 {
		i := random.IntN(len(runs))
		r := runs[i]
		left := len(r.want) - r.n
		if left == 0 {
			runs[i] = runs[len(runs)-1]
			runs = runs[:len(runs)-1]
			continue
		}
		if err := f.slice(r, 1+random.IntN(left), false, "folded in slices, among others"); err != nil {
			return err
		}
		if random.IntN(2) == 0 {
			if err := f.store(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// unchanged looks at states that nobody has folded anything into since.
func (f *folder[S, O]) unchanged(runs []*run[S]) error {
	for _, r := range runs {
		if err := f.compare(r, "others have been folded since: they share memory"); err != nil {
			return err
		}
	}
	return nil
}

// together folds all documents at once, each in a goroutine.
func (f *folder[S, O]) together() error {
	var g sync.WaitGroup
	errs := make([]error, 2*len(f.documents))
	for i := range errs {
		g.Go(func() {
			d := f.documents[i/2]
			errs[i] = f.slice(&run[S]{document: d}, len(d.want), i%2 == 1, "folded while others are")
		})
	}
	g.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
