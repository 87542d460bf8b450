package model

// The mutants of docs/model/inflight.pml, by the names that its check prints.
const (
	requeueDropped = "requeue flag dropped"
	signalUnlocked = "signal is check-then-act"
	readEarly      = "read before running"
	doneFirst      = "done before commit"
	announcedFirst = "announced before stored"
	finishUnlocked = "finish is check-then-act"
	noRecovery     = "no reading after a crash"
	requeueAtOnce  = "requeue enqueued at once"
	dirtyCleared   = "dirty cleared, head not compared"
	passedOver     = "reading passes over the running"
	subscribedLate = "read before subscribed"
	clearedLate    = "mark cleared after the reading"
	lagForgotten   = "lag forgotten"
	fullForgotten  = "full table forgotten"
	resumedInHand  = "resumed while its run parks"
)

// counterexample is the shortest way in which spin makes a mutant fail, as
// docs/model/check -events prints it.
type counterexample struct {
	mutant string
	limit  int // of the table; 2 if it is 0
	events string
}

var counterexamples = []counterexample{
	{mutant: requeueDropped, events: `
		producer 1 stores 0
		producer 1 announces 0
		listener subscribes
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		feed signals 0
		worker 1 takes 0
		worker 1 loads 0
		worker 1 commits 0
		producer 1 stores 0
		producer 1 announces 0
		listener receives 0
		listener signals 0
		worker 1 gives back 0
		rest
	`},
	{mutant: signalUnlocked, events: `
		producer 1 stores 0
		listener subscribes
		producer 1 announces 0
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		listener receives 0
		listener looks 0
		feed signals 0
		listener signals 0
		worker 1 takes 0
		worker 1 loads 0
		worker 0 takes 0
		worker 0 loads 0
	`},
	{mutant: readEarly, events: `
		producer 1 stores 0
		listener subscribes
		producer 1 announces 0
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		feed signals 0
		listener receives 0
		worker 1 loads 0
		worker 1 takes 0
		listener signals 0
		worker 1 commits 0
		worker 1 gives back 0
		worker 1 loads 0
		producer 1 stores 0
		producer 1 announces 0
		listener receives 0
		listener signals 0
		worker 1 takes 0
		worker 1 gives back 0
		rest
	`},
	{mutant: doneFirst, events: `
		producer 1 stores 0
		producer 0 stores 0
		listener subscribes
		producer 1 announces 0
		listener asks for a reading
		listener receives 0
		producer 0 announces 0
		listener signals 0
		listener receives 0
		worker 1 takes 0
		listener signals 0
		worker 1 loads 0
		worker 1 gives back 0
		worker 0 takes 0
		worker 0 loads 0
	`},
	{mutant: announcedFirst, events: `
		producer 1 announces 0
		producer 0 announces 0
		listener subscribes
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		producer 1 stores 0
		producer 0 stores 0
		rest
	`},
	{mutant: finishUnlocked, events: `
		producer 1 stores 0
		producer 1 announces 0
		listener subscribes
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		feed signals 0
		worker 1 takes 0
		worker 1 loads 0
		worker 1 commits 0
		producer 1 stores 0
		producer 1 announces 0
		listener receives 0
		worker 1 looks 0
		listener signals 0
		worker 1 gives back 0
		rest
	`},
	{mutant: noRecovery, events: `
		producer 1 stores 0
		producer 0 stores 0
		kill
		listener subscribes
		rest
	`},
	{mutant: requeueAtOnce, events: `
		producer 1 stores 0
		producer 0 stores 0
		listener subscribes
		producer 1 announces 0
		listener asks for a reading
		listener receives 0
		producer 0 announces 0
		listener signals 0
		listener receives 0
		worker 1 takes 0
		listener signals 0
		worker 1 loads 0
		worker 0 takes 0
		worker 0 loads 0
	`},
	{mutant: dirtyCleared, events: `
		producer 1 stores 0
		listener subscribes
		producer 1 announces 0
		listener asks for a reading
		listener receives 0
		listener signals 0
		worker 1 takes 0
		worker 1 loads 0
		producer 1 stores 0
		producer 1 asks for a reading
		feed wakes
		feed begins
		worker 1 commits 0
		feed reads
		worker 1 gives back 0
		rest
	`},
	{mutant: passedOver, events: `
		producer 1 stores 0
		listener subscribes
		producer 1 announces 0
		listener asks for a reading
		listener receives 0
		listener signals 0
		worker 1 takes 0
		worker 1 loads 0
		worker 1 commits 0
		producer 1 stores 0
		producer 1 asks for a reading
		feed wakes
		feed begins
		feed reads
		feed signals 0
		worker 1 gives back 0
		rest
	`},
	{mutant: subscribedLate, events: `
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		producer 1 stores 0
		producer 1 announces 0
		producer 1 stores 0
		producer 1 announces 0
		listener subscribes
		rest
	`},
	{mutant: clearedLate, events: `
		listener subscribes
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		producer 1 stores 0
		producer 1 asks for a reading
		producer 1 stores 0
		producer 1 asks for a reading
		feed clears
		feed wakes
		rest
	`},
	{mutant: lagForgotten, events: `
		listener subscribes
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		producer 1 stores 0
		producer 1 announces 0
		producer 1 stores 0
		producer 1 announces 0
		listener lags
		rest
	`},
	{mutant: fullForgotten, limit: 1, events: `
		producer 1 stores 0
		producer 1 announces 0
		producer 1 stores 1
		producer 1 announces 1
		listener subscribes
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		feed signals 0
		feed signals 1
		worker 1 takes 0
		worker 1 loads 0
		worker 1 commits 0
		worker 1 gives back 0
		rest
	`},
	{mutant: resumedInHand, events: `
		producer 1 stores 0
		producer 1 announces 0
		listener subscribes
		listener asks for a reading
		feed wakes
		feed begins
		feed reads
		feed signals 0
		worker 1 takes 0
		worker 1 loads 0
		worker 1 parks 0
		producer 1 stores 0
		operator resumes 0
		operator announces 0
		listener receives 0
		listener signals 0
		worker 1 gives back 0
		rest
	`},
}
