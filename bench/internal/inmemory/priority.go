package inmemory

import "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

// newPriorityQueue makes the queue that controllers have by default. Without a
// name it has no metrics.
func newPriorityQueue(n need) queue {
	return &keyed{queue: priorityqueue.New[string](""), ids: n.ids}
}
