package storetest_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

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
	"view of a deleted":  {"deleted", func() store.Backend { return keptView{memory.New(nil)} }},
	"discard in silence": {"discard", func() store.Backend { return freeDiscard{memory.New(nil)} }},
	"pause is a word":    {"pauser", func() store.Backend { return pausedRuns{memory.New(nil)} }},
	"parked are dirty":   {"censor", func() store.Backend { return parkedAreDirty{memory.New(nil)} }},
	"forgets to refuse":  {"eraser", func() store.Backend { return shortMemory{memory.New(nil)} }},
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
		storetest.Run(t, func(testing.TB) store.Backend { return faults[name].open() }, nil)
		return
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=60s",
				"-test.run=^TestFaultsAreFound$/^"+fault.section+"$", "-rapid.nofailfile", "-rapid.shrinktime=1ms")
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
