package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// A database that has files and nothing that is derived of them gets it.
func TestDerivedOfAnOldDatabase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "history.db")
	st, err := sqlite.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := materializer.Register(m, materializer.Spec[File, Change]{Name: "files", Version: 1, Fold: fold})
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range Commits(strings.NewReader(madeLog(60))) {
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents(c) {
			if _, err := m.Append(t.Context(), files.ChangeWith(d.id, d.operations...)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	r := mustRun(t, madeLog(60), "-log", "-", "-db", db, "-json", "-verify")
	if f := figures(t, r.stdout); f.Operations != 0 || f.Authors != 13 || f.Folders != 3 || f.Mismatches != 0 {
		t.Errorf("figures %+v", f)
	}
}

// TestVerifyDerived lets the verifier see each kind of difference.
func TestVerifyDerived(t *testing.T) {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := materializer.Register(m, materializer.Spec[File, Change]{Name: "files", Version: 1, Fold: fold})
	if err != nil {
		t.Fatal(err)
	}
	made, err := derive(m, files)
	if err != nil {
		t.Fatal(err)
	}
	im := &importer{m: m, files: files, derived: made, writers: 2}
	g, ctx := errgroup.WithContext(t.Context())
	src, err := openSource(ctx, options{log: "-"}, strings.NewReader(madeLog(60)), false)
	if err != nil {
		t.Fatal(err)
	}
	g.Go(func() error { return work(ctx, im, src, new(strings.Builder)) })
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	right := map[string]Folder{".": {}, "dir": {}, "new": {Files: 15, Changes: 15, Added: 15}}
	for view, err := range made.folders.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want, ok := right[view.ID]; !ok || want != (Folder{}) && want != view.State {
			t.Errorf("%s is %+v, want %+v", view.ID, view.State, want)
		}
		right[view.ID] = view.State
	}
	for _, test := range []struct {
		name  string
		wrong func(map[string]Folder)
		want  []string
	}{
		{"equal", func(map[string]Folder) {}, nil},
		{"other view", func(of map[string]Folder) { of["new"] = Folder{Files: 1} }, []string{`folders new: the view is {"files":15,`}},
		{"too much", func(of map[string]Folder) { delete(of, "dir") }, []string{"folders dir: the view is"}},
		{"lost", func(of map[string]Folder) { of["gone"] = Folder{Files: 1} }, []string{"folders gone: no document, the files make"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			of, v := maps.Clone(right), newVerifier(files)
			test.wrong(of)
			if _, err := checkDerived(t.Context(), v, made.folders, of); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(v.wrong, test.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", v.wrong, test.want)
			}
		})
	}
}

func TestTopFolder(t *testing.T) {
	long := strings.Repeat("x", 600)
	for path, want := range map[string]string{
		"README.md":              ".",
		"a/b/c":                  "a",
		"a b/c":                  "a b",
		"\xff/x":                 `"\377"`,
		"a/\xff":                 "a",
		"a/" + long:              "a",
		"\xff/" + long:           `"\377"`,
		`"a/b`:                   `"a`,
		`"\377"/x`:               documentID(`"\377"`),
		strings.Repeat("a", 600): ".",
		"a/" + long + "/\xff":    "a",
		"ü/a":                    "ü",
	} {
		if got := topFolder(documentID(path)); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestAuthorsAreApart(t *testing.T) {
	seen := make(map[string]string)
	for _, author := range []string{"", "a@b", `""`, `"\000"`, quote("\xff"), "\xff", strings.Repeat("a", 600), strings.Repeat("a", 601)} {
		id := authorID(author)
		if other, twice := seen[id]; twice || id == "" || len(id) > maxID {
			t.Errorf("%q has the id %q, as has %q", author, id, other)
		}
		seen[id] = author
	}
}
