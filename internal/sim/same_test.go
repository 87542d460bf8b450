package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var hashes = regexp.MustCompile(`seeds on (memory|sqlite) in .* hash ([0-9a-f]{16})`)

// The traces of a seed are the same in every process, on one processor and on two,
// on both backends and, where SIM_RACE asks for it, with the race detector.
func TestTracesAreTheSameEverywhere(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binaries := []string{self}
	if os.Getenv("SIM_RACE") != "" {
		for _, args := range [][]string{{"test", "-c"}, {"test", "-race", "-c"}} {
			binary := filepath.Join(t.TempDir(), "sim.test")
			if out, err := exec.CommandContext(t.Context(), "go", append(args, "-o", binary, ".")...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			binaries = append(binaries, binary)
		}
	}
	seen := make(map[string][]string)
	for _, binary := range binaries {
		for _, processors := range []string{"1", "2"} {
			cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestSeeds$", "-test.v")
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+processors, "SIM_FIRST=1000", "SIM_SEEDS=30", "SIM_SQLITE=30", "SIM_SEED=")
			out, err := cmd.CombinedOutput()
			found := hashes.FindAllSubmatch(out, -1)
			if err != nil || len(found) != 2 {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, f := range found {
				hash := string(f[2])
				seen[hash] = append(seen[hash], filepath.Base(binary)+" on "+processors+" with "+string(f[1]))
			}
		}
	}
	if len(seen) != 1 {
		t.Errorf("the same seeds have several traces: %v", seen)
	}
}
