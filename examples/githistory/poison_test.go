package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// lineOf returns the line of the dump for a path.
func lineOf(t *testing.T, dump, path string) line {
	t.Helper()
	for l := range strings.Lines(dump) {
		if strings.HasPrefix(l, `{"path"`) {
			if got := decodeLine(t, l); got.Path == path {
				return got
			}
		}
	}
	t.Fatalf("%s is not in the dump", path)
	return line{}
}

// without is a dump but for the line of a path.
func without(dump, path string) string {
	var b strings.Builder
	for l := range strings.Lines(dump) {
		if !strings.HasPrefix(l, `{"path":"`+path+`",`) {
			b.WriteString(l)
		}
	}
	return b.String()
}

func wantIn(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("got\n%s\nwant %q in it", got, w)
		}
	}
}

func TestPoison(t *testing.T) {
	r := newRepository(t)
	for _, text := range []string{"1\n", "1\n2\n", "1\n2\n3\n", "4\n"} {
		r.write("hot", text)
		r.write("other", text)
		r.write("new/"+text[:1], text)
		r.commit("one@example.org")
	}
	clean := mustRun(t, "", "-dump", "-quiet", r.path).stdout
	db := filepath.Join(t.TempDir(), "history.db")
	args := func(more ...string) []string {
		return append(append([]string{"-db", db, "-json", "-dump", "-verify"}, more...), r.path)
	}

	first := mustRun(t, "", args("-poison", "hot")...)
	f := figures(t, first.stdout)
	if f.Parked != 1 || f.Mismatches != 0 || !f.Verified || f.Documents != 4 || f.Operations != 12 {
		t.Errorf("figures %+v", f)
	}
	hot := lineOf(t, first.stdout, "hot")
	if hot.Applied != 1 || hot.Changes != 1 {
		t.Errorf("the view that is behind is %+v", hot)
	}
	sameLines(t, without(dumped(first.stdout), "hot"), without(clean, "hot"))
	wantIn(t, first.stderr, "parked: 1 file;", "  hot: failed at seq 2 after 1 attempt: ", "poisoned by -poison; its view has 1 of 4 operations\n")

	// Parked it stays, with what comes meanwhile, for as long as it is poisoned.
	r.write("hot", "5\n")
	r.write("other", "5\n")
	r.commit("two@example.org")
	clean = mustRun(t, "", "-dump", "-quiet", r.path).stdout
	second := mustRun(t, "", args("-poison", "hot", "-quiet")...)
	if f := figures(t, second.stdout); f.Parked != 1 || f.Operations != 2 {
		t.Errorf("figures of the second run %+v", f)
	}
	sameLines(t, without(dumped(second.stdout), "hot"), without(clean, "hot"))
	wantIn(t, second.stderr, "  hot: failed at seq 2 after 1 attempt: ", "its view has 1 of 5 operations\n")

	third := mustRun(t, "", args()...)
	if f := figures(t, third.stdout); f.Parked != 0 || f.Operations != 0 {
		t.Errorf("figures of the third run %+v", f)
	}
	wantIn(t, third.stderr, "resumed 1 file that an earlier run parked: hot\n")
	if strings.Contains(third.stderr, "failed at") {
		t.Errorf("the third run says\n%s", third.stderr)
	}
	sameLines(t, dumped(third.stdout), clean)

	fourth := mustRun(t, "", args("-poison", "hot")...)
	wantIn(t, fourth.stderr, "warning: -poison: nothing failed, no change of hot was left to fold\n")
	sameLines(t, dumped(fourth.stdout), clean)
}

// TestPoisonAnother poisons one file after another: the first is resumed.
func TestPoisonAnother(t *testing.T) {
	log := madeLog(40)
	db := filepath.Join(t.TempDir(), "history.db")
	mustRun(t, log, "-log", "-", "-db", db, "-limit", "20", "-poison", "image")
	r := mustRun(t, log, "-log", "-", "-db", db, "-poison", "hot", "-json", "-dump", "-verify")
	if f := figures(t, r.stdout); f.Parked != 1 || f.Mismatches != 0 {
		t.Errorf("figures %+v", f)
	}
	wantIn(t, r.stderr, "resumed 1 file that an earlier run parked: image\n", "  hot: failed at seq 21 ", "its view has 20 of 40 operations\n")
	want := awkDump(t, strings.NewReader(log))
	sameLines(t, without(dumped(r.stdout), "hot"), without(want, "hot"))
	r = mustRun(t, log, "-log", "-", "-db", db, "-dump", "-quiet")
	sameLines(t, r.stdout, want)
}

// TestPoisonOnlyChange poisons files with one change, one of them with a path
// that cannot be an id: it fails at the only operation that there is.
func TestPoisonOnlyChange(t *testing.T) {
	log := "commit " + hashA + " 5 a\n\n1\t1\tx\n1\t1\t\"not\\344utf8\"\n\ncommit " + hashB + " 6 a\n\n1\t1\ty\n"
	clean := mustRun(t, log, "-log", "-", "-dump", "-quiet").stdout
	for path, id := range map[string]string{"x": "x", "not\xe4utf8": `"not\344utf8"`} {
		db := filepath.Join(t.TempDir(), "history.db")
		r := mustRun(t, log, "-log", "-", "-db", db, "-poison", path, "-json", "-verify")
		if f := figures(t, r.stdout); f.Parked != 1 || f.Mismatches != 0 || f.Documents != 3 || f.Operations != 3 {
			t.Errorf("figures %+v", f)
		}
		wantIn(t, r.stderr, "  "+id+": failed at seq 1 after 1 attempt: ", "its view has 0 of 1 operation\n", "2 commits, 3 operations added")
		if strings.Contains(r.stderr, "1970-01-01  1970-01-01    "+id) {
			t.Errorf("the table has a file without changes:\n%s", r.stderr)
		}
		r = mustRun(t, log, "-log", "-", "-db", db, "-dump", "-verify", "-quiet")
		sameLines(t, r.stdout, clean)
	}
}

func TestPoisonNothing(t *testing.T) {
	r := mustRun(t, madeLog(5), "-log", "-", "-poison", "gone", "-json", "-quiet")
	if f := figures(t, r.stdout); f.Parked != 0 {
		t.Errorf("figures %+v", f)
	}
	if want := "githistory: warning: -poison: nothing failed, no change of gone was left to fold\n"; r.stderr != want {
		t.Errorf("stderr %q, want %q", r.stderr, want)
	}
}

func TestPoisonRealLog(t *testing.T) {
	const path = "pom.xml"
	log := dataFile(t, "git-axonframework.log.gz")
	want := awkDump(t, unpacked(t, log))
	db := filepath.Join(t.TempDir(), "history.db")
	args := []string{"-log", log, "-db", db, "-json", "-dump", "-verify"}
	first := mustRun(t, "", append(args, "-poison", path)...)
	t.Log(first.stderr)
	if f := figures(t, first.stdout); f.Parked != 1 || f.Mismatches != 0 {
		t.Errorf("figures %+v", f)
	}
	if got := lineOf(t, first.stdout, path); got.Applied != 1 {
		t.Errorf("the view that is behind is %+v", got)
	}
	sameLines(t, without(dumped(first.stdout), path), without(want, path))
	second := mustRun(t, "", args...)
	t.Log(second.stderr)
	if f := figures(t, second.stdout); f.Parked != 0 || f.Mismatches != 0 || f.Operations != 0 {
		t.Errorf("figures of the second run %+v", f)
	}
	sameLines(t, dumped(second.stdout), want)
}

// TestParkedUnasked has folds fail that -poison does not name: they are shown,
// and the program fails.
func TestParkedUnasked(t *testing.T) {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := materializer.Register(m, materializer.Spec[File, Change]{Name: "files", Version: 1,
		Fold: func(f File, op materializer.Operation[Change]) (File, error) {
			return f, materializer.Permanent(errors.New("a\nmistake"))
		}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := derive(m, files)
	if err != nil {
		t.Fatal(err)
	}
	im := &importer{m: m, files: files, derived: made, writers: 2, poison: newPoison("hot")}
	g, ctx := errgroup.WithContext(t.Context())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	src, err := openSource(ctx, options{log: "-"}, strings.NewReader(madeLog(60)), false)
	if err != nil {
		t.Fatal(err)
	}
	g.Go(func() error { return work(ctx, im, src, io.Discard) })
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	err = conclude(t.Context(), options{quiet: true}, im, "-", 1, io.Discard, &stderr)
	if err == nil || err.Error() != "21 files parked that -poison does not name" {
		t.Errorf("error %v", err)
	}
	wantIn(t, stderr.String(), "parked: 22 files;", `a\nmistake`, "  and 12 more\n")
	if err := resume(t.Context(), files, im.poison, &stderr); err != nil {
		t.Fatal(err)
	}
	wantIn(t, stderr.String(), "resumed 21 files that an earlier run parked: ", ", …\n")
}

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		r          report
		duplicates int64
		want       string
	}{
		{report{Commits: 1, Operations: 1, Documents: 1, Authors: 1, Runs: 1, Requeues: 1, OperationsPerRun: 1, Seconds: 0.012, OperationsPerSecond: 83}, 0,
			"1 commit, 1 operation added to 1 file, by 1 author, in 0 folders of the top level\n0.012 seconds, 83 operations a second\n1 run of 1.00 operations, 1 requeue, 0 stale\n"},
		{report{Commits: 2, Operations: 2, Documents: 2, Runs: 2, Seconds: 1.25, Verified: true, Mismatches: 1}, 3,
			"2 commits, 2 operations added to 2 files (3 stored before), by 0 authors, in 0 folders of the top level\n1.2 seconds, 0 operations a second\n" +
				"2 runs of 0.00 operations, 0 requeues, 0 stale\nfolded again: 1 of 2 files, 0 authors and 0 folders differs\n"},
		{report{Commits: 1}, 1, "nothing to add: the one change of 1 commit was stored before\n"},
	} {
		var out strings.Builder
		test.r.summary(&out, test.duplicates)
		if out.String() != test.want {
			t.Errorf("got\n%swant\n%s", out.String(), test.want)
		}
	}
}
