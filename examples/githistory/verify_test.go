package main

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// TestVerify lets the verifier see each kind of difference.
func TestVerify(t *testing.T) {
	const id = "x"
	first := Commit{Hash: hashA, Time: 5, Author: "a", Changes: []FileChange{{Path: id, Added: 3, Deleted: 1}}}
	second := Commit{Hash: hashB, Time: 6, Author: "b", Changes: []FileChange{{Path: id, Added: 4}}}
	var stored []materializer.NewOperation[Change]
	for _, c := range []Commit{first, second} {
		stored = append(stored, documents(c)[0].operations...)
	}
	ctx := t.Context()
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := materializer.Register(m, materializer.Spec[File, Change]{Name: "files", Version: 1, Fold: fold})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Append(ctx, files.ChangeWith(id, stored...)); err != nil {
		t.Fatal(err)
	}
	right := File{Changes: 2, Added: 7, Deleted: 1, Authors: map[string]int64{"a": 1, "b": 1}, First: 5, Last: 6, Largest: 4}
	justFirst := File{Changes: 1, Added: 3, Deleted: 1, Authors: map[string]int64{"a": 1}, First: 5, Last: 5, Largest: 4}
	wrong := right
	wrong.Authors = map[string]int64{"a": 2}
	otherSecond := second
	otherSecond.Changes = []FileChange{{Path: id, Added: 5}}
	third := Commit{Hash: hash256, Changes: []FileChange{{Path: id}, {Path: "gone"}}}

	for _, test := range []struct {
		name    string
		read    []Commit
		state   File
		applied int64
		parked  bool
		want    []string
	}{
		{"equal", []Commit{first, second}, right, 2, false, nil},
		{"read less", []Commit{second}, right, 2, false, nil},
		{"read nothing", nil, right, 2, false, nil},
		{"read twice", []Commit{first, second, first}, right, 2, false, nil},
		{"other view", []Commit{first, second}, wrong, 2, false, []string{`x: the view is {"changes":2`}},
		{"old view", []Commit{first}, right, 1, false, []string{"x: the view has 1 of 2 operations"}},
		{"other contents", []Commit{first, otherSecond}, right, 2, false, []string{"what was read makes"}},
		{"parked", []Commit{first, second}, justFirst, 1, true, nil},
		{"parked at the first", []Commit{first, second}, File{}, 0, true, nil},
		{"parked, other view", []Commit{first, second}, wrong, 1, true, []string{`its operations make {"changes":1`}},
		{"parked, too many", []Commit{first, second}, right, 3, true, []string{"x: the view has 3 of 2 operations"}},
		{"lost", []Commit{first, second, third}, right, 2, false, []string{"x: 2 operations stored, 3 read", "gone: no document, 1 operation read"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := newVerifier(files)
			for _, c := range test.read {
				if err := v.expect(batch{c.Hash, documents(c)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := v.check(ctx, materializer.View[File]{ID: id, State: test.state, Applied: test.applied, Parked: test.parked}); err != nil {
				t.Fatal(err)
			}
			v.finish()
			if v.mismatches != len(test.want) || len(v.wrong) != len(test.want) {
				t.Fatalf("%d differences: %q", v.mismatches, v.wrong)
			}
			for i, want := range test.want {
				if !strings.Contains(v.wrong[i], want) {
					t.Errorf("got %q, want %q in it", v.wrong[i], want)
				}
			}
		})
	}

	v := newVerifier(files)
	for range 25 {
		if err := v.check(ctx, materializer.View[File]{ID: id, State: wrong, Applied: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if v.mismatches != 25 || len(v.wrong) != differencesShown {
		t.Errorf("%d differences, %d shown", v.mismatches, len(v.wrong))
	}
}

// TestDifferencesFail puts views into a store that another fold made: -verify
// must fail, and show ten of them.
func TestDifferencesFail(t *testing.T) {
	st := memory.New(nil)
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := materializer.Register(m, materializer.Spec[File, Change]{Name: "files", Version: 1,
		Fold: func(f File, op materializer.Operation[Change]) (File, error) {
			f, err := fold(f, op)
			f.Added++ // its fault
			return f, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := derive(m, files)
	if err != nil {
		t.Fatal(err)
	}
	g, ctx := errgroup.WithContext(t.Context())
	ctx, stop := context.WithCancel(ctx)
	g.Go(func() error { return m.Run(ctx) })
	im := &importer{m: m, files: files, derived: made, writers: 2, verify: newVerifier(files)}
	src, err := openSource(ctx, options{log: "-"}, strings.NewReader(madeLog(60)), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := im.run(ctx, src); err != nil {
		t.Fatal(err)
	}
	end, err := st.End(ctx)
	if err == nil {
		err = m.Wait(ctx, end)
	}
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	err = conclude(ctx, options{verify: true, json: true, quiet: true}, im, "-", 1, &stdout, &stderr)
	if err == nil || !strings.Contains(err.Error(), "25 of 22 files, 13 authors and 3 folders are not what their operations make") {
		t.Errorf("error %v", err)
	}
	if f := figures(t, stdout.String()); !f.Verified || f.Mismatches != 25 {
		t.Errorf("figures %+v", f)
	}
	if n := strings.Count(stderr.String(), "\n"); n != differencesShown {
		t.Errorf("%d differences are shown", n)
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
