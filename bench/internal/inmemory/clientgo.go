package inmemory

import "k8s.io/client-go/util/workqueue"

// keyed is a queue with the methods of client-go's.
type keyed struct {
	queue workqueue.TypedInterface[string]
	ids   []string
}

func newClientGo(n need) queue {
	return &keyed{queue: workqueue.NewTyped[string](), ids: n.ids}
}

// newClientGoMetrics gives the queue a name: then the provider that
// controller-runtime has set is used.
func newClientGoMetrics(n need) queue {
	return &keyed{queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "documents"}), ids: n.ids}
}

func (k *keyed) signal(document int) { k.queue.Add(k.ids[document]) }

func (k *keyed) work(run func(id string)) {
	for {
		id, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		run(id)
		k.queue.Done(id)
	}
}

func (k *keyed) stop() { k.queue.ShutDown() }

func (k *keyed) cycle(document int) {
	k.queue.Add(k.ids[document])
	id, _ := k.queue.Get()
	k.queue.Done(id)
}
