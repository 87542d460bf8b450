// Package inmemory compares queues of documents that live in memory: signals in,
// runs out, and no work in between.
package inmemory

import "github.com/refold-go/refold/bench/internal/harness"

// A queue takes signals for documents and runs each document that was signalled.
type queue interface {
	// signal is called by many goroutines.
	signal(document int)
	// work calls run for documents until stop is called; many goroutines do it.
	work(run func(id string))
	// stop is called when nothing is left to run.
	stop()
	// cycle signals a document, takes it and gives it back, without workers.
	cycle(document int)
}

// need is what a queue is made for.
type need struct {
	ids     []string
	workers int
	backlog bool // all documents will be queued before the first worker comes
}

// maker makes one kind of queue.
type maker struct {
	name, settings string
	kind           harness.Kind
	// coalesces tells that several signals can be one run, and that no document
	// has two runs at once. Without it each signal is a run.
	coalesces bool
	new       func(need) queue
}

var (
	refoldTable = maker{
		name: "refold", kind: harness.Ours, coalesces: true, new: newRefold,
		settings: "dispatcher.Table with its counters on; a worker takes up to 64 documents at once, as the materializer's workers do",
	}
	clientGo = maker{
		name: "client-go", coalesces: true, new: newClientGo,
		settings: "workqueue.NewTyped, without metrics",
	}
	clientGoMetrics = maker{
		name: "client-go+metrics", coalesces: true, new: newClientGoMetrics,
		settings: "the same with the Prometheus metrics that controller-runtime registers",
	}
	priorityQueue = maker{
		name: "priority queue", coalesces: true, new: newPriorityQueue,
		settings: "controller-runtime's, one priority, without metrics; it buffers what is added and merges it late, which makes few runs of many signals",
	}
	channel = maker{
		name: "channel", kind: harness.Limit, new: newChannel,
		settings: "a buffered channel of ids: one run a signal, nothing merged, nothing kept apart; the floor",
	}
)
