package storetest_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/storetest"
)

// faults are backends that break one sentence of the contract, and the section
// that must find it.
var faults = map[string]struct {
	section string
	open    func() store.Backend
}{
	"half an append":     {"append", func() store.Backend { return halfAppend{memory.New(nil)} }},
	"token too low":      {"append", func() store.Backend { return lowToken{memory.New(nil)} }},
	"no ids":             {"ids", func() store.Backend { return noIDs{memory.New(nil)} }},
	"head before ids":    {"ids", func() store.Backend { return headFirst{memory.New(nil)} }},
	"late commit":        {"commit", func() store.Backend { return lateCommit{memory.New(nil)} }},
	"newest first":       {"runnable", func() store.Backend { return newestFirst{memory.New(nil)} }},
	"first page only":    {"runnable", func() store.Backend { return firstPage{memory.New(nil)} }},
	"budget for each":    {"operations", func() store.Backend { return budgetForEach{memory.New(nil)} }},
	"any version":        {"names", func() store.Backend { return anyVersion{memory.New(nil)} }},
	"since skips":        {"names", func() store.Backend { return sinceSkips{memory.New(nil)} }},
	"seq too high":       {"resolver", func() store.Backend { return highSeq{memory.New(nil)} }},
	"claim for everyone": {"claimer", func() store.Backend { return freeClaim{memory.New(nil)} }},
	"lease for all":      {"leaser", func() store.Backend { return freeLease{memory.New(nil)} }},
	"lease for all, too": {"model", func() store.Backend { return freeLease{memory.New(nil)} }},
	"any release":        {"leaser", func() store.Backend { return anyRelease{memory.New(nil)} }},
	"kept for ever":      {"leaser", func() store.Backend { return keptLease{memory.New(nil)} }},
	"view of a deleted":  {"deleted", func() store.Backend { return keptView{memory.New(nil)} }},
	"discard in silence": {"discard", func() store.Backend { return freeDiscard{memory.New(nil)} }},
	"pause is a word":    {"pauser", func() store.Backend { return pausedRuns{memory.New(nil)} }},
	"parked are dirty":   {"censor", func() store.Backend { return parkedAreDirty{memory.New(nil)} }},
	"forgets to refuse":  {"eraser", func() store.Backend { return shortMemory{memory.New(nil)} }},
	"always by force":    {"generator", func() store.Backend { return alwaysForce{memory.New(nil)} }},
	"anybody's hold":     {"generator", func() store.Backend { return anyHold{memory.New(nil), new(time.Time)} }},
	"hold is a word":     {"generator", func() store.Backend { return noHold{memory.New(nil)} }},
	"retires nothing":    {"generator", func() store.Backend { return keepsAll{memory.New(nil)} }},
	"retires, model":     {"model", func() store.Backend { return keepsAll{memory.New(nil)} }},
	"fills a part":       {"generator", func() store.Backend { return lateFill{memory.New(nil)} }},
	"keeps nothing":      {"generator", func() store.Backend { return keepsNothing{memory.New(nil)} }},
	"nothing, model":     {"model", func() store.Backend { return keepsNothing{memory.New(nil)} }},
	"no reads":           {"deriver", withCommit(noReads)},
	"late reads":         {"deriver", withCommit(lateReads)},
	"any round":          {"deriver", withCommit(anyRound)},
	"whole round":        {"deriver", withCommit(wholeRound)},
	"late round":         {"deriver", withCommit(lateRound)},
	"keeps pairs":        {"deriver", withCommit(keepsPairs)},
	"any epoch":          {"deriver", withCommit(anyEpoch)},
	"tells again":        {"deriver", newTellsAgain},
	"piles up":           {"deriver", func() store.Backend { return pilesUp{memory.New(nil)} }},
	"first since":        {"deriver", func() store.Backend { return firstSince{memory.New(nil)} }},
	"no cycles":          {"deriver", func() store.Backend { return noCycles{memory.New(nil)} }},
	"bare deltas":        {"deriver", func() store.Backend { return bareDeltas{memory.New(nil)} }},
	"silent mappings":    {"deriver", func() store.Backend { return silentMappings{memory.New(nil)} }},
	"sorted sources":     {"deriver", func() store.Backend { return sortedSources{memory.New(nil)} }},
	"always filled":      {"deriver", func() store.Backend { return alwaysFilled{memory.New(nil)} }},
	"derived, by force":  {"deriver", func() store.Backend { return alwaysForce{memory.New(nil)} }},
	"derived, no hold":   {"deriver", func() store.Backend { return noHold{memory.New(nil)} }},
	"derived, in part":   {"deriver", func() store.Backend { return lateFill{memory.New(nil)} }},
	"drops all":          {"deriver", func() store.Backend { return dropsAll{memory.New(nil)} }},
	"last contributor":   {"deriver", func() store.Backend { return lastContributor{memory.New(nil)} }},
	"moving changes":     {"deriver", func() store.Backend { return movingChanges{memory.New(nil)} }},
	"log skips":          {"log", func() store.Backend { return skippingLog{memory.New(nil), 128} }},
	"log without an end": {"log", func() store.Backend { return openLog{memory.New(nil)} }},
	"log says no end":    {"log", func() store.Backend { return silentLog{memory.New(nil)} }},
	"log skips, model":   {"model", func() store.Backend { return skippingLog{memory.New(nil), 5} }},
	"numbers reused":     {"feed", func() store.Backend { return reusedNumbers{memory.New(nil)} }},
	"no deleted":         {"feed", func() store.Backend { return noDeleted{memory.New(nil)} }},
	"no deleted, model":  {"model", func() store.Backend { return noDeleted{memory.New(nil)} }},
	"last run":           {"history", func() store.Backend { return lastRun{memory.New(nil), new(sync.Map)} }},
	"last run, model":    {"model", func() store.Backend { return lastRun{memory.New(nil), new(sync.Map)} }},
	"no history":         {"history", func() store.Backend { return noHistory{memory.New(nil)} }},
	"highest":            {"writers", func() store.Backend { return newCluster("highest").open() }},
	"idle holds":         {"writers", func() store.Backend { return newCluster("idle holds").open() }},
	"minimum only":       {"writers", func() store.Backend { return newCluster("minimum only").open() }},
	"early token":        {"writers", func() store.Backend { return newCluster("early token").open() }},
	"any writer":         {"writers", func() store.Backend { return newCluster("any writer").open() }},
	"one epoch":          {"writers", func() store.Backend { return newCluster("one epoch").open() }},
	"no locks":           {"writers", func() store.Backend { return newCluster("no locks").open() }},
	"fence is a word":    {"fence", func() store.Backend { return newCluster("fence is a word").open() }},
	"fence keeps locks":  {"fence", func() store.Backend { return newCluster("fence keeps locks").open() }},
	"kept view, model":   {"model", func() store.Backend { return keptView{memory.New(nil)} }},
	"pause, model":       {"model", func() store.Backend { return pausedRuns{memory.New(nil)} }},
	"never closed":       {"life", func() store.Backend { return neverClosed{memory.New(nil)} }},
	"late commit, model": {"model", func() store.Backend { return lateCommit{memory.New(nil)} }},
	"no ids, model":      {"model", func() store.Backend { return noIDs{memory.New(nil)} }},
}

// faultVariable names the fault in the environment of a child process, whose
// test must fail.
const faultVariable = "REFOLD_STORETEST_FAULT"

func TestFaultsAreFound(t *testing.T) {
	if name := os.Getenv(faultVariable); name != "" {
		storetest.SetModelTime(time.Minute) // or until they find it
		var o *storetest.Options
		if _, yes := faults[name].open().(*many); yes {
			o = manyOptions
		}
		storetest.Run(t, func(testing.TB) store.Backend { return faults[name].open() }, o)
		return
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=5m",
				"-test.run=^TestFaultsAreFound$/^"+fault.section+"$", "-rapid.nofailfile", "-rapid.shrinktime=1ms", "-rapid.checks=1000")
			child.Env = append(os.Environ(), faultVariable+"="+name)
			output, err := child.CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); !failed {
				t.Fatalf("the child ended with %v:\n%s", err, output)
			}
			if !strings.Contains(string(output), "--- FAIL: TestFaultsAreFound/"+fault.section) || strings.Contains(string(output), "panic:") {
				t.Errorf("section %s did not find it:\n%s", fault.section, output)
			}
		})
	}
}
