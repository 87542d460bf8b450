package durable

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/refold-go/refold/bench/internal/harness"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// refold is a materializer over a store of its own.
type refold struct {
	store      store.Backend
	config     materializer.Config
	closeStore func() error
	m          *materializer.Materializer
	documents  *materializer.Collection[view, operation]
}

// onSQLite opens a store in a file, with everything else as it is by default.
func onSQLite(sync sqlite.Sync) func(dir string) (*refold, error) {
	return configured(sync, materializer.Config{})
}

func configured(sync sqlite.Sync, cfg materializer.Config) func(dir string) (*refold, error) {
	return func(dir string) (*refold, error) {
		st, err := sqlite.Open(filepath.Join(dir, "refold.db"), &sqlite.Options{Sync: sync})
		if err != nil {
			return nil, err
		}
		return newRefold(st, st.Close, cfg)
	}
}

func inMemory(string) (*refold, error) {
	st := memory.New(nil)
	return newRefold(st, st.Close, materializer.Config{})
}

func newRefold(st store.Backend, closeStore func() error, cfg materializer.Config) (*refold, error) {
	r := &refold{store: st, config: cfg, closeStore: closeStore}
	err := r.register()
	if err != nil {
		closeStore()
	}
	return r, err
}

func (r *refold) register() (err error) {
	if r.m, err = materializer.New(r.store, r.config); err != nil {
		return err
	}
	r.documents, err = materializer.Register(r.m, materializer.Spec[view, operation]{
		Name: "documents", Version: 1,
		Fold: func(v view, op materializer.Operation[operation]) (view, error) { return v.add(op.Body), nil },
	})
	return err
}

// start runs a materializer until stop is called.
func start(m *materializer.Materializer) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// wait waits until everything is in its view.
func wait(m *materializer.Materializer) error {
	end, err := m.End(context.Background())
	if err != nil {
		return err
	}
	return m.Wait(context.Background(), end)
}

// append stores changes of different documents in one transaction.
func (r *refold) append(changes ...change) error {
	if len(changes) == 1 {
		_, err := r.documents.Append(context.Background(), changes[0].document, changes[0].operations...)
		return err
	}
	all := make([]materializer.Change, len(changes))
	for i, c := range changes {
		all[i] = r.documents.Change(c.document, c.operations...)
	}
	_, err := r.m.Append(context.Background(), all...)
	return err
}

func (r *refold) views() (map[string]view, error) {
	all := make(map[string]view)
	for v, err := range r.documents.All(context.Background()) {
		if err != nil {
			return nil, err
		}
		all[v.ID] = v.State
	}
	return all, nil
}

// wantHeads checks how many operations are stored.
func (r *refold) wantHeads(want int) error {
	got := 0
	for d, err := range r.store.Scan(context.Background(), "documents", "", store.WithoutViews) {
		if err != nil {
			return err
		}
		got += int(d.Head)
	}
	if got != want {
		return fmt.Errorf("%d operations are stored, want %d", got, want)
	}
	return nil
}

// with opens a store, does something and closes it.
func with(open func(dir string) (*refold, error), do func(*refold, harness.Env) (harness.Figures, error)) func(harness.Env) (harness.Figures, error) {
	return func(env harness.Env) (harness.Figures, error) {
		r, err := open(env.Dir)
		if err != nil {
			return nil, err
		}
		f, err := do(r, env)
		return f, errors.Join(err, r.closeStore())
	}
}
