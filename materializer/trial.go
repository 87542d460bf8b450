package materializer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// DryRunContributions makes the documents of a registered derived collection with its own functions and with
// those of a candidate beside it, from the views of their sources as they are served, and compares
// the states. It changes nothing, neither in the store nor in the materializer, and may run beside Run. The
// candidate is a spec of the same name as it would be registered with; its version is not compared.
//
// Each source document is read once for both, so that what is appended meanwhile makes no difference, and
// all documents are compared that either has. Contributions are held in memory for as many documents at
// a time as have room in a quarter of [Config.Bytes], beside all that one source document gives, and all sources are mapped again for the next ones. A single document with more than
// that is made in pages, by which its sources may change. Documents are made one at a time, by the caller.
//
// Of [DryRunResult], Operations counts the contributions of the candidate. Of its Differences, Seq and Applied are 0:
// instead of an operation, Sources has the source documents that contribute something else, or the first
// of all that contribute if none does. A source document that can be mapped by one of the two only is a
// difference with its name in Sources and without an ID, and is left out of all documents; so is, without being told, what
// neither can map or decode. Of the options, IDs and Fraction choose among the documents, and Count is refused.
//
// Errors: those of the store and the context's cause, with what was found until then; [ErrInvalid] for
// options or a candidate that make no sense, as one for a collection that is made by reads.
func DryRunContributions[V, C, V2 any](ctx context.Context, d *Derived[V], candidate Contributions[C, V2], options DryRunOptions[V, V2]) (DryRunResult, error) {
	next, err := derivedByContributions(d.c.m, candidate)
	if err != nil {
		return DryRunResult{}, err
	}
	return dryRunDerived(ctx, d, next, options)
}

// DryRunReads is [DryRunContributions] for a derived collection that is made by reads. The documents are
// those that are there, and those that a source concerns by [Concerns] of the collection or of the
// candidate: so those are found too that the candidate would make anew. They are built once with each; one
// of which a source changes in between is built again, and passed over if that goes on. Sources has
// what either of the two has read.
func DryRunReads[V, V2 any](ctx context.Context, d *Derived[V], candidate Reads[V2], options DryRunOptions[V, V2]) (DryRunResult, error) {
	next, err := derivedByReads(d.c.m, candidate)
	if err != nil {
		return DryRunResult{}, err
	}
	return dryRunDerived(ctx, d, next, options)
}

func dryRunDerived[V, V2 any](ctx context.Context, d *Derived[V], next *Derived[V2], options DryRunOptions[V, V2]) (DryRunResult, error) {
	t := trial[V, V2]{old: d, new: next, options: options}
	if err := next.complete(); err != nil {
		return t.result, err
	}
	switch f := options.Fraction; {
	case next.c.spec.Name != d.c.spec.Name:
		return t.result, &InvalidError{Field: "name of the candidate", Got: next.c.spec.Name, Want: d.c.spec.Name}
	case next.touch != d.touch:
		return t.result, &InvalidError{Field: "candidate", Got: "another kind of derived collection", Want: "one that is made by reads as " + d.c.spec.Name + " is, or by contributions"}
	case !(f >= 0 && f <= 1) || options.Count != 0:
		return t.result, &InvalidError{Field: "sample", Got: fmt.Sprintf("count %d, fraction %v", options.Count, f), Want: "no count, and 0 to 1"}
	}
	for _, id := range options.IDs {
		if err := store.CheckKey(d.c.key(id)); err != nil {
			return t.result, err
		}
	}
	return t.result, t.run(ctx)
}

// trial compares a derived collection with a candidate.
type trial[V, V2 any] struct {
	old     *Derived[V]
	new     *Derived[V2]
	options DryRunOptions[V, V2]
	result  DryRunResult
}

// chosen reports whether the options choose a document.
func (t *trial[V, V2]) chosen(id string) bool {
	if ids := t.options.IDs; len(ids) > 0 {
		return slices.Contains(ids, id)
	}
	f := t.options.Fraction
	if f == 0 {
		return true
	}
	// By the id, so that it is the same for each page, and for a document that is not there yet.
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id))
	return rand.New(rand.NewPCG(t.options.Seed, hash.Sum64())).Float64() < f // #nosec G404 -- it is to be repeatable
}

func (t *trial[V, V2]) found(d Difference) {
	switch d.Kind {
	case Failing:
		t.result.Failing++
	case Mended:
		t.result.Mended++
	default:
		t.result.Different++
	}
	if len(t.result.Differences) < t.options.most() {
		t.result.Differences = append(t.result.Differences, d)
	}
}

// run compares one page of documents after the other.
func (t *trial[V, V2]) run(ctx context.Context) error {
	for after, first := "", true; ; first = false {
		p := trialPage{after: after, room: max(t.old.c.m.cfg.Bytes/4, 1), sides: make(map[string]*sides)}
		if err := t.collect(ctx, &p, first); err != nil {
			return err
		}
		for _, id := range p.ids() {
			if err := t.compare(ctx, id, p.sides[id]); err != nil {
				return err
			}
			after = id
		}
		if p.below == "" {
			return nil
		}
	}
}

// compare makes a document with both, and notes what differs.
func (t *trial[V, V2]) compare(ctx context.Context, id string, s *sides) error {
	one, other, ok, err := t.both(ctx, id, s)
	if err != nil || !ok {
		return err
	}
	t.result.Documents++
	t.result.Operations += int64(other.read)
	differs := Difference{ID: id}
	switch {
	case one.err != nil && other.err != nil:
		return nil
	case other.err != nil:
		differs.Kind, differs.Err = Failing, other.err
	case one.err != nil:
		differs.Kind, differs.Err = Mended, one.err
	default:
		same, err := t.same(&one, &other)
		if same {
			return nil
		}
		if differs.Kind = Changing; err != nil {
			differs.Kind, differs.Err = Failing, err
		}
	}
	if t.old.touch {
		differs.Sources = haveRead(other.reads, one.reads)
	} else if differs.Sources, err = t.contributors(ctx, id, s); err != nil {
		return err
	}
	t.found(differs)
	return nil
}

// both makes a document with both. It reports false if its sources change all the time.
func (t *trial[V, V2]) both(ctx context.Context, id string, s *sides) (one made[V], other made[V2], ok bool, err error) {
	for range anewTries {
		one = t.old.make(ctx, t.runOf(id, s.old, s.large, t.mapOld))
		other = t.new.make(ctx, t.runOf(id, s.new, s.large, t.mapNew))
		if err := context.Cause(ctx); err != nil {
			return one, other, false, err
		}
		moved := errors.Is(one.trouble, errMoved) || errors.Is(other.trouble, errMoved)
		if err := join(one.trouble, other.trouble); err != nil && !moved {
			return one, other, false, err
		}
		if !moved && sameReads(one.reads, other.reads) {
			return one, other, true, nil
		}
	}
	return one, other, false, nil
}

// runOf returns the run of a document from contributions that are given, or mapped again if they are
// too many.
func (t *trial[V, V2]) runOf(id string, all []store.Contribution, large bool, again mapAgain) *foldRun {
	key := t.old.c.key(id)
	r := &foldRun{key: key, doc: &store.Document{Key: key}, room: mostRoom, ahead: all, whole: true}
	if large {
		r.ahead, r.whole = nil, false
		r.mapped = func(ctx context.Context, after Contributor) ([]store.Contribution, error) {
			return again(ctx, id, after)
		}
	}
	return r
}

// same reports whether two states are equal. An error is the candidate's.
func (t *trial[V, V2]) same(one *made[V], other *made[V2]) (same bool, err error) {
	if one.deleted || other.deleted {
		return one.deleted == other.deleted, nil
	}
	if t.options.Equal != nil {
		err := worker.Guard(func() error { same = t.options.Equal(one.state, other.state); return nil })
		return same && err == nil, err
	}
	is, err := t.new.encode(other.state)
	if err != nil {
		return false, err
	}
	was, err := t.old.encode(one.state)
	return err == nil && bytes.Equal(was, is), nil
}

// sameReads reports whether what both have read was the same.
func sameReads(a, b []store.Read) bool {
	versions := make(map[Key]int64, len(a))
	for _, r := range a {
		versions[r.Key] = r.Version
	}
	for _, r := range b {
		if v, both := versions[r.Key]; both && v != r.Version {
			return false
		}
	}
	return true
}

// haveRead returns the first documents of some readings, each once.
func haveRead(readings ...[]store.Read) (all []Key) {
	seen := make(map[Key]bool)
	for _, reads := range readings {
		for _, r := range reads {
			if !seen[r.Key] && len(all) < mostSources {
				seen[r.Key] = true
				all = append(all, r.Key)
			}
		}
	}
	return all
}
