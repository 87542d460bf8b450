package model

import (
	"context"
	"time"

	"github.com/refold-go/refold/dispatcher"
)

// actors are all who take steps. A step may be told by its verb to be a fault, or
// by its document to be about that one; otherwise it is whatever comes next.
var actors = []string{"worker 0", "worker 1", "listener", "feed", "producer 0", "producer 1", "operator"}

// step reports whether the actor could do anything.
func (w *world) step(actor, verb string, d int) bool {
	switch actor {
	case "worker 0", "worker 1":
		return w.workerStep(int(actor[len(actor)-1]-'0'), verb)
	case "listener":
		return w.listenerStep(verb)
	case "feed":
		return w.feedStep(verb, d)
	case "producer 0", "producer 1":
		return w.producerStep(&w.producers[actor[len(actor)-1]-'0'], verb, d)
	case "operator":
		return w.operatorStep(verb, d)
	case "time":
		w.now = w.now.Add(time.Hour)
	case "kill":
		w.start()
	case "cut":
		w.cut()
	}
	return true
}

type worker struct {
	at     string // "", taken, folding, finished; of mutants: peeked, given, seen
	doc    int
	ticket dispatcher.Ticket
	run    run
	result dispatcher.Result
	after  string // peeked: where it is once it has taken
	saw    dispatcher.State
}

func (w *world) workerStep(n int, verb string) bool {
	me := &w.workers[n]
	switch {
	case me.at == "" && w.Counts().Queued == 0:
		return false
	case me.at == "" && w.mutant == readEarly:
		me.doc = index(w.toy.queue[0])
		w.load(me)
		me.after, me.at = me.at, "peeked"
	case me.at == "peeked" && !w.toy.next(keys[me.doc]):
		*me = worker{}
	case me.at == "":
		w.take(me)
		me.at = "taken"
	case me.at == "peeked":
		w.take(me)
		me.at = me.after
	case me.at == "taken":
		w.load(me)
		w.alone(n)
	case me.at == "folding" && w.mutant == doneFirst:
		w.giveBack(me)
		me.at = "given"
	case me.at == "folding":
		w.finish(me, verb)
		me.at = "finished"
	case me.at == "given":
		w.finish(me, verb)
		*me = worker{}
	case me.at == "finished" && w.mutant == finishUnlocked:
		me.saw, me.at = w.State(keys[me.doc]), "seen"
	case me.at == "finished" && verb == "looks":
		return false
	case me.at == "finished":
		w.giveBack(me)
		*me = worker{}
	case me.at == "seen":
		w.toy.doneSeen(keys[me.doc], me.saw, me.result)
		*me = worker{}
	}
	return true
}

func (w *world) take(me *worker) {
	w.watch("take", func() {
		var buf [1]dispatcher.Ticket
		if n, err := w.Take(context.Background(), buf[:]); n != 1 || err != nil {
			w.fail("took %d documents: %v", n, err)
		}
		me.ticket, me.doc = buf[0], index(buf[0].Key)
	})
}

func (w *world) load(me *worker) {
	run, result := w.docs[me.doc].load(w.now, w.slice)
	me.run, me.at = run, "folding"
	if result != nil {
		me.result, me.at = *result, "finished"
	}
}

// alone fails the world if another worker has the document too.
func (w *world) alone(n int) {
	me, other := &w.workers[n], &w.workers[1-n]
	if me.at == "folding" && me.doc == other.doc && (other.at == "folding" || other.at == "given") {
		w.fail("two workers fold document %d at once", me.doc)
	}
}

// finish commits, or fails in the way that the verb says.
func (w *world) finish(me *worker, verb string) {
	d := &w.docs[me.doc]
	later := dispatcher.Result{Verdict: dispatcher.Delay, Until: w.now.Add(time.Hour)}
	switch {
	case verb == "fails" && !d.stale(me.run):
		d.notBefore, me.result = later.Until, later
	case verb == "parks" && !d.stale(me.run):
		d.parked, me.result = true, dispatcher.Result{Verdict: dispatcher.Done}
		w.sync()
	case verb == "is refused":
		me.result = later
	default:
		var err error
		if me.result, err = d.commit(me.run, w.mutant); err != nil {
			w.fail("document %d: %w", me.doc, err)
		}
		if verb == "is left in doubt" {
			me.result = later
		}
	}
}

func (w *world) giveBack(me *worker) {
	event := [...]string{"done", "again", "delay", "park"}[me.result.Verdict]
	w.watch(event, func() {
		if n := w.Done([]dispatcher.Ticket{me.ticket}, []dispatcher.Result{me.result}, nil); n != 1 {
			w.fail("the ticket of document %d was refused", me.doc)
		}
	})
}

type listener struct {
	at  string // "", lagged, subscribed, listening, holding; of a mutant: looked
	doc int
	saw dispatcher.State
}

func (w *world) listenerStep(verb string) bool {
	me := &w.listener
	switch {
	case me.at == "" || me.at == "lagged":
		noReading := w.mutant == noRecovery && w.killed && me.at == ""
		w.startListening()
		if me.at = "subscribed"; noReading {
			me.at = "listening"
		}
	case me.at == "subscribed":
		w.endListening()
		me.at = "listening"
	case me.at == "listening" && len(w.bus) > 0:
		me.doc, w.bus = w.bus[0], w.bus[1:]
		me.at = "holding"
	case me.at == "listening" && !w.subscribed && w.mutant == lagForgotten:
		w.subscribed = true
	case me.at == "listening" && !w.subscribed:
		me.at = "lagged"
	case me.at == "holding" && w.mutant == signalUnlocked:
		me.saw, me.at = w.State(keys[me.doc]), "looked"
	case me.at == "holding" && verb != "looks":
		w.signal(me.doc)
		me.at = "listening"
	case me.at == "looked":
		w.toy.signalSeen(keys[me.doc], me.saw)
		me.at = "listening"
	default:
		return false
	}
	return true
}

// startListening and endListening are the two steps of a subscription: subscribe
// first, read the store then.
func (w *world) startListening() {
	if w.mutant == subscribedLate {
		w.Reread()
	} else {
		w.subscribed = true
	}
}

func (w *world) endListening() {
	if w.mutant == subscribedLate {
		w.subscribed = true
	} else {
		w.Reread()
	}
}

type producer struct {
	at  string // "", stored; of a mutant: chosen
	doc int
}

func (w *world) producerStep(me *producer, verb string, d int) bool {
	switch {
	case me.at == "" && verb == "":
		return false
	case me.at == "" && w.mutant == announcedFirst:
		me.at, me.doc = "chosen", d
		w.publish(d)
	case me.at == "chosen":
		w.append(me.doc)
		*me = producer{}
	case me.at == "":
		w.append(d)
		if me.doc = d; !w.docs[d].parked {
			me.at = "stored"
		}
	case verb == "asks for a reading": // it is in doubt, or of another process
		w.Reread()
		*me = producer{}
	default:
		w.publish(me.doc)
		*me = producer{}
	}
	return true
}

func (w *world) append(d int) {
	w.docs[d].head++
	w.docs[d].dirty = true
	w.sync()
}

// operatorStep resumes what is parked. The other steps are told when to do so.
func (w *world) operatorStep(verb string, d int) bool {
	if len(w.resuming) > 0 {
		w.publish(w.resuming[0])
		w.resuming = w.resuming[1:]
		return true
	}
	if verb == "" {
		d = -1
		for i := range w.docs {
			if w.docs[i].parked {
				d = i
			}
		}
	}
	if d < 0 || !w.docs[d].parked {
		return false
	}
	w.docs[d].parked, w.docs[d].notBefore = false, time.Time{}
	w.resuming = append(w.resuming, d)
	w.sync()
	return true
}
