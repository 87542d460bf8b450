package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/materializertest"
)

// The fold of the example is pure, and comes through the end of its process at any
// call of the store.
func TestFoldIsPure(t *testing.T) {
	spec := materializer.Spec[File, Change]{Name: "files", Version: 1, Fold: fold}
	sample := map[string][]Change{
		"a.go":  {{Author: "ann", Added: 5, Deleted: 2}, {Author: "bob", Binary: true}, {Author: "ann", Added: 1, Deleted: 8}},
		"b.png": {{Author: "eve", Binary: true}},
		"c.md":  {{Author: "bob", Added: 3}, {Author: "", Deleted: 3}},
	}
	describe := func(id string, seq int64, c Change) materializer.NewOperation[Change] {
		return materializer.NewOperation[Change]{ID: operationID(fmt.Sprintf("%040x", len(id)), int(seq-1)), Time: time.Unix(1000-300*seq, 0)}
	}
	synctest.Test(t, func(t *testing.T) {
		materializertest.CheckFold(t, spec, sample, &materializertest.FoldOptions[Change]{Describe: describe})
		materializertest.CheckCrashes(t, spec, sample, &materializertest.CrashOptions[Change]{Describe: describe, Most: 20})
	})
}
