package durable

import (
	"context"
	"errors"

	"github.com/refold-go/refold/bench/internal/harness"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// refoldTally counts empty operations in memory.
func refoldTally(env harness.Env) (_ harness.Figures, err error) {
	st, w := memory.New(nil), newWork(env.Size, 1, 1)
	defer func() { err = errors.Join(err, st.Close()) }()
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		return nil, err
	}
	tallies, err := materializer.Register(m, materializer.Spec[int, struct{}]{
		Name: "tallies", Version: 1,
		Fold: func(n int, _ materializer.Operation[struct{}]) (int, error) { return n + 1, nil },
	})
	if err != nil {
		return nil, err
	}
	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	stop := start(m)
	err = concurrently(len(w.appends), appenders, func(i int) error {
		_, err := tallies.Append(ctx, w.appends[i].document, struct{}{})
		return err
	})
	if err == nil {
		err = wait(m)
	}
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	f, err := figures(meter, w.operations())
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	f["runs/operation"] = float64(m.Stats().Runs) / float64(w.operations())
	got := make(map[string]int)
	for v, err := range tallies.All(ctx) {
		if err != nil {
			return nil, err
		}
		got[v.ID] = v.State
	}
	return f, w.checkTally(got)
}
