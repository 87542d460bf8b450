package dispatcher

import "slices"

// waiters are the workers that wait in Take, the one that came last on top: it
// is the most likely to be warm. At most one of them is being woken at a time;
// it wakes the next one if it leaves work behind. So a burst wakes as many
// workers as there is work for, and not all of them at its first document.
type waiters struct {
	stack  []*waiter
	spare  []*waiter // to be used again
	waking bool      // one was woken and has not looked at the queue yet
}

type waiter struct{ wake chan struct{} }

func (w *waiters) push() *waiter {
	var me *waiter
	if n := len(w.spare); n > 0 {
		me, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		me = &waiter{wake: make(chan struct{}, 1)}
	}
	w.stack = append(w.stack, me)
	return me
}

// wakeOne wakes the top waiter, unless one is on its way already.
func (w *waiters) wakeOne() {
	if n := len(w.stack); n > 0 && !w.waking {
		w.waking = true
		w.stack[n-1].wake <- struct{}{}
		w.stack = w.stack[:n-1]
	}
}

// woken is called by a waiter that was woken, before it looks at the queue.
func (w *waiters) woken(me *waiter) {
	w.waking = false
	w.spare = append(w.spare, me)
}

// withdraw is called by a waiter that gives up. If it was woken meanwhile,
// somebody else has to be woken for it.
func (w *waiters) withdraw(me *waiter) {
	i := slices.Index(w.stack, me)
	if i < 0 {
		<-me.wake
		w.woken(me)
		return
	}
	w.stack = slices.Delete(w.stack, i, i+1)
	w.spare = append(w.spare, me)
}
