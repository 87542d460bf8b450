package durable

import (
	"errors"
	"fmt"

	"github.com/refold-go/refold/bench/internal/harness"
)

// enqueue appends n operations, one a document, from so many goroutines, so many
// in a transaction. Nobody folds them.
func enqueue(n, appenders, perTransaction int) func(*refold, harness.Env) (harness.Figures, error) {
	return func(r *refold, env harness.Env) (harness.Figures, error) {
		groups := grouped(newWork(env.Size, float64(n)/jobOperations, 1).appends, perTransaction)
		meter, err := harness.StartMeter()
		if err != nil {
			return nil, err
		}
		if err := concurrently(len(groups), appenders, func(i int) error { return r.append(groups[i]...) }); err != nil {
			return nil, err
		}
		f, err := figures(meter, len(groups)*perTransaction)
		if err != nil {
			return nil, err
		}
		return f, r.wantHeads(len(groups) * perTransaction)
	}
}

// grouped cuts changes into groups, and gives those of a group different
// documents, because an append may have each document once.
func grouped(changes []change, size int) [][]change {
	for size > 1 && len(changes) < 5*size {
		changes = append(changes, changes...)
	}
	var groups [][]change
	for ; len(changes) >= size; changes = changes[size:] {
		group := make([]change, size)
		for i := range group {
			group[i] = changes[i]
			if size > 1 {
				group[i].document = fmt.Sprintf("document-%06d", (len(groups)*7919+i*13)%jobDocuments)
			}
		}
		groups = append(groups, group)
	}
	return groups
}

// process folds what is there already: one operation in each of n documents.
func process(n int) func(*refold, harness.Env) (harness.Figures, error) {
	return func(r *refold, env harness.Env) (_ harness.Figures, err error) {
		n := env.Size.Of(n, 20)
		changes, want := make([]change, n), make(map[string]view)
		for i := range changes {
			op := operation{By: 1, Note: note}
			changes[i] = change{document: fmt.Sprintf("document-%06d", i), operations: []operation{op}}
			want[changes[i].document] = view{}.add(op)
		}
		if err := r.append(changes...); err != nil {
			return nil, err
		}
		meter, err := harness.StartMeter()
		if err != nil {
			return nil, err
		}
		stop := start(r.m)
		if err := wait(r.m); err != nil {
			return nil, errors.Join(err, stop())
		}
		f, err := figures(meter, n)
		if err := errors.Join(err, stop()); err != nil {
			return nil, err
		}
		return f, r.check(work{want: want})
	}
}

// realJob appends operations and folds them at once.
func realJob(perAppend int) func(*refold, harness.Env) (harness.Figures, error) {
	return func(r *refold, env harness.Env) (harness.Figures, error) {
		w := newWork(env.Size, 1, perAppend)
		meter, err := harness.StartMeter()
		if err != nil {
			return nil, err
		}
		stop := start(r.m)
		err = concurrently(len(w.appends), appenders, func(i int) error { return r.append(w.appends[i]) })
		if err == nil {
			err = wait(r.m)
		}
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		f, err := figures(meter, w.operations())
		if err := errors.Join(err, stop()); err != nil {
			return nil, err
		}
		f["in views/s"] = f["operations/s"]
		f["runs/operation"] = float64(r.m.Stats().Runs) / float64(w.operations())
		return f, r.check(w)
	}
}

func (r *refold) check(w work) error {
	views, err := r.views()
	if err != nil {
		return err
	}
	return w.check(views)
}
