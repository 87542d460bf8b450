package materializer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// endings is a tracer of the ends of runs.
type endings func(materializer.RunEnd)

func (endings) RunStart(ctx context.Context, _ materializer.RunStart) context.Context { return ctx }

func (f endings) RunEnd(_ context.Context, run materializer.RunEnd) { f(run) }

// A source with thousands of dependents, which it names and which have read it, is one row until the
// last of them is told, and others go on in between.
func TestDerivedFanOutRests(t *testing.T) { synctest.Test(t, testFanOutRests) }

func testFanOutRests(t *testing.T) {
	const n = 3*store.MaxEffects + 500
	// What the tracer counts is looked at when nothing is going on.
	var told, others int // slices of the fan-out, and runs of others between two of them
	var telling int      // how many of the slices tell somebody, or come behind one that does
	var last string
	st := memory.New(nil)
	t.Cleanup(func() { _ = st.Close() })
	r := newDerivedRig(t, lingering{st}, materializer.Config{Workers: 1, Batch: 64, Tracer: endings(func(run materializer.RunEnd) {
		switch fans := run.Collection == "cards<files"; {
		case fans && last == run.Collection && told < telling:
			t.Errorf("slice %d came right behind the one before", told+1)
			fallthrough
		case fans:
			told++
		default:
			others++
		}
		last = run.Collection
	})})
	cards := must(materializer.ByReads(r.m, materializer.Reads[card]{
		Name: "cards", Version: 1,
		Sources: []materializer.Concern{materializer.Concerns(r.files, func(_ string, f file) []string {
			keys := numbered("c", f.Lines)
			rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			return append(keys, keys[:min(len(keys), 10)]...)
		})},
		Build: func(reader *materializer.Reader, _ string) (card, error) {
			f, err := materializer.Read(reader, r.files, "a")
			return card{Lines: len(f.Author)}, err
		},
	}))(t)
	r.start()
	for _, step := range []struct {
		f               file
		slices, telling int
	}{
		{file{Author: "x", Lines: n}, 7, 5}, // those that it names, and those that have read it by then, for nothing
		{file{Author: "xx"}, 4, 4},          // it names none any more
	} {
		told, others, telling = 0, 0, step.telling
		r.set("a", step.f)
		r.drain()
		time.Sleep(time.Second) // the last commit lingers
		settle()
		if told != step.slices || others != n+1 {
			t.Errorf("%d slices and %d runs of others, want %d and %d", told, others, step.slices, n+1)
		}
		all := states(t, cards)
		if len(all) != n {
			t.Fatalf("%d documents, want %d", len(all), n)
		}
		for id, c := range all {
			if c.Lines != len(step.f.Author) {
				t.Fatalf("%s has %d, want %d", id, c.Lines, len(step.f.Author))
			}
		}
	}
}

// lingering is a store whose commits of effects return when what they made dirty is queued.
type lingering struct{ store.Backend }

func (s lingering) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	outcomes, err := s.Backend.Commit(ctx, commits)
	if slices.ContainsFunc(commits, func(c store.Commit) bool { return c.Effects != nil }) {
		time.Sleep(time.Millisecond)
	}
	return outcomes, err
}

// Contributions to thousands of documents are given and taken in slices.
func TestDerivedContributionsInSlices(t *testing.T) {
	for name, of := range reduces {
		t.Run(name, func(t *testing.T) {
			const n = 2*store.MaxEffects + 100
			r := newDerivedRig(t, nil, materializer.Config{Bytes: 1 << 16})
			authors := must(materializer.ByContributions(r.m, of(authorsOf(materializer.From(r.files, func(_ string, f file, emit func(string, file)) error {
				for i, key := range numbered("k", f.Lines) {
					if i%2 == 0 || f.Folder == "" {
						emit(key, file{Lines: 1})
					}
				}
				return nil
			})))))(t)
			r.start()
			for _, step := range []struct {
				f    file
				want int
			}{{file{Lines: n}, n}, {file{Lines: n, Folder: "half"}, n / 2}, {file{Lines: 10}, 10}, {file{Then: "delete"}, 0}, {file{Lines: n}, n}} {
				r.set("a", step.f)
				r.drain()
				all := 0
				for v, err := range authors.All(context.Background()) {
					if err != nil || v.State.Lines != 1 {
						t.Fatalf("%+v, %v", v, err)
					}
					all++
				}
				if all != step.want {
					t.Errorf("%d documents after %+v, want %d", all, step.f, step.want)
				}
			}
			if _, err := authors.Get(context.Background(), "k000000"); errors.Is(err, materializer.ErrDeleted) {
				t.Error(err)
			}
		})
	}
}
