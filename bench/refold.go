package main

import (
	"context"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// refold is the table as the pool of workers uses it.
type refold struct {
	table *dispatcher.Table
	ids   []string
	ctx   context.Context
	stop  context.CancelFunc
}

func newRefold(ids []string) inFlight {
	ctx, stop := context.WithCancel(context.Background())
	return &refold{table: dispatcher.NewTable(len(ids), workers), ids: ids, ctx: ctx, stop: stop}
}

func (r *refold) signal(document int) {
	r.table.Signal(store.Key{Collection: "notes", ID: r.ids[document]})
}

func (r *refold) work(run func(id string)) {
	buf, results := make([]dispatcher.Ticket, 16), make([]dispatcher.Result, 16)
	for {
		n, err := r.table.Take(r.ctx, buf)
		if err != nil {
			return
		}
		for i := range n {
			run(buf[i].Key.ID)
		}
		r.table.Done(buf[:n], results, nil)
	}
}

func (r *refold) finish() {
	for c := r.table.Counts(); c.Queued+c.Running > 0; c = r.table.Counts() {
		time.Sleep(50 * time.Microsecond)
	}
	r.stop()
}
