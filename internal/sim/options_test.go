package sim

import (
	"reflect"
	"time"
)

// maxSteps is far beyond what a run needs.
const maxSteps = 60_000

// collection is where the documents of the simulation are.
const collection = "docs"

// options are drawn from the seed. Each "one in so many" is 0 where it never
// happens.
type options struct {
	procs, docs, requests, readers int

	workers, queue, batch, announcements int
	bytes                                int64
	grace, interval                      time.Duration

	attempts int
	backoff  time.Duration

	kills, cuts, stops, pauses, stalls int // per step
	refused, doubt, unreadable         int // per call of the store
	delays, skew                       int
	flaky, slow, panics, exits         int // per fold
	poison                             int // per operation

	// shared tells that all processes work on the store, under leases that last for
	// lease.
	shared    bool
	lease     time.Duration
	freezes   int // per step
	followers int
	operators bool // somebody pauses, discards, forgets and resumes

	// derived tells that there are derived collections, of these kinds; adds has a bit for
	// each version that is made by adding. For each of so many states a function of theirs
	// fails for good, until it is mended.
	derived   bool
	kinds     []string
	adds, bad int
	deletes   int // per operation
	keepFor   time.Duration
	upgrades  int // how often a new version of something is begun with
	deploys   int // per step
}

func drawOptions(c *choices, derived bool) options {
	o := options{
		procs:    1 + c.n(3),
		docs:     1 + c.n(4),
		requests: 3 + c.n(20),
		readers:  c.n(3),

		workers:       1 + c.n(3),
		queue:         of(c, 64, 2, 3, 1, 8, 1),
		batch:         of(c, 64, 1, 2),
		announcements: of(c, 4096, 1, 2, 8),
		bytes:         of[int64](c, 0, 4000, 600),
		grace:         of(c, 10*time.Second, 300*time.Millisecond, -1),
		interval:      of(c, 0, 0, 0, 200*time.Millisecond),
		attempts:      of(c, 3, 6),
		backoff:       of(c, 50*time.Millisecond, 2*time.Second),
	}
	// Runs in which little goes wrong find other faults than those in which all does.
	o.kills = of(c, 0, 400, 100)
	o.cuts = of(c, 0, 0, 400, 100)
	o.stops = of(c, 0, 0, 500, 200)
	o.pauses = of(c, 0, 200, 40)
	o.stalls = of(c, 0, 4, 15, 15)
	o.refused = of(c, 0, 0, 60, 20)
	o.doubt = of(c, 0, 0, 40, 12)
	o.unreadable = of(c, 0, 0, 100, 30)
	if c.oneIn(3) { // for a while after an error nobody can say what is overlooked
		o.refused, o.doubt, o.unreadable = 0, 0, 0
	}
	o.delays = of(c, 0, 0, 60, 15)
	o.skew = of(c, 0, 0, 0, 5)
	o.flaky = of(c, 0, 0, 30, 5)
	o.slow = of(c, 0, 0, 60, 15)
	o.panics = of(c, 0, 0, 60)
	o.exits = of(c, 0, 0, 60)
	o.poison = of(c, 0, 0, 40, 10)
	o.freezes = of(c, 0, 0, 300, 80)
	o.followers = of(c, 0, 0, 1, 2)
	if o.operators = c.oneIn(3); o.operators {
		o.poison = of(c, 40, 10)
	}
	if o.shared = c.oneIn(4); o.shared {
		o.procs = 2 + c.n(2)
		o.lease = of(c, time.Second, time.Second, 3*time.Second, 10*time.Second)
		o.bytes = of[int64](c, 600, 0, 4000)
	}
	if o.derived = derived; derived {
		o.drawDerived(c)
	}
	return o
}

// drawDerived draws what worlds with derived collections have besides. They have less of all
// else: a change costs several times as much.
func (o *options) drawDerived(c *choices) {
	o.docs, o.requests = min(o.docs, 3), 3+c.n(9)
	o.kinds = of(c, []string{sums}, []string{cards}, []string{sums, tops}, []string{cards, tops}, []string{sums, cards}, []string{sums, cards, tops})
	o.adds, o.bad = c.n(8), of(c, 0, 0, 12, 4)
	o.deletes = of(c, 0, 8, 8, 3)
	o.keepFor = of(c, -1, 2*time.Second, 30*time.Second, 0)
	o.upgrades = of(c, 0, 1, 1, 2, 3)
	o.deploys = of(c, 100, 300)
}

// counters count what is rare, to show that it happened.
type counters struct {
	Steps, Kills, Cuts, Stops                       int
	Requeues, Absorbed, StaleRefused, LateCalls     int
	KilledBeforeAnnouncement, RetriesAfterDoubt     int
	DoubtStored, DoubtNotStored, Refused, FailReads int
	Lagged, TableFull, Rereads, Takeovers           int
	ViewsLost, Conflicts, Duplicates, ReusedIDs     int
	ParkedDocs, Seized, Slices, Suspects            int
	ReadsAtLeast, Drains, Stuck, Handovers          int
	Leases, LeasesLost, LeftBehind, Elsewhere       int
	Lengthened, OverdueLeases, StaleEpochs          int
	StaleReleases, LateRefused, ReleasesTaken       int
	Freezes, Pauses, Discards, DiscardsParked       int
	Forgets, Followed, FollowedAgain, FollowersLeft int
	ParksTold, Resumes                              int
	Fills, Switches, SwitchesAfterCrash, Holds      int
	Retired, TooOld, Upgrades                       int
	MappingSlices, ReadsMoved, Deletions            int
	DerivedReads, MappingsParked, DerivedParked     int
	KilledBeforeEffects, KilledBuilding, Refills    int
	DerivedDeleted                                  int
}

func (n *counters) add(o counters) {
	sum, more := reflect.ValueOf(n).Elem(), reflect.ValueOf(o)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

// each returns the counters that must not be 0, by name.
func (n *counters) each() []struct {
	name string
	n    int
} {
	type row = struct {
		name string
		n    int
	}
	return []row{
		{"processes killed", n.Kills}, {"power cuts", n.Cuts}, {"runs told to stop", n.Stops},
		{"requeue taken", n.Requeues}, {"signals absorbed", n.Absorbed}, {"stale write refused", n.StaleRefused},
		{"late call of a dead process", n.LateCalls},
		{"crash between store and announcement", n.KilledBeforeAnnouncement},
		{"retry after in doubt", n.RetriesAfterDoubt},
		{"in doubt and stored", n.DoubtStored}, {"in doubt and not stored", n.DoubtNotStored},
		{"write refused", n.Refused}, {"reading failed", n.FailReads},
		{"fell behind the bus", n.Lagged}, {"table full", n.TableFull}, {"store read again", n.Rereads},
		{"claim taken over after a kill", n.Takeovers}, {"claim taken over after a stop", n.Handovers},
		{"view lost by a power cut", n.ViewsLost},
		{"head not as expected", n.Conflicts}, {"duplicate append", n.Duplicates}, {"operation id reused", n.ReusedIDs},
		{"document parked", n.ParkedDocs}, {"hand seized", n.Seized}, {"slice of a document", n.Slices},
		{"run of a suspect", n.Suspects}, {"read at least a token", n.ReadsAtLeast}, {"drained", n.Drains},
		{"run given up", n.Stuck},
		{"process stopped for a while", n.Freezes},
		{"lease taken", n.Leases}, {"lease lengthened", n.Lengthened}, {"lease given back", n.ReleasesTaken},
		{"document elsewhere", n.Elsewhere}, {"lease ran out beside a live holder", n.OverdueLeases},
		{"document that was left behind taken over", n.LeftBehind},
		{"lease lost", n.LeasesLost}, {"stale epoch refused", n.StaleEpochs},
		{"stale release without effect", n.StaleReleases}, {"late commit of a dead holder refused", n.LateRefused},
		{"collection paused", n.Pauses}, {"operation discarded", n.Discards},
		{"document resumed by a discard", n.DiscardsParked}, {"document resumed", n.Resumes},
		{"document forgotten", n.Forgets},
		{"change followed", n.Followed}, {"follower began again", n.FollowedAgain},
		{"follower moved to another process", n.FollowersLeft}, {"parked document told to a follower", n.ParksTold},
		{"new version released", n.Upgrades}, {"slice of rows made", n.Fills}, {"generation switched to", n.Switches},
		{"generation switched to after a crash", n.SwitchesAfterCrash}, {"what is served held before a switch", n.Holds},
		{"generation dropped", n.Retired}, {"program too old for the store", n.TooOld},
		{"slice of what a source has to tell", n.MappingSlices},
		{"build whose source changed meanwhile", n.ReadsMoved},
		{"source deleted", n.Deletions}, {"derived document deleted", n.DerivedDeleted},
		{"mapping of a source parked", n.MappingsParked}, {"derived document parked", n.DerivedParked},
		{"crash between the commit of a source and its effects", n.KilledBeforeEffects},
		{"crash beside a generation that is built", n.KilledBuilding},
		{"derived collection filled again", n.Refills}, {"derived document read", n.DerivedReads},
	}
}
