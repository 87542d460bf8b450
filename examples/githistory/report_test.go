package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func decodeLine(t *testing.T, s string) (l line) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return l
}

func TestMostChanged(t *testing.T) {
	var top mostChanged
	for _, i := range rand.Perm(100) {
		top.offer(line{Path: fmt.Sprintf("file%02d\t", i), Changes: int64(i / 2), First: 86400, Last: 86400 * 366})
	}
	var out bytes.Buffer
	if err := top.write(&out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(out.String(), "\n")
	if len(got) != tableRows+2 || !strings.HasSuffix(got[1], `1970-01-02  1971-01-02  "file98\t"`) ||
		!strings.HasSuffix(got[2], `"file99\t"`) || !strings.HasSuffix(got[10], `"file91\t"`) {
		t.Errorf("got\n%s", out.String())
	}
}

func TestReportKeys(t *testing.T) {
	var out bytes.Buffer
	if err := newEncoder(&out).Encode(report{Repository: "<&>"}); err != nil {
		t.Fatal(err)
	}
	const want = `{"repository":"<&>","commits":0,"operations":0,"documents":0,"authors":0,"folders":0,"runs":0,"requeues":0,"signals":0,` +
		`"operations_per_run":0,"stale_runs":0,"seconds":0,"operations_per_second":0,"verified":false,"mismatches":0,"parked":0}` + "\n"
	if out.String() != want {
		t.Errorf("got %swant %s", out.String(), want)
	}
}

func TestRatio(t *testing.T) {
	for _, test := range []struct{ a, b, want float64 }{{1, 3, 0.333}, {2, 3, 0.667}, {5, 0, 0}, {0, 5, 0}} {
		if got := ratio(test.a, test.b); got != test.want {
			t.Errorf("ratio(%v, %v) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		var out bytes.Buffer
		showProgress(ctx, &out, 100, func() status { return status{1, 2, 3, 4} })
		if want := strings.Repeat("1 commit read, 2 operations stored, 3 folded in 4 runs\n", 3); out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

func TestBar(t *testing.T) {
	for _, total := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			var out bytes.Buffer
			n := int64(0)
			showBar(ctx, &out, total, func() status { n += 3; return status{commits: n, operations: 7} })
			if s := out.String(); !strings.Contains(s, "commits (7 operations stored, 0 folded)") || total > 0 && !strings.Contains(s, "99/100") {
				t.Errorf("total %d: got %q", total, s)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-help"}, exitOK, "usage: githistory [flags] [REPO]"},
		{[]string{"-h"}, exitOK, "  -log FILE"},
		{[]string{"-what"}, exitInput, "flag provided but not defined"},
		{[]string{"a", "b"}, exitInput, "one repository at most"},
		{[]string{"a", "-json"}, exitInput, "flags come before it"},
		{[]string{"-log", "x", "a"}, exitInput, "not both"},
		{[]string{"-log", ""}, exitInput, "-log is empty"},
		{[]string{"-db", ""}, exitInput, "-db is empty"},
		{[]string{"-poison", ""}, exitInput, "-poison is empty"},
		{[]string{"-writers", "0"}, exitInput, "-writers is 0, want 1 to 256"},
		{[]string{"-workers", "0"}, exitInput, "-workers is 0, want 1 to 256"},
		{[]string{"-limit", "0"}, exitInput, "-limit is 0, want 1 or more"},
		{[]string{"-limit", "-1"}, exitInput, "-limit is -1"},
	} {
		r := runWith(t, "", test.args...)
		if r.status != test.status || r.stdout != "" || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%q: status %d, stdout %q, stderr\n%s\nwant %d and %q", test.args, r.status, r.stdout, r.stderr, test.status, test.want)
		}
	}
	var out bytes.Buffer
	if o, err := parseOptions(nil, &out); err != nil || o != (options{repository: ".", writers: 4}) {
		t.Errorf("without arguments: %+v, %v", o, err)
	}
}
