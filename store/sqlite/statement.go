package sqlite

import "database/sql/driver"

// A runner runs statements in a transaction: the store's own connection, or a
// transaction of the application. Errors are [*statementError].
type runner interface {
	// exec runs a statement whose rows nobody wants.
	exec(s statement, args ...driver.Value) error
	// one returns the first row, nil if there is none. The slice is good until
	// the statement runs again.
	one(s statement, args ...driver.Value) ([]driver.Value, error)
	// each calls row for each row, until it returns false. row must not run statements,
	// and the slice is good until it returns; its elements may be kept.
	each(s statement, row func([]driver.Value) bool, args ...driver.Value) error
}

// A statement names one of the statements that connections keep prepared.
type statement uint8

const (
	beginImmediate statement = iota
	commitAll
	getVersion
	getOurs
	getMeta
	setMeta
	bumpMeta
	getCollection
	newCollection
	setVersion
	setGenerationVersion
	newGeneration
	getGeneration
	getState
	getKept
	allCollections
	pause
	getDocument
	newDocument
	newProgress
	lastRow
	changes
	moveHead
	findID
	insertOne
	insertMany
	insertLog
	markDirty
	newProgressBeside
	moveApplied
	getLease
	takeLease
	lengthenLease
	releaseLease
	putView
	dropView
	getPlace
	nextPlace
	lastPlace
	putFailure
	dropFailure
	unparkFailure
	getFailure
	resume
	loadServedPlain
	loadServedViews
	loadPlain
	loadViews
	scanPlain
	scanViews
	readOperations
	runnablePage
	logStart
	logPage
	changesPlain
	changesViews
	countDirty
	countParked
	parkedPage
	discard
	putDiscard
	setEpoch
	setBack
	discardsPage
	resolveDocument
	anyForgotten
	getForgotten
	putForgotten
	startErasing
	getErasing
	nextOperation
	dropLog
	dropOperations
	dropFailures
	dropViews
	dropProgress
	dropDiscards
	dropDocument
	nextDocument
	startDropping
	getDropping
	dropGenerations
	dropDropping
	dropCollection
	lastDocument
	startGeneration
	setBuilding
	fillRows
	moveScan
	manyDirty
	firstBehind
	setServing
	setState
	setSlots
	setClosing
	listGenerations
	nextDropping
	sliceEnd
	sweepViews
	sweepFailures
	sweepProgress
	dropGeneration
	getReceiver
	getReader
	newDerived
	moveDerived
	setSince
	insertDelta
	standIn
	lastSent
	mergeDelta
	countContributions
	lowestDelta
	dropDeltas
	readDeltas
	listDependents
	getBefore
	anyNews
	getRound
	putRound
	dropRound
	contributorsPage
	newContribution
	setContribution
	dropContribution
	contributionsPage
	readersPage
	inputsOf
	edgesOf
	getEdge
	getChanged
	putEdge
	dropEdge
	readsOf
	madeOf
	newDerivedCollection
	startDerived
	countDependents
	setMappings
	getMark
	setMark
	firstParkedHere
	refill
	fillPage
	everyDependent
	newErasing
	dropProgressOf
	getFeeding
	retractContribution
	sentPage
	blankDelta
	deltasOf
	contributionSizes
	nextMade
	statementCount
)

func (s statement) sql() string  { return statements[s].sql }
func (s statement) what() string { return statements[s].what }

// counts reports whether the statement is about a counter, which every store has.
func (s statement) counts() bool { return s == getMeta || s == bumpMeta || s == getVersion }

// statements has the text of each statement, and what it is for in the words of
// an error.
//
// The plus before some parameters changes nothing but this: without it SQLite
// takes the parameter for a hint to the planner, and prepares the statement
// again whenever it is bound, which costs 5 to 20 times as much as running it.
// What runs for each document has no RETURNING: SQLite makes a temporary table
// for that, which costs more than another statement.
var statements = func() (all [statementCount]statementText) {
	for _, some := range []map[statement]statementText{plainStatements, derivedStatements} {
		for s, text := range some {
			all[s] = text
		}
	}
	return all
}()

type statementText struct{ what, sql string }
