// Package storetest checks that a storage backend keeps the contract of package
// store. Every backend of Refold passes it, and a backend from elsewhere runs it
// in the same way: see [Run].
//
// There is a section for each role, and a check in it for each sentence of the
// contract, named after it, so that one can be run by itself:
//
//	go test -run 'TestContract/append/all_entries'
package storetest

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/refold-go/refold/store"
)

// Options tell what else can be tried on a backend. The zero value works.
type Options struct {
	// Reopen closes b, which may be closed already, and opens what it stored
	// again. nil means that the backend keeps nothing. The suite closes what it
	// returns.
	Reopen func(t testing.TB, b store.Backend) store.Backend
	// Second opens another handle on the content of b, as another process would,
	// while b stays open. nil means that there can be only one. The suite closes
	// what it returns.
	Second func(t testing.TB, b store.Backend) store.Backend
	// Database opens a handle of the application on the database of b, for the
	// section on [store.Transactor]. It must sync as much as the store does. nil
	// means that there is none. The suite closes what it returns.
	Database func(t testing.TB, b store.Backend) *sql.DB
	// Stall has the next append by b, a [store.Writers], stop when it has drawn its
	// positions and before it commits. reached is closed when it has got there, and
	// goOn lets it go on; it is called once. The store is not closed in between. nil
	// means that this cannot be tried.
	Stall func(t testing.TB, b store.Backend) (reached <-chan struct{}, goOn func())
	// MaxBody is the most bytes of a body in the stores that open returns, if
	// that is less than [store.MaxBody].
	MaxBody int
}

// Run checks a backend against the contract of package store. open returns a new
// and empty store at each call, and may register what cleans up behind it; the
// suite closes the store before that. nil options mean the zero [Options].
//
// The sections on [store.Follower], [store.Transactor], [store.Checker] and
// [store.Writers] run if the backend implements them. Last comes a comparison with a simple model over random calls,
// to which the flags of pgregory.net/rapid apply; it ends after three seconds. After each check, what a
// [store.DerivedChecker] says of itself must be nothing.
// With -short all sizes are smaller.
func Run(t *testing.T, open func(t testing.TB) store.Backend, o *Options) {
	s := &suite{open: open}
	if o != nil {
		s.Options = *o
	}
	for _, section := range []struct {
		name   string
		checks []check
	}{
		{"append", appendChecks},
		{"ids", idChecks},
		{"limits", limitChecks},
		{"load", loadChecks},
		{"operations", operationsChecks},
		{"commit", commitChecks},
		{"failure", failureChecks},
		{"runnable", runnableChecks},
		{"scan", scanChecks},
		{"registrar", registrarChecks},
		{"names", nameChecks},
		{"resolver", resolverChecks},
		{"log", slices.Concat(logChecks, logFollowChecks)},
		{"feed", slices.Concat(feedChecks, followChecks)},
		{"history", historyChecks},
		{"claimer", claimerChecks},
		{"leaser", slices.Concat(leaserChecks, leaserCommitChecks, sharerChecks)},
		{"deleted", deletedChecks},
		{"announcer", announcerChecks},
		{"parking", parkingChecks},
		{"discard", discardChecks},
		{"pauser", pauserChecks},
		{"censor", censorChecks},
		{"eraser", eraserChecks},
		{"generator", slices.Concat(generatorChecks, besideChecks, generationLeaseChecks, switchChecks, switchFeedChecks)},
		{"deriver", slices.Concat(deriverChecks, tellChecks, roundChecks, manyChecks, pileChecks, readChecks, passChecks, fillChecks, serveChecks, refillChecks, forgetChecks)},
		{"ownership", ownershipChecks},
		{"errors", errorChecks},
		{"life", lifeChecks},
		{"follower", followerChecks},
		{"transactor", transactorChecks},
		{"checker", checkerChecks},
		{"writers", writersChecks},
		{"fence", fenceChecks},
	} {
		t.Run(section.name, func(t *testing.T) {
			for _, c := range section.checks {
				t.Run(c.name, func(t *testing.T) { s.check(t, c) })
			}
		})
	}
	t.Run("model", s.model)
	t.Run("derived model", s.derivedModel)
}

// suite is a backend under test.
type suite struct {
	Options
	open func(t testing.TB) store.Backend
}

// check is one sentence of the contract.
type check struct {
	name string
	run  func(f *fixture)
}

// check runs one check on a store of its own, and then looks whether what is in
// the store is consistent.
func (s *suite) check(t *testing.T, c check) {
	f := &fixture{suite: s, T: t}
	f.b = f.another()
	c.run(f)
	if !t.Skipped() && !f.closed {
		checkConsistent(t, f.b, f.removed)
	}
}
