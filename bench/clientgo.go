package main

import "k8s.io/client-go/util/workqueue"

// clientGo is the work queue of Kubernetes without metrics, which more than
// halve its rate.
type clientGo struct {
	queue *workqueue.Typed[string]
	ids   []string
}

func newClientGo(ids []string) inFlight {
	return &clientGo{queue: workqueue.NewTyped[string](), ids: ids}
}

func (c *clientGo) signal(document int) { c.queue.Add(c.ids[document]) }

func (c *clientGo) work(run func(id string)) {
	for {
		id, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		run(id)
		c.queue.Done(id)
	}
}

// finish lets the workers end when the queue is empty. Not ShutDownWithDrain,
// which does not look at the queue.
func (c *clientGo) finish() { c.queue.ShutDown() }
