package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// Lines of the layers, as they print them.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		layer, test, line string
		want              []figure
	}{
		{"models", "", "| inflight | more operations | OPS=4 | holds | 3561825 | - | 30 |\n", []figure{{"models hold", 1}}},
		{"models", "", "| lease | three processes | HOLDERS=3 | lives | 809704 | - | 4 |\n", []figure{{"models hold", 1}}},
		{"models", "", "| inflight | requeue flag dropped | DOCS=1 REQUEUE_DROPPED | stuck: an operation never gets into a view | 2615 | 58 | 4 |\n", []figure{{"mutants of models found", 1}}},
		{"models", "", "| inflight | more operations | OPS=4 | not checked | - | - | 30 |\n", nil},
		{"models", "", "| model | what | bounds | result | states | depth | seconds |\n", nil},
		{"sim", "TestSeeds", "    sim_test.go:145: 500 seeds on sqlite in 27ms, 4523 steps, hash 25f0d81817ef881d\n", []figure{{"seeds on sqlite", 500}, {"steps", 4523}}},
		{"sim", "TestSeeds", "             9  stale write refused\n", []figure{{"× stale write refused", 9}}},
		{"sim", "TestSeeds", "             9  something else\n", nil},
		{"sim", "TestOther", "    sim_test.go:145: 500 seeds on sqlite in 27ms, 4523 steps, hash 25f0d81817ef881d\n", nil},
		{"crash", "TestK", "    crash_test.go:150: 200 kills, 61234 acknowledged operations\n", []figure{{"kills", 200}, {"acknowledged operations", 61234}}},
		{"crash", "TestK", "    feed_test.go:105: 34 kills in 30s: 9000 operations, 8990 acknowledged, 700 changes followed in 3 streams, 40 waits\n",
			[]figure{{"kills", 34}, {"acknowledged operations", 8990}, {"changes followed", 700}}},
		{"crash", "TestK", "    slice_test.go:68: 100000 operations in 5 lives\n", []figure{{"kills between slices", 5}}},
		{"faults", "TestFaultAtEachCall", "    vfs_test.go:156: io-once: 310 faults, 5 steps refused, 6 in doubt, 7 faults that no step showed, 8 handles opened again\n", []figure{{"calls failed io-once", 310}}},
		{"faults", "TestFaultAtEachAllocation", "    memory_test.go:35: lasting: 29 faults, 5 steps refused\n", []figure{{"allocations failed lasting", 29}}},
		{"faults", "TestMaterializerOverFaultAtEachCall/torn", "    engine_test.go:47: 12 faults, 1 runs that could not\n", []figure{{"calls under a materializer failed torn", 12}}},
		{"faults", "TestPowerCutImages/normal", "    images_test.go:286: seed 3: 400 events, 800 images, 90 distinct, 4 older than what was begun, 31 without something acknowledged\n",
			[]figure{{"images at normal", 800}, {"images at normal without something acknowledged", 31}}},
		{"faults", "TestPowerCutAfterAFailedSync", "    images_test.go:351: 12 syncs failed, 70 images\n", []figure{{"syncs failed", 12}, {"images after that", 70}}},
		{"faults", "TestDamageIsNotSilent", "    damage_test.go:305: 20 bits, 31 pages, in 3 cases\n", []figure{{"bits flipped", 20}, {"pages spoilt in 4 ways", 31}}},
		{"faults", "TestPowerCuts", "    power_test.go:130: 6 cuts, 999 acknowledged operations\n", []figure{{"cuts of ext4", 6}, {"acknowledged operations", 999}}},
		{"fuzz", "FuzzTable", "fuzz: elapsed: 3s, execs: 2589 (855/sec), new interesting: 3 (total: 76)\n", []figure{{"executions", 2589}}},
	} {
		var r result
		r.read(layerOf(t, c.layer).rules, c.test, c.line)
		if !slices.Equal(r.figures, c.want) {
			t.Errorf("%s: %q\nis read as %v, want %v", c.layer, c.line, r.figures, c.want)
		}
	}
}

func layerOf(t *testing.T, name string) layer {
	t.Helper()
	i := slices.IndexFunc(layers, func(l layer) bool { return l.name == name })
	if i < 0 {
		t.Fatalf("there is no layer %q", name)
	}
	return layers[i]
}

// What go test -json prints of a test that passes with a subtest, of one that fails,
// of one that is skipped, and of a target that tells the same again.
const events = `{"Action":"output","Package":"p","Test":"TestPasses","Output":"=== RUN   TestPasses\n"}
{"Action":"output","Package":"p","Test":"TestPasses/sub","Output":"    secret\n"}
{"Action":"pass","Package":"p","Test":"TestPasses/sub"}
{"Action":"pass","Package":"p","Test":"TestPasses"}
{"Action":"output","Package":"p","Test":"TestFails/sub","Output":"    a_test.go:3: the reason\n"}
{"Action":"fail","Package":"p","Test":"TestFails/sub"}
{"Action":"fail","Package":"p","Test":"TestFails"}
{"Action":"output","Package":"p","Test":"TestSkips","Output":"    a_test.go:4: no such: thing\n"}
{"Action":"skip","Package":"p","Test":"TestSkips"}
{"Action":"output","Package":"p","Test":"FuzzIt","Output":"fuzz: elapsed: 3s, execs: 10 (855/sec), new\n"}
{"Action":"output","Package":"p","Test":"FuzzIt","Output":"fuzz: elapsed: 6s, execs: 25 (855/sec), new\n"}
{"Action":"pass","Package":"p","Test":"FuzzIt"}
{"Action":"fail","Package":"p"}
not an event
`

func TestEvents(t *testing.T) {
	var out strings.Builder
	res := &result{skipped: make(map[string]string)}
	r := reader{layer: layerOf(t, "fuzz"), result: res, w: &out, outputs: make(map[string][]string)}
	r.events(strings.NewReader(events))
	if want := []figure{{"targets", 2}, {"executions", 25}}; !slices.Equal(res.figures, want) {
		t.Errorf("figures %v, want %v", res.figures, want)
	}
	if res.failures != 1 {
		t.Errorf("%d failures, want 1", res.failures)
	}
	if got := res.skipped["TestSkips"]; got != "no such: thing" {
		t.Errorf("skipped for %q", got)
	}
	if s := out.String(); !strings.Contains(s, "FAIL fuzz: p TestFails/sub\n    a_test.go:3: the reason\n") || strings.Contains(s, "secret") {
		t.Errorf("printed %q", s)
	}
	if got := r.outputs[""]; len(r.outputs) != 1 || !slices.Equal(got, []string{"not an event\n"}) {
		t.Errorf("kept %q", r.outputs)
	}
}

// A target whose time was up in the middle of an input has not failed; one with an input has.
func TestFuzzTargetWhoseTimeIsUp(t *testing.T) {
	for output, failures := range map[string]int{
		"--- FAIL: FuzzIt (2.13s)\n    context deadline exceeded\n":                                                         0,
		"--- FAIL: FuzzIt (2.13s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzIt/0123\n": 1,
		"--- FAIL: FuzzIt (2.13s)\n    it_test.go:3: wrong\n":                                                               1,
	} {
		res := &result{skipped: make(map[string]string)}
		r := reader{layer: layerOf(t, "fuzz"), result: res, w: io.Discard, outputs: make(map[string][]string)}
		r.event(event{Action: "output", Package: "p", Test: "FuzzIt", Output: output})
		r.event(event{Action: "fail", Package: "p", Test: "FuzzIt"})
		if res.failures != failures || r.timeUp != (failures == 0) {
			t.Errorf("%q is %d failures, want %d", output, res.failures, failures)
		}
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	a := &result{layer: "sim", took: 90 * time.Second}
	a.add("seeds", 20)
	a.add("steps", 7)
	a.add("seeds", 22)
	b := &result{layer: "faults", failures: 3, skipped: map[string]string{"TestPowerCuts": "no root", "TestB": "slow"}}
	printTable(&out, []*result{a, b})
	want := `
| layer | what ran | failures | seconds |
| --- | --- | ---: | ---: |
| sim | 42 seeds, 7 steps | 0 | 90 |
| faults | nothing | 3 | 0 |

faults skipped TestB: slow
faults skipped TestPowerCuts: no root
`
	if out.String() != want {
		t.Errorf("printed %s\nwant %s", out.String(), want)
	}
}

func TestTargets(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got, err := findTargets(fstest.MapFS{
		"go.mod":                   file("module m"),
		"a/a_test.go":              file("package a\n\nfunc FuzzA(f *testing.F) {\n}\n\nfunc FuzzB(f *testing.F) {\n}\n\nfunc Fuzzy(t *testing.T) {}\n"),
		"a/a.go":                   file("func FuzzNoTest(f *testing.F) {\n"),
		"a/testdata/fuzz/x":        file("func FuzzData(f *testing.F) {\n"),
		"a/testdata/other_test.go": file("func FuzzData(f *testing.F) {\n"),
		"other/go.mod":             file("module other"),
		"other/a_test.go":          file("func FuzzOther(f *testing.F) {\n"),
		"b/c/c_test.go":            file("func FuzzC(t *testing.F) {\n"),
	})
	if want := []target{{"FuzzA", "a"}, {"FuzzB", "a"}, {"FuzzC", "b/c"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestCommandThatRepeatsAJob(t *testing.T) {
	j := test(1, []string{"REFOLD_SEED=3"}, "-run=^TestSeeds$", "./internal/sim")
	if got, want := j.String(), "REFOLD_SEED=3 go test -v -count=1 -timeout=30m '-run=^TestSeeds$' ./internal/sim"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestGrow(t *testing.T) {
	for _, c := range []struct {
		name       string
		s          state
		left       time.Duration
		least, max int
	}{
		{"the first", state{}, 0, 100, 100},
		{"time for ten times as much", state{round: 1, size: 100, took: time.Second}, 10 * time.Second, 800, 900},
		{"time for a thousand times as much", state{round: 1, size: 100, took: time.Second}, time.Hour, 2000, 2000},
		{"a long job", state{round: 1, size: 10_000, took: 30 * time.Second}, time.Hour, 54_000, 54_000},
		{"no time", state{round: 1, size: 100, took: time.Minute}, 30 * time.Second, 0, 0},
		{"over", state{round: 1, size: 100, took: time.Minute}, -time.Second, 0, 0},
	} {
		c.s.until = time.Now().Add(c.left)
		if n := c.s.grow(100); n < c.least || n > c.max {
			t.Errorf("%s: %d, want from %d to %d", c.name, n, c.least, c.max)
		}
	}
}

func TestArgumentsThatMakeNoSense(t *testing.T) {
	for _, args := range []string{"-for 0s", "-for x", "-only simm", "-only sim,", "-seed 0", "-seed x", "sim", "-none"} {
		var out strings.Builder
		if code := run(t.Context(), strings.Fields(args), &out, &out); code != 2 || out.Len() == 0 {
			t.Errorf("%s: status %d, printed %q", args, code, out.String())
		}
	}
}

// A job that cannot be built, and one that fails without a test, are failures.
func TestJobsThatFail(t *testing.T) {
	for name, args := range map[string][]string{
		"no such package": {"go", "test", "-json", "./internal/none"},
		"no such program": {"./internal/none"},
		"status 1":        {"go", "tool", "none"},
	} {
		var out strings.Builder
		done := false
		l := layer{name: "it", next: func(*state) (*job, error) {
			if done {
				return nil, nil
			}
			done = true
			return &job{args: args, size: 1}, nil
		}}
		r := l.soak(&state{ctx: t.Context(), root: "../.."}, &out)
		if r.failures != 1 || !strings.Contains(out.String(), "again: "+strings.ReplaceAll(strings.Join(args, " "), "-json", "-v")) {
			t.Errorf("%s: %d failures, printed %s", name, r.failures, out.String())
		}
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	r := layerOf(t, "sim").soak(&state{ctx: ctx, root: "../.."}, &out)
	if r.failures != 0 || len(r.figures) != 0 {
		t.Errorf("%+v", r)
	}
}

// One seed of everything: a second of the simulation.
func TestASecond(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs the simulation")
	}
	var out strings.Builder
	if code := run(t.Context(), []string{"-for", "1s", "-only", "sim", "-seed", "7"}, &out, &out); code != 0 {
		t.Fatalf("status %d: %s", code, out.String())
	}
	for _, want := range []string{
		"SIM_FIRST=7000000 SIM_SEEDS=100 SIM_SQLITE=5 go test",
		`\| sim \| [1-9]\d* seeds on memory, [1-9]\d* steps, [1-9]\d* seeds on sqlite.* \| 0 \|`,
		"seed 7: go run ./internal/soak -for 1s -only sim -seed 7 ",
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
