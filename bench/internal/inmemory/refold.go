package inmemory

import (
	"context"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// refold is the table as the pool of workers uses it.
type refold struct {
	table  *dispatcher.Table
	ids    []string
	ctx    context.Context // ends with stop
	cancel context.CancelFunc

	one    [1]dispatcher.Ticket // of cycle
	result [1]dispatcher.Result
}

// batch is how many documents a worker takes at most.
const batch = 64

func newRefold(n need) queue {
	ctx, cancel := context.WithCancel(context.Background())
	return &refold{table: dispatcher.NewTable(len(n.ids), n.workers), ids: n.ids, ctx: ctx, cancel: cancel}
}

func (r *refold) key(document int) store.Key {
	return store.Key{Collection: "notes", ID: r.ids[document]}
}

func (r *refold) signal(document int) { r.table.Signal(r.key(document)) }

func (r *refold) work(run func(id string)) {
	buf, results := make([]dispatcher.Ticket, batch), make([]dispatcher.Result, batch)
	for {
		n, err := r.table.Take(r.ctx, buf)
		if err != nil {
			return
		}
		for i := range n {
			run(buf[i].Key.ID)
		}
		r.table.Done(buf[:n], results[:n], nil)
	}
}

func (r *refold) stop() { r.cancel() }

func (r *refold) cycle(document int) {
	r.table.Signal(r.key(document))
	if _, err := r.table.Take(r.ctx, r.one[:]); err == nil {
		r.table.Done(r.one[:], r.result[:], nil)
	}
}
