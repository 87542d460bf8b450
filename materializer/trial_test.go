package materializer_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// describe returns the differences of a dry run, in order.
func describe(t *testing.T, r materializer.DryRunResult, err error) (all []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Differences {
		all = append(all, fmt.Sprintf("%s %s %v", d.ID, d.Kind, d.Sources))
	}
	slices.Sort(all)
	return all
}

// writer is made of the files of an author, by another version.
type writer struct {
	Total int
	Names []string
}

// A dry run of another map and another reduce says which documents would be other ones, which would be
// there anew or not any more, which source documents make the difference, and which cannot be
// mapped or reduced, and changes nothing. How much goes into memory at a time makes no difference.
func TestDryRunContributions(t *testing.T) {
	for _, bytes := range []int64{0, 4 * 1024, 4 * 300, 1} {
		t.Run(fmt.Sprint(bytes, " bytes"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDerivedRig(t, nil, materializer.Config{Bytes: bytes})
				authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
				run := (&rig{t: t, m: r.m}).start()
				for id, f := range map[string]file{
					"a1": {Author: "ann", Lines: 1}, "a2": {Author: "ann", Lines: 2}, "b1": {Author: "bob", Lines: 3},
					"c1": {Author: "cyn", Lines: 4}, "d1": {Author: "dan", Lines: 5, Folder: "moved"}, "e1": {Author: "eve", Lines: 6, Then: "fail map"},
					"f1": {Author: "fay", Lines: 7, Then: "fail reduce"}, "g1": {Author: "gus", Lines: 8, Then: "fail new map"},
					"h1": {Author: "hal", Lines: 9, Then: "fail new reduce"}, "none": {Lines: 1},
				} {
					must(r.files.Append(t.Context(), id, f))(t)
				}
				for i := range 100 {
					must(r.files.Append(t.Context(), fmt.Sprintf("many%03d", i), file{Author: "mia", Lines: 1}))(t)
				}
				time.Sleep(time.Minute)
				if err := run.halt(); err != nil {
					t.Fatal(err)
				}
				before := contentsOf(t, r.st)
				candidate := materializer.Contributions[file, writer]{
					Name: "authors", Version: 2,
					Sources: []materializer.Source[file]{materializer.From(r.files, func(_ string, f file, emit func(string, file)) error {
						switch {
						case f.Then == "fail new map":
							return errPlanted
						case f.Folder == "moved":
							emit("eli", f)
						case f.Author == "cyn":
							f.Lines = 40
							fallthrough
						case f.Author != "":
							emit(f.Author, f)
						}
						return nil
					})},
					Reduce: func(id string, all iter.Seq2[materializer.Contributor, file]) (w writer, err error) {
						for by, f := range all {
							if f.Then == "fail new reduce" {
								return w, errPlanted
							}
							w.Total += f.Lines
							w.Names = append(w.Names, fmt.Sprintf("%d/%s", by.Input, by.Source))
						}
						if id == "bob" {
							w.Total++
						}
						return w, nil
					},
				}
				equal := func(a author, w writer) bool { return a.Lines == w.Total && slices.Equal(a.Files, w.Names) }
				result, err := materializer.DryRunContributions(t.Context(), authors, candidate, materializer.DryRunOptions[author, writer]{Equal: equal})
				want := []string{
					" failing fold [files/g1]",
					" no failure any more [files/e1]",
					"bob other view [files/b1]",
					"cyn other view [files/c1]",
					"dan other view [files/d1]",
					"eli other view [files/d1]",
					"fay no failure any more [files/f1]",
					"hal failing fold [files/h1]",
				}
				if got := describe(t, result, err); !slices.Equal(got, want) {
					t.Errorf("different are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if result.Documents != 8 || result.Different != 4 || result.Failing != 2 || result.Mended != 2 {
					t.Errorf("the result is %+v", result)
				}
				// Without Equal the views are compared as they would be stored.
				result, err = materializer.DryRunContributions(t.Context(), authors, candidate, materializer.DryRunOptions[author, writer]{
					VerifyOptions: materializer.VerifyOptions{IDs: []string{"mia", "ann"}, Most: 1},
				})
				if len(describe(t, result, err)) != 1 || result.Documents != 2 || result.Different != 2 || len(result.Differences[0].Sources) > 10 {
					t.Errorf("of two the result is %+v", result)
				}
				// With itself nothing differs.
				same, err := materializer.DryRunContributions(t.Context(), authors, authorsOf(byAuthor(r.files)), materializer.DryRunOptions[author, author]{})
				if got := describe(t, same, err); len(got) > 0 || same.Documents != 8 {
					t.Errorf("with itself the result is %+v", same)
				}
				if after := contentsOf(t, r.st); after != before {
					t.Errorf("the store was changed from\n%s\nto\n%s", before, after)
				}
			})
		})
	}
}

// contentsOf describes all documents of a store.
func contentsOf(t *testing.T, st store.Backend) string {
	t.Helper()
	var all strings.Builder
	for _, c := range must(st.Collections(t.Context()))(t) {
		for d, err := range st.Scan(t.Context(), c.Name, "", store.WithViews) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s %d of %d at %d, epoch %d: %s\n", d.Key, d.Applied, d.Head, d.Changed, d.Epoch, d.View)
		}
	}
	return all.String()
}

// A dry run of another build finds the documents that would be other ones, and those that would be there
// anew because a source concerns them then, and names what was read.
func TestDryRunReads(t *testing.T) {
	for _, bytes := range []int64{0, 4 * 300, 1} {
		t.Run(fmt.Sprint(bytes, " bytes"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDerivedRig(t, memory.New(nil), materializer.Config{Bytes: bytes})
				cards := must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
				run := (&rig{t: t, m: r.m}).start()
				for i := range 30 {
					must(r.files.Append(t.Context(), fmt.Sprintf("f%02d", i), file{Lines: i, Links: []string{fmt.Sprintf("f%02d", i+1)}}))(t)
				}
				time.Sleep(time.Minute) // all are built, so that f03 has a document, which is then deleted
				must(r.files.Append(t.Context(), "f03", file{Then: "delete"}))(t)
				must(r.files.Append(t.Context(), "f05", file{Lines: 5, Then: "fail build"}))(t)
				time.Sleep(time.Minute)
				if err := run.halt(); err != nil {
					t.Fatal(err)
				}
				before := contentsOf(t, r.st)
				candidate := cardsOf(r.files)
				candidate.Version = 2
				build := candidate.Build
				candidate.Sources = []materializer.Concern{materializer.Concerns(r.files, func(id string, f file) []string {
					if f.Lines == 7 {
						return []string{id, "anew"}
					}
					return []string{id}
				})}
				candidate.Build = func(read *materializer.Reader, id string) (card, error) {
					switch id {
					case "anew":
						f, err := materializer.Read(read, r.files, "f07")
						return card{Lines: f.Lines}, err
					case "f05":
						return card{}, nil
					case "f09":
						return card{}, errors.New("planted")
					case "f11":
						return card{}, materializer.Deleted
					}
					return build(read, id)
				}
				result, err := materializer.DryRunReads(t.Context(), cards, candidate, materializer.DryRunOptions[card, card]{})
				want := []string{
					"anew other view [files/f07 files/anew]",
					"f05 no failure any more [files/f05]",
					"f09 failing fold [files/f09 files/f10]",
					"f11 other view [files/f11 files/f12]",
				}
				if got := describe(t, result, err); !slices.Equal(got, want) {
					t.Errorf("different are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if result.Documents != 31 || result.Different != 2 || result.Failing != 1 || result.Mended != 1 {
					t.Errorf("the result is %+v", result)
				}
				part, err := materializer.DryRunReads(t.Context(), cards, candidate, materializer.DryRunOptions[card, card]{
					VerifyOptions: materializer.VerifyOptions{Fraction: 0.5},
				})
				if describe(t, part, err); part.Documents < 4 || part.Documents > 27 {
					t.Errorf("with a half of them the result is %+v", part)
				}
				if after := contentsOf(t, r.st); after != before {
					t.Errorf("the store was changed from\n%s\nto\n%s", before, after)
				}
			})
		})
	}
}

func TestDryRunDerivedRefuses(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
	for name, options := range map[string]materializer.VerifyOptions{
		"a count": {Count: 3}, "a fraction": {Fraction: 2}, "an id": {IDs: []string{""}},
	} {
		_, err := materializer.DryRunContributions(t.Context(), authors, authorsOf(byAuthor(r.files)), materializer.DryRunOptions[author, author]{VerifyOptions: options})
		if !errors.Is(err, materializer.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := authorsOf(byAuthor(r.files))
	other.Name = "others"
	if _, err := materializer.DryRunContributions(t.Context(), authors, other, materializer.DryRunOptions[author, author]{}); !errors.Is(err, materializer.ErrInvalid) {
		t.Errorf("another name: %v", err)
	}
	reads := cardsOf(r.files)
	reads.Name = "authors"
	if _, err := materializer.DryRunReads(t.Context(), authors, reads, materializer.DryRunOptions[author, card]{}); !errors.Is(err, materializer.ErrInvalid) {
		t.Errorf("another kind: %v", err)
	}
}
