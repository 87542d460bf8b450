/*
 * One document that several processes may work on, under leases.
 *
 * A lease is an owner and an epoch in the guarded row. It may run out at any
 * moment: whoever looks at the clock does so in the transaction that takes the
 * lease, and no clock is trusted for more than that. The result of a run is
 * written under the guard of the row that is written: the view that was loaded,
 * and the epoch of the lease.
 *
 * Each line of a process is one transaction. Inside of a process the table of
 * inflight.pml keeps workers apart, so a process is one worker here.
 */

#ifndef HOLDERS
#define HOLDERS 2    /* at most 3 */
#endif
#ifndef OPS
#define OPS 3
#endif
#ifndef EXPIRIES
#define EXPIRIES 2   /* leases that run out while their holder lives */
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef RENEWALS
#define RENEWALS 1   /* leases that are lengthened */
#endif

mtype = { Free, Leased, Folding, Checked, Finished };

/* The row. */
byte head, applied;
bool dirty;
byte owner;            /* 1 + the holder; 0 is none */
byte epoch;
bool expired;

/* The holders. */
mtype at[HOLDERS] = Free;
byte  mine[HOLDERS];   /* epoch of the lease */
byte  loaded[HOLDERS], seen[HOLDERS];

/* For the properties. */
bool ranOut[HOLDERS];  /* the lease has, since it was taken or lengthened */
bool taken[OPS + 1];   /* a result was accepted for the view 1..n */

byte ops = OPS, expiries = EXPIRIES, kills = KILLS, renewals = RENEWALS;

#define MINE(h) (owner == h + 1 && epoch == mine[h])

#if defined(UNGUARDED)
#define GUARD(h) true
#elif defined(APPLIED_ONLY)
#define GUARD(h) (applied == loaded[h])
#elif defined(EPOCH_ONLY)
#define GUARD(h) (epoch == mine[h])
#else
#define GUARD(h) (applied == loaded[h] && epoch == mine[h])
#endif

#ifdef DIRTY_CLEARED
#define DIRTY false
#else
#define DIRTY (head > applied)
#endif

#ifdef STALE_RELEASE
#define RELEASES(h) true
#else
#define RELEASES(h) MINE(h)
#endif

#ifdef STALE_RENEWAL
#define LENGTHENS(h) true
#else
#define LENGTHENS(h) MINE(h)
#endif

inline free(h) { at[h] = Free; mine[h] = 0; loaded[h] = 0; seen[h] = 0; ranOut[h] = false }

/* alone fails if another holder folds under a lease that has not run out; with
 * NO_OVERLAP, if another one folds. */
inline alone(h) {
	k = 0;
	do
	:: k < HOLDERS ->
#ifdef NO_OVERLAP
		assert(k == h || at[k] == Free);
#else
		assert(k == h || at[k] == Free || at[k] == Finished || ranOut[k]);
#endif
		k++
	:: else -> break
	od;
	k = 0
}

inline write(h) {
	assert(seen[h] >= applied);     /* never an older view over a newer one */
	assert(!taken[loaded[h]]);      /* never two results for one state */
	taken[loaded[h]] = true;
	applied = seen[h];
	dirty = DIRTY
}

/* The commit gives the lease up in the statement that has the guard. */
inline written(h) {
#ifdef RELEASED_BY_COMMIT
	owner = 0; expired = false;
	free(h)
#else
	at[h] = Finished
#endif
}

proctype Holder(byte h) {
	byte k;
end:
	do
	:: d_step { at[h] == Free && dirty && (owner == 0 || expired) ->
		owner = h + 1; expired = false;
#ifndef EPOCH_REPEATS
		epoch++;
#endif
		mine[h] = epoch; at[h] = Leased;
		printf("holder %d takes the lease\n", h); alone(h) }
	:: d_step { at[h] == Leased ->
		loaded[h] = applied; seen[h] = head;
		at[h] = (head > applied -> Folding : Finished);
		printf("holder %d loads\n", h) }
	/* After a slice. One that no longer has the lease ends its run. */
	:: d_step { at[h] == Folding && renewals > 0 ->
		renewals--;
		if
		:: LENGTHENS(h) -> owner = h + 1; expired = false; ranOut[h] = false; alone(h)
		:: else -> at[h] = Finished
		fi;
		printf("holder %d lengthens the lease\n", h) }
#ifdef GUARDED_APART
	:: d_step { at[h] == Folding && GUARD(h) -> at[h] = Checked; printf("holder %d checks\n", h) }
	:: d_step { at[h] == Folding && !GUARD(h) -> at[h] = Finished; printf("holder %d checks\n", h) }
	:: d_step { at[h] == Checked -> write(h); written(h); printf("holder %d commits\n", h) }
#else
	:: d_step { at[h] == Folding && GUARD(h) -> write(h); written(h); printf("holder %d commits\n", h) }
	:: d_step { at[h] == Folding && !GUARD(h) -> at[h] = Finished; printf("holder %d is refused\n", h) }
#endif
	:: d_step { at[h] == Finished ->
		if
		:: RELEASES(h) -> owner = 0; expired = false
		:: else -> skip
		fi;
		free(h);
		printf("holder %d releases\n", h) }
	/* The process dies with its lease, and starts again. */
	:: d_step { at[h] != Free && kills > 0 -> kills--; free(h); printf("holder %d is killed\n", h) }
	od
}

proctype Appender() {
end:
	do
	:: d_step { ops > 0 -> ops--; head++; dirty = true; printf("append\n") }
	od
}

/* The lease of a holder that lives may run out; that of a dead one does. */
#define ORPHAN (owner != 0 && !(at[owner - 1] != Free && mine[owner - 1] == epoch))

proctype Clock() {
end:
	do
	:: d_step { owner != 0 && !expired && !ORPHAN && expiries > 0 ->
		expiries--; expired = true; ranOut[owner - 1] = true; printf("the lease runs out\n") }
	:: d_step { ORPHAN && !expired -> expired = true; printf("the lease of the dead runs out\n") }
	od
}

proctype Rest() {
	d_step { timeout ->
		printf("rest\n");
		assert(head == applied && !dirty) }
}

init {
	byte i;
	atomic {
		do :: i < HOLDERS -> run Holder(i); i++ :: else -> break od;
		run Appender(); run Clock();
#ifndef LIVE
		run Rest();
#endif
		i = 0
	}
}

#ifdef LIVE
/* Operations are few, so this is: each that is stored gets into a view. */
ltl live { [] <> (head == applied) }
#endif
