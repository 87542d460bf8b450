package main

import (
	"context"
	"encoding/json"
	"io"
	"sync"
)

// hands are what one writer has in hand: the orders that it was given and has not
// answered.
type hands struct {
	free  chan struct{} // has one for each order more that it may be given
	ended chan struct{} // closed when it will answer no more

	mu   sync.Mutex // guards the following fields
	held map[uint64]*job
	last uint64
}

func newHands() *hands {
	h := &hands{free: make(chan struct{}, mostInHand), ended: make(chan struct{}), held: map[uint64]*job{}}
	for range mostInHand {
		h.free <- struct{}{}
	}
	return h
}

// give writes jobs to the writer until ctx or the writer ends.
func (h *hands) give(ctx context.Context, jobs <-chan *job, stdin io.Writer) {
	orders := json.NewEncoder(stdin)
	for {
		select {
		case <-h.free:
		case <-h.ended:
			return
		case <-ctx.Done():
			return
		}
		select {
		case j := <-jobs:
			if orders.Encode(h.hold(j)) != nil {
				return // it is gone, and the job is among those that are lost
			}
		case <-h.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (h *hands) hold(j *job) order {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.held[h.last] = j
	o := j.order
	o.Number = h.last
	return o
}

// receive hands receipts to who waits for them, until the writer's output ends.
func (h *hands) receive(stdout io.Reader) error {
	for receipts := json.NewDecoder(stdout); ; {
		var r receipt
		if err := receipts.Decode(&r); err != nil {
			close(h.ended)
			io.Copy(io.Discard, stdout) // so that it does not wait for a reader
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil
			}
			return err
		}
		h.settle(r)
	}
}

func (h *hands) settle(r receipt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j, ok := h.held[r.Number]
	if !ok {
		return
	}
	delete(h.held, r.Number)
	j.done <- outcome{receipt: r}
	h.free <- struct{}{}
}
