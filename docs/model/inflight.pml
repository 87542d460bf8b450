/*
 * The in-flight table of one process, with its durable twin.
 *
 * Each line of a process is one step that nothing can interrupt: a critical
 * section of the table, a transaction of the store, or a call of the bus. What a
 * goroutine remembers between two steps is in global arrays, so that a kill is
 * one step too: it wipes all that is not durable, and everybody starts again.
 *
 * Changes of a document's state carry the names that they have in the diagram at
 * dispatcher.State. Those in a "beside" comment are the bounds' doing and are
 * not drawn there.
 *
 * What a step prints is an event of the tests in internal/model, which replay
 * the counterexamples.
 */

#ifndef DOCS
#define DOCS 2       /* 1 or 2 */
#endif
#ifndef WORKERS
#define WORKERS 2    /* at most 2 */
#endif
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef OPS
#define OPS 2        /* operations in all */
#endif
#ifndef LIMIT
#define LIMIT 2      /* most queued and running documents; as many may be delayed */
#endif
#ifndef BUFFER
#define BUFFER 1     /* of the subscription, in keys */
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef CUTS
#define CUTS 0       /* kills that are power cuts: they take what was not synced */
#endif
#ifndef FAILS
#define FAILS 0      /* folds that fail and are tried again */
#endif
#ifndef PARKS
#define PARKS 0      /* folds that fail for good */
#endif
#ifndef TROUBLES
#define TROUBLES 0   /* commits that return an error, stored or not */
#endif
#ifndef SLICE
#define SLICE OPS    /* most operations of one run */
#endif

mtype = {
	Idle, Queued, Running, Requeue, Delayed,                /* a document in the table */
	Done, Again, Delay, Park,                               /* how a run went */
	Free, Peeked, Taken, Folding, Given, Finished, Seen,    /* where a worker is */
	Starting, Lagged, Subscribed, Listening, Holding, Looked, /* where the listener is */
	Asleep, Woke, Reading, Rows, Cleared,                   /* where the feed is */
	Ready, Stored, Chosen                                   /* where a producer is */
};

/* Durable: what is in the store. */
byte head[DOCS], applied[DOCS];
byte synced[DOCS];     /* how much of applied survives a power cut */
bool dirty[DOCS];      /* the mark that Runnable reads */
bool parked[DOCS];
bool wait[DOCS];       /* not before some time that is to come */

/* The table. */
mtype state[DOCS] = Idle;
chan  queue = [4] of { byte };
bool  early[DOCS];     /* the time of a delayed one is to come */
bool  reread;
byte  rereadAt;        /* 1 + the first delayed document that did not fit; 0 is none */
bool  poke;            /* the feed's wake channel */

/* The bus. */
chan bus = [BUFFER] of { byte };
bool subscribed;

/* What each goroutine remembers. */
mtype at[WORKERS] = Free;
byte  doc[WORKERS], loaded[WORKERS], seen[WORKERS];
mtype verdict[WORKERS] = Done;
mtype listener = Starting;
byte  key;
mtype keySaw = Idle;
mtype feed = Asleep;
byte  row[DOCS];       /* still to be signalled: 0 no, 1 yes, 2 must wait */
bool  armed[DOCS], armedAt; /* what the feed's timer was set for */
mtype producer[PRODUCERS] = Ready;
byte  target[PRODUCERS];
bool  resuming[DOCS];  /* resumed, and not announced yet */

/* What may still happen. */
byte ops = OPS, kills = KILLS, cuts = CUTS, fails = FAILS, parks = PARKS, troubles = TROUBLES;

#if DOCS == 1
#define SUM(f) (f(0))
#else
#define SUM(f) (f(0) + f(1))
#endif
#define ACTIVE(d)  (state[d] == Queued || state[d] == Running || state[d] == Requeue)
#define DELAYED(d) (state[d] == Delayed)
#define DUE(d)     (armed[d] && state[d] == Delayed && !early[d])
#define STILL(d)   (row[d] != 0)
#define FULL       (SUM(ACTIVE) >= LIMIT)
#define WANTS_READ (reread && SUM(ACTIVE) <= LIMIT/2)
#define AT_DUE     (armedAt && rereadAt && !early[rereadAt - 1])

#define IN_HAND(w, d) (doc[w] == d && (at[w] == Folding || at[w] == Given))

/* A sync covers all that was written before it. */
#if CUTS == 0
#define SYNC skip
#elif DOCS == 1
#define SYNC synced[0] = applied[0]
#else
#define SYNC synced[0] = applied[0]; synced[1] = applied[1]
#endif

inline push(d) { state[d] = Queued; queue!d }

/* signal is what the table does when it hears of d and has seen it in state s.
 * refused is left true if there is no room. */
inline signal(d, s) {
	refused = false;
	if
	:: s == Idle && FULL ->
#ifndef FULL_FORGOTTEN
		reread = true;
#endif
		refused = true
	:: s == Idle && !FULL ->
		push(d)                         /* idle -> queued: signal */
	:: s == Running ->
#if defined(REQUEUE_DROPPED)
		skip
#elif defined(REQUEUE_AT_ONCE)
		push(d)
#else
		state[d] = Requeue              /* running -> requeue: signal */
#endif
	:: else -> skip
	fi
}

inline delay(d) {
	early[d] = true;
	poke = true;
	if
	:: SUM(DELAYED) >= LIMIT ->
		state[d] = Idle;                /* beside: running, requeue -> idle: delay */
		if
		:: rereadAt == 0 -> rereadAt = d + 1
		:: else -> skip
		fi
	:: else ->
		state[d] = Delayed              /* running -> delayed: delay */
		                                /* requeue -> delayed: delay */
	fi
}

#ifdef PARK_DROPS_FLAG
#define PARK_DROPS true
#else
#define PARK_DROPS false
#endif

/* done gives a document back that was seen in state s. */
inline done(d, s, v) {
	if
	:: v == Park && (PARK_DROPS || s == Running) ->
		state[d] = Idle                 /* running -> idle: done */
	:: v == Delay ->
		delay(d)
	:: v == Done && s != Requeue ->
		state[d] = Idle                 /* running -> idle: done */
	:: else ->
		push(d)                         /* requeue -> queued: done */
		                                /* running -> queued: again */
		                                /* requeue -> queued: again */
		                                /* requeue -> queued: done */
	fi;
	poke = poke || WANTS_READ
}

/* publish drops all that is in the buffer, and the subscription, if d does not
 * fit. */
inline publish(d) {
	if
	:: !subscribed -> skip
	:: subscribed && nfull(bus) -> bus!d
	:: subscribed && full(bus) -> subscribed = false; drain(bus)
	fi
}

inline drain(c) {
	do
	:: nempty(c) -> c?_
	:: empty(c) -> break
	od
}

inline load(w, d) {
	if
	:: parked[d] -> verdict[w] = Park; at[w] = Finished
	:: !parked[d] && head[d] == applied[d] -> verdict[w] = Done; at[w] = Finished
	:: !parked[d] && head[d] > applied[d] && wait[d] -> verdict[w] = Delay; at[w] = Finished
	:: else ->
		loaded[w] = applied[d];
		seen[w] = (head[d] > applied[d] + SLICE -> applied[d] + SLICE : head[d]);
		at[w] = Folding
	fi
}

/* commit stores a view under its guard. */
inline commit(w, d) {
	if
	:: applied[d] != loaded[w] || parked[d] -> verdict[w] = Again
	:: else ->
		assert(seen[w] >= applied[d]);  /* never an older view over a newer one */
		applied[d] = seen[w];
#ifdef DIRTY_CLEARED
		dirty[d] = false;
#else
		dirty[d] = (head[d] > applied[d]);
#endif
		verdict[w] = (dirty[d] -> Again : Done)
	fi
}

inline free(w) { at[w] = Free; doc[w] = 0; loaded[w] = 0; seen[w] = 0; verdict[w] = Done }

/* alone fails if two workers fold d. */
inline alone(d) {
#if WORKERS > 1
	assert(!(IN_HAND(0, d) && IN_HAND(1, d)))
#else
	skip
#endif
}

proctype Worker(byte w) {
	bool flag;
end:
	do
#ifdef READ_EARLY
	:: d_step { at[w] == Free && nempty(queue) ->
		queue?<doc[w]>; load(w, doc[w]);
		seen[w] = seen[w] + 16 * (at[w] == Folding); at[w] = Peeked;
		printf("worker %d loads %d\n", w, doc[w]) }
	:: d_step { at[w] == Peeked && queue?[eval(doc[w])] ->
		queue?doc[w]; state[doc[w]] = Running;
		at[w] = (seen[w] >= 16 -> Folding : Finished); seen[w] = seen[w] % 16;
		printf("worker %d takes %d\n", w, doc[w]); alone(doc[w]) }
	:: d_step { at[w] == Peeked && !queue?[eval(doc[w])] -> free(w) }
#else
	:: d_step { at[w] == Free && nempty(queue) ->
		queue?doc[w]; state[doc[w]] = Running; at[w] = Taken;  /* queued -> running: take */
		printf("worker %d takes %d\n", w, doc[w]) }
	:: d_step { at[w] == Taken ->
		load(w, doc[w]);
		printf("worker %d loads %d\n", w, doc[w]); alone(doc[w]) }
#endif

#ifdef DONE_FIRST
	:: d_step { at[w] == Folding ->
		done(doc[w], state[doc[w]], Done); at[w] = Given;
		printf("worker %d gives back %d\n", w, doc[w]) }
	:: d_step { at[w] == Given ->
		commit(w, doc[w]);
		printf("worker %d commits %d\n", w, doc[w]); free(w) }
#else
	:: d_step { at[w] == Folding ->
		commit(w, doc[w]); at[w] = Finished;
		printf("worker %d commits %d\n", w, doc[w]) }
#endif
	/* The fold failed: the failure is stored, under the same guard. */
	:: d_step { at[w] == Folding && fails > 0 ->
		fails--; at[w] = Finished;
		printf("worker %d fails %d\n", w, doc[w]);
		if
		:: applied[doc[w]] != loaded[w] || parked[doc[w]] -> verdict[w] = Again
		:: else -> wait[doc[w]] = true; verdict[w] = Delay
		fi }
	:: d_step { at[w] == Folding && parks > 0 ->
		parks--; at[w] = Finished;
		printf("worker %d parks %d\n", w, doc[w]);
		if
		:: applied[doc[w]] != loaded[w] || parked[doc[w]] -> verdict[w] = Again
		:: else -> parked[doc[w]] = true; verdict[w] = Park; SYNC
		fi }
	/* The store returned an error: nothing is stored, or it is in doubt. */
	:: d_step { at[w] == Folding && troubles > 0 ->
		troubles--; at[w] = Finished; verdict[w] = Delay;
		printf("worker %d is refused %d\n", w, doc[w]) }
	:: d_step { at[w] == Folding && troubles > 0 ->
		troubles--; at[w] = Finished;
		printf("worker %d is left in doubt %d\n", w, doc[w]);
		commit(w, doc[w]); verdict[w] = Delay }

#ifdef FINISH_UNLOCKED
	:: d_step { at[w] == Finished ->
		flag = (state[doc[w]] == Requeue); at[w] = Seen;
		printf("worker %d looks %d\n", w, doc[w]) }
	:: d_step { at[w] == Seen ->
		done(doc[w], (flag -> Requeue : Running), verdict[w]); flag = false;
		printf("worker %d gives back %d\n", w, doc[w]); free(w) }
#else
	:: d_step { at[w] == Finished ->
		done(doc[w], state[doc[w]], verdict[w]);
		printf("worker %d gives back %d\n", w, doc[w]); free(w) }
#endif
	od
}

#ifdef NO_RECOVERY
#define NO_READING (kills < KILLS && listener == Starting)
#else
#define NO_READING false
#endif

/* Subscribe first, read the store then. */
proctype Listener() {
	bool refused;
end:
	do
#ifdef SUBSCRIBED_LATE
	:: d_step { listener == Starting || listener == Lagged ->
		reread = true; poke = true; listener = Subscribed;
		printf("listener asks for a reading\n") }
	:: d_step { listener == Subscribed ->
		subscribed = true; listener = Listening;
		printf("listener subscribes\n") }
#else
	:: d_step { listener == Starting || listener == Lagged ->
		subscribed = true;
		listener = (NO_READING -> Listening : Subscribed);
		printf("listener subscribes\n") }
	:: d_step { listener == Subscribed ->
		reread = true; poke = true; listener = Listening;
		printf("listener asks for a reading\n") }
#endif
	:: d_step { listener == Listening && nempty(bus) ->
		bus?key; listener = Holding;
		printf("listener receives %d\n", key) }
#ifdef SIGNAL_UNLOCKED
	:: d_step { listener == Holding ->
		keySaw = state[key]; listener = Looked;
		printf("listener looks %d\n", key) }
	:: d_step { listener == Looked ->
		signal(key, keySaw); keySaw = Idle; listener = Listening;
		printf("listener signals %d\n", key); key = 0; refused = false }
#else
	:: d_step { listener == Holding ->
		signal(key, state[key]); listener = Listening;
		printf("listener signals %d\n", key); key = 0; refused = false }
#endif
	:: d_step { listener == Listening && !subscribed && empty(bus) ->
#ifdef LAG_FORGOTTEN
		subscribed = true;
#else
		listener = Lagged;
#endif
		printf("listener lags\n") }
	od
}

inline wake(d) {
	if
	:: state[d] == Delayed && !early[d] && FULL ->
		state[d] = Idle; reread = true  /* beside: delayed -> idle: time is up */
	:: state[d] == Delayed && !early[d] && !FULL ->
		push(d)                         /* delayed -> queued: time is up */
	:: else -> skip
	fi
}

inline snapshot(d) {
	row[d] = (dirty[d] && !parked[d] -> (wait[d] -> 2 : 1) : 0)
}

/* tell is one row of a reading. */
inline tell(d) {
	if
	:: row[d] == 2 && state[d] == Idle ->
		delay(d)                        /* beside: idle -> delayed: read too early */
#ifdef PASSED_OVER
	:: row[d] == 1 && state[d] != Idle -> skip
	:: row[d] == 1 && state[d] == Idle -> signal(d, state[d])
#else
	:: row[d] == 1 -> signal(d, state[d])
#endif
	:: else -> skip
	fi;
	row[d] = 0
}

proctype Feed() {
	bool refused;
end:
	do
	:: d_step { feed == Asleep && (poke || SUM(DUE) || AT_DUE) ->
		poke = false; feed = Woke;
		wake(0);
#if DOCS > 1
		wake(1);
#endif
		if
		:: rereadAt && !early[rereadAt - 1] -> rereadAt = 0; reread = true
		:: else -> skip
		fi;
		armed[0] = (state[0] == Delayed);
#if DOCS > 1
		armed[1] = (state[1] == Delayed);
#endif
		armedAt = (rereadAt != 0);
		printf("feed wakes\n") }
	:: d_step { feed == Woke && !WANTS_READ -> feed = Asleep }
#ifdef CLEARED_LATE
	:: d_step { feed == Woke && WANTS_READ -> feed = Reading; printf("feed begins\n") }
	:: d_step { feed == Reading ->
		snapshot(0);
#if DOCS > 1
		snapshot(1);
#endif
		feed = Cleared; printf("feed reads\n") }
	:: d_step { feed == Cleared -> reread = false; feed = Rows; printf("feed clears\n") }
#else
	:: d_step { feed == Woke && WANTS_READ -> reread = false; feed = Reading; printf("feed begins\n") }
	:: d_step { feed == Reading ->
		snapshot(0);
#if DOCS > 1
		snapshot(1);
#endif
		feed = Rows; printf("feed reads\n") }
#endif
	:: d_step { feed == Rows && row[0] ->
		tell(0); printf("feed signals 0\n");
		if
		:: refused -> row[0] = 0; refused = false
#if DOCS > 1
			; row[1] = 0
#endif
		:: else -> skip
		fi }
#if DOCS > 1
	:: d_step { feed == Rows && row[1] ->
		tell(1); printf("feed signals 1\n");
		if
		:: refused -> row[0] = 0; row[1] = 0; refused = false
		:: else -> skip
		fi }
#endif
	:: d_step { feed == Rows && !SUM(STILL) -> feed = Asleep }
	od
}

/* Time passes for a row of the store first: the table reckons from the moment at
 * which the store has answered. */
proctype Clock() {
end:
	do
	:: d_step { wait[0] -> wait[0] = false; printf("time passes 0\n") }
	:: d_step { early[0] && !wait[0] -> early[0] = false; printf("time is up 0\n") }
#if DOCS > 1
	:: d_step { wait[1] -> wait[1] = false; printf("time passes 1\n") }
	:: d_step { early[1] && !wait[1] -> early[1] = false; printf("time is up 1\n") }
#endif
	od
}

/* An append: durable first, announced then. One that is in doubt, or was made by
 * another process, is not announced; the store is read again instead. One to a
 * parked document is not announced at all. */
inline store(p, d) {
	head[d]++; dirty[d] = true; ops--; target[p] = d; SYNC;
	producer[p] = (parked[d] -> Ready : Stored);
	printf("producer %d stores %d\n", p, d)
}

inline settled(p) { producer[p] = Ready; target[p] = 0 }

proctype Producer(byte p) {
end:
	do
#ifdef ANNOUNCED_FIRST
	:: d_step { producer[p] == Ready && ops > 0 ->
		target[p] = 0; producer[p] = Chosen; publish(0);
		printf("producer %d announces 0\n", p) }
	:: d_step { producer[p] == Chosen ->
		if
		:: ops > 0 -> store(p, target[p])
		:: else -> skip
		fi;
		settled(p) }
#else
	:: d_step { producer[p] == Ready && ops > 0 -> store(p, 0) }
#if DOCS > 1
	:: d_step { producer[p] == Ready && ops > 0 -> store(p, 1) }
#endif
	:: d_step { producer[p] == Stored ->
		publish(target[p]);
		printf("producer %d announces %d\n", p, target[p]); settled(p) }
	:: d_step { producer[p] == Stored ->
		reread = true; poke = true;
		printf("producer %d asks for a reading\n", p); settled(p) }
#endif
	od
}

#if PARKS > 0
inline resume(d) {
	parked[d] = false; wait[d] = false; resuming[d] = true; SYNC;
	printf("operator resumes %d\n", d)
}

proctype Operator() {
end:
	do
	:: d_step { parked[0] -> resume(0) }
	:: d_step { resuming[0] -> publish(0); resuming[0] = false; printf("operator announces 0\n") }
#if DOCS > 1
	:: d_step { parked[1] -> resume(1) }
	:: d_step { resuming[1] -> publish(1); resuming[1] = false; printf("operator announces 1\n") }
#endif
	od
}
#endif

inline forget(d) {
	state[d] = Idle; early[d] = false; row[d] = 0; armed[d] = false; resuming[d] = false
}

#if KILLS + CUTS > 0
/* kill ends the process, and starts it again. */
inline kill() {
	forget(0);
#if DOCS > 1
	forget(1);
#endif
	drain(queue); drain(bus);
	subscribed = false; reread = false; rereadAt = 0; poke = false; armedAt = false;
	free(0);
#if WORKERS > 1
	free(1);
#endif
	listener = Starting; key = 0; keySaw = Idle; feed = Asleep;
	i = 0;
	do
	:: i < PRODUCERS -> producer[i] = Ready; target[i] = 0; i++
	:: else -> break
	od;
	i = 0
}

inline cut(d) { applied[d] = synced[d]; dirty[d] = (head[d] > applied[d]); wait[d] = false }

proctype Killer() {
	byte i;
end:
	do
	:: d_step { kills > 0 -> kills--; kill(); printf("kill\n") }
#if CUTS > 0
	:: d_step { cuts > 0 ->
		cuts--; kill(); cut(0);
#if DOCS > 1
		cut(1);
#endif
		printf("cut\n") }
#endif
	od
}
#endif

/* When nobody has anything left to do, nothing may be left undone. */
proctype Rest() {
end:
	do
	:: d_step { timeout ->
		printf("rest\n");
		assert(head[0] == applied[0]);
		assert(state[0] == Idle && !dirty[0]);
#if DOCS > 1
		assert(head[1] == applied[1]);
		assert(state[1] == Idle && !dirty[1]);
#endif
		assert(empty(queue)) } -> break
	od
}

init {
	byte i;
	atomic {
		i = 0; do :: i < WORKERS -> run Worker(i); i++ :: else -> break od;
		run Listener(); run Feed(); run Clock();
		i = 0; do :: i < PRODUCERS -> run Producer(i); i++ :: else -> break od;
#if PARKS > 0
		run Operator();
#endif
#if KILLS + CUTS > 0
		run Killer();
#endif
#ifndef LIVE
		run Rest();
#endif
		i = 0
	}
}

#ifdef LIVE
/* Operations are few, so this is: each that is stored gets into a view, by a run
 * that read the document after it was stored. */
ltl live { [] <> (head[0] == applied[0]) }
#endif
