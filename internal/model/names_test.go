package model

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Each mutant that docs/model/check tries is replayed here. Two of the leases'
// are about epochs and overlap alone, of which the store has nothing to replay.
func TestEveryMutantIsReplayed(t *testing.T) {
	script, err := os.ReadFile("../../docs/model/check")
	if err != nil {
		t.Fatal(err)
	}
	tried := make(map[string][]string) // by model
	for line := range strings.Lines(string(script)) {
		if row := strings.Split(strings.TrimSpace(line), "|"); len(row) == 4 && row[0] == "fails" {
			tried[row[1]] = append(tried[row[1]], row[2])
		}
	}
	same(t, "inflight", tried["inflight"], counterexamples)
	lease := slices.DeleteFunc(tried["lease"], func(name string) bool {
		return name == "epochs repeat, guard is epoch alone" || name == "claimed: runs never overlap"
	})
	same(t, "lease", lease, leaseCounterexamples)
}

func same(t *testing.T, model string, tried []string, replayed []counterexample) {
	t.Helper()
	var names []string
	for _, c := range replayed {
		names = append(names, c.mutant)
	}
	slices.Sort(names)
	slices.Sort(tried)
	if !slices.Equal(tried, names) {
		t.Errorf("%s: check tries\n%q, replayed are\n%q", model, tried, names)
	}
}
