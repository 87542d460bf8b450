package sim

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMutants compiles each mutant into a copy of the module, and looks for it.
func TestMutants(t *testing.T) {
	within := number(t, "SIM_MUTANTS", 0)
	if within == 0 {
		// That the faults can still be planted is checked all the same.
		for _, m := range mutants {
			for file, text := range m.plant(t) {
				if text == "" {
					t.Errorf("%s: %s is empty", m.name, file)
				}
			}
		}
		t.Skip("SIM_MUTANTS is not set: nobody looks for the planted faults")
	}
	clean := copyModule(t)
	var table strings.Builder
	for _, m := range mutants {
		if only := os.Getenv("SIM_MUTANT"); only != "" && !strings.Contains(m.name, only) {
			continue
		}
		began := time.Now()
		planted := m.plant(t)
		kept := make(map[string][]byte)
		for file, text := range planted {
			path := filepath.Join(clean, file)
			kept[path], _ = os.ReadFile(path)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		seed, how := m.find(t, clean, within)
		for path, text := range kept {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if seed == 0 {
			t.Errorf("%s: not found within %d seeds: %s", m.name, within, how)
		}
		fmt.Fprintf(&table, "| %s | %d | %s |\n", m.name, seed, how)
		t.Logf("%s: %d in %v: %s", m.name, seed, time.Since(began).Round(time.Second), how)
	}
	t.Logf("\n| mutant | found by seed | as |\n| --- | ---: | --- |\n%s", table.String())
}

// moduleRoot is the folder of go.mod, from here.
const moduleRoot = "../.."

// plant returns the files with the fault in them, and fails if one is not there
// any more.
func (m mutant) plant(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for _, e := range m.edits {
		text, ok := files[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(moduleRoot, e.file))
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("%s: %s has this %d times, want once:\n%s", m.name, e.file, n, e.old)
		}
		files[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return files
}

var foundBy = regexp.MustCompile(`seed (\d+) on memory: (.*)`)

// find runs seeds of the copy until one fails, and returns which and how.
func (m mutant) find(t *testing.T, folder string, within int) (seed int, how string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "sim.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, "./internal/sim")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%s does not compile: %v\n%s", m.name, err, out)
		return 0, "it does not compile"
	}
	run := exec.CommandContext(t.Context(), binary, "-test.run=TestSeeds", "-test.v", "-test.timeout=3m")
	run.Dir = filepath.Join(folder, "internal/sim")
	run.Env = append(os.Environ(), "SIM_SEEDS="+strconv.Itoa(within), "SIM_SQLITE=0", "SIM_SHORTEN=0", "SIM_FIRST=1")
	out, err := run.CombinedOutput()
	if found := foundBy.FindSubmatch(out); found != nil {
		seed, _ = strconv.Atoi(string(found[1]))
		return seed, string(found[2])
	}
	if err == nil {
		return 0, "every seed passes"
	}
	return 0, "no seed fails, but: " + string(out[max(0, len(out)-2000):])
}

// copyModule copies what the simulation needs of the module.
func copyModule(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "bus", "dispatcher", "worker", "materializer", "store", "internal/yield", "internal/sim"} {
		root := filepath.Join(moduleRoot, name)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(moduleRoot, path)
			if err != nil {
				return err
			}
			to := filepath.Join(folder, rel)
			if d.IsDir() {
				return os.MkdirAll(to, 0o750)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(to, b, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
