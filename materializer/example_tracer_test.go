package materializer_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// printer is a tracer that prints. One for OpenTelemetry would start a span in
// RunStart, return its context, and end the span that it finds there in RunEnd.
type printer struct{}

type startKey struct{}

func (printer) RunStart(ctx context.Context, run materializer.RunStart) context.Context {
	return context.WithValue(ctx, startKey{}, run.From)
}

func (printer) RunEnd(ctx context.Context, run materializer.RunEnd) {
	fmt.Printf("%s: %d operations from seq %d: %s\n", run.Document, run.Operations, ctx.Value(startKey{}), run.Outcome)
}

func ExampleTracer() {
	m, err := materializer.New(memory.New(nil), materializer.Config{Tracer: printer{}})
	if err != nil {
		log.Fatal(err)
	}
	accounts, err := materializer.Register(m, accounts)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	if _, err := accounts.Append(ctx, "ann", deposit{100}, deposit{-30}); err != nil {
		log.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			log.Print(err)
		}
	})
	if err := m.Drain(ctx); err != nil {
		log.Fatal(err)
	}
	stop()
	running.Wait()
	// Output: ann: 2 operations from seq 1: done
}
