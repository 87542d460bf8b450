package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// modelRun is a store with sources and what is made of them, by processes that come and
// go, beside a model that has the sources only.
type modelRun struct {
	t         testing.TB
	st        store.Backend
	random    *rand.Rand
	processes []*modelProcess
	// files and authors are the versions that processes register, and made is how
	// authors are made.
	files, authors int
	made           string

	model     map[string]file
	forgotten map[string]bool
}

type modelProcess struct {
	*derivedRig
	run     *rig
	authors *materializer.Derived[author]
	letters *materializer.Derived[total]
	all     *materializer.Derived[total]
	cards   *materializer.Derived[card]
}

// Whatever is appended, deleted and forgotten, in whatever order, by however many processes that
// are stopped at any moment, over any number of versions: what was appended is in what is read
// after it, and in the end everything is as it is computed from the sources alone.
func TestDerivedModel(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 2
	}
	onEach(t, func(t *testing.T, st store.Backend) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				each := st
				if seed > 0 {
					each = another(t, st)
				}
				testDerivedModel(t, each, uint64(seed))
			})
		}
	})
}

func testDerivedModel(t *testing.T, st store.Backend, seed uint64) {
	r := &modelRun{
		t: t, st: st, random: rand.New(rand.NewPCG(seed, 7)), files: 1, authors: 1,
		model: make(map[string]file), forgotten: make(map[string]bool),
	}
	r.made = slices.Sorted(maps.Keys(reduces))[r.random.IntN(2)]
	t.Cleanup(r.stopAll)
	r.startAll()
	for range 150 {
		r.step()
	}
	r.check()
}

func (r *modelRun) step() {
	ctx := context.Background()
	p := r.processes[r.random.IntN(len(r.processes))]
	id := fmt.Sprint("f", r.random.IntN(25))
	switch n := r.random.IntN(100); {
	case n < 75:
		f := file{Author: fmt.Sprintf("%c%d", 'a'+r.random.IntN(3), r.random.IntN(3)), Lines: r.random.IntN(4)}
		for range r.random.IntN(3) {
			f.Links = append(f.Links, fmt.Sprint("f", r.random.IntN(25)))
		}
		r.append(p, id, f)
	case n < 85:
		r.append(p, id, file{Then: "delete"})
	case n < 88:
		if err := p.files.Forget(ctx, id); err != nil {
			r.t.Fatal(err)
		}
		r.forgotten[id] = true
		delete(r.model, id)
	case n < 94: // one process is stopped, wherever it is, and another one comes
		i := r.random.IntN(len(r.processes))
		r.stop(r.processes[i])
		r.processes[i] = r.start()
	case n < 96: // all are, and the next ones have another version
		r.stopAll()
		if r.random.IntN(2) == 0 {
			r.files++
		} else {
			r.authors++
			r.made = slices.Sorted(maps.Keys(reduces))[r.random.IntN(2)]
		}
		r.startAll()
	case n < 98:
		r.check()
	default:
		time.Sleep(time.Duration(r.random.IntN(5)) * time.Millisecond)
	}
}

func (r *modelRun) append(p *modelProcess, id string, f file) {
	token, err := p.files.Append(context.Background(), id, f)
	switch {
	case r.forgotten[id] && errors.Is(err, materializer.ErrForgotten):
	case err != nil || r.forgotten[id]:
		r.t.Fatalf("append to %s: %v", id, err)
	case f.Then == "delete":
		delete(r.model, id)
	default:
		r.model[id] = f
		if r.random.IntN(5) == 0 {
			r.read(p, id, f, token)
		}
	}
}

// read reads what is made of a file that was just appended, whatever is filled, built or
// switched meanwhile: it may be of any version, but is of this file.
func (r *modelRun) read(p *modelProcess, id string, f file, token materializer.Token) {
	r.t.Helper()
	ctx := within(r.t, time.Minute)
	a := must(p.authors.Get(ctx, f.Author, materializer.AtLeast(token)))(r.t)
	if !slices.Contains(a.State.Files, "0/"+id) {
		r.t.Fatalf("%s, appended by %s, is not among %v", id, f.Author, a.State.Files)
	}
	c := must(p.cards.Get(ctx, id, materializer.AtLeast(token)))(r.t).State
	for version := range r.files {
		if c.Lines == f.Lines*(version+1) && len(c.Links) == len(f.Links) {
			return
		}
	}
	r.t.Fatalf("the card of %s is %+v, want that of %+v", id, c, f)
}

func (r *modelRun) startAll() {
	r.processes = nil
	for range 1 + r.random.IntN(3) {
		r.processes = append(r.processes, r.start())
	}
}

func (r *modelRun) stopAll() {
	for _, p := range r.processes {
		r.stop(p)
	}
	r.processes = nil
}

func (r *modelRun) stop(p *modelProcess) {
	if err := p.run.halt(); err != nil && !errors.Is(err, materializer.ErrGraceOver) {
		r.t.Error(err)
	}
}

func (r *modelRun) start() *modelProcess {
	m := must(materializer.New(r.st, materializer.Config{Shared: true, Workers: 1 + r.random.IntN(3), Grace: -1}))(r.t)
	spec, times := filesSpec("files"), r.files
	fold := spec.Fold
	spec.Version = times
	spec.Fold = func(f file, op materializer.Operation[file]) (file, error) {
		f, err := fold(f, op)
		f.Lines *= times
		return f, err
	}
	p := &modelProcess{derivedRig: &derivedRig{t: r.t, st: r.st, m: m, files: must(materializer.Register(m, spec))(r.t)}}
	authors, version := reduces[r.made](authorsOf(byAuthor(p.files))), r.authors
	authors.Version = version
	if reduce := authors.Reduce; reduce != nil {
		authors.Reduce = func(key string, all iter.Seq2[materializer.Contributor, file]) (author, error) {
			a, err := reduce(key, all)
			a.Lines *= version
			return a, err
		}
	} else {
		times := func(f func(author, materializer.Contributor, file) (author, error)) func(author, materializer.Contributor, file) (author, error) {
			return func(a author, by materializer.Contributor, c file) (author, error) {
				c.Lines *= version
				return f(a, by, c)
			}
		}
		authors.Add, authors.Remove = times(authors.Add), times(authors.Remove)
	}
	p.authors = must(materializer.ByContributions(m, authors))(r.t)
	p.letters = must(materializer.ByContributions(m, totalsOf("letters", p.authors, func(a author) int { return a.Lines }, func(id string) string { return id[:1] })))(r.t)
	p.all = must(materializer.ByContributions(m, totalsOf("all", p.letters, func(t total) int { return t.Lines }, func(string) string { return "all" })))(r.t)
	p.cards = must(materializer.ByReads(m, cardsOf(p.files)))(r.t)
	p.run = (&rig{m: m}).start()
	return p
}

// check waits until all is made, in the latest versions, and compares it.
func (r *modelRun) check() {
	r.t.Helper()
	p := r.processes[0]
	deadline := time.Now().Add(time.Minute)
	for name, version := range map[string]int{"files": r.files, "authors": r.authors} {
		for {
			served := 0
			for _, g := range must(p.m.Generations(context.Background(), name))(r.t) {
				if g.State == materializer.Serving {
					served = g.Version
				}
			}
			if served == version {
				break
			}
			if time.Now().After(deadline) {
				r.t.Fatalf("version %d of %s is served, want %d", served, name, version)
			}
			time.Sleep(time.Millisecond)
		}
	}
	if err := p.m.Drain(within(r.t, time.Minute)); err != nil {
		r.t.Fatal(err)
	}
	authors, cards := make(map[string]author), make(map[string]card)
	for _, id := range slices.Sorted(maps.Keys(r.model)) {
		f := r.model[id]
		a := authors[f.Author]
		a.Lines += f.Lines * r.files * r.authors
		a.Files = append(a.Files, "0/"+id)
		authors[f.Author] = a
		c := card{Lines: f.Lines * r.files}
		for _, link := range f.Links {
			if to, ok := r.model[link]; ok {
				c.Links = append(c.Links, fmt.Sprintf("%s has %d", link, to.Lines*r.files))
			} else {
				c.Links = append(c.Links, link+" is gone")
			}
		}
		cards[id] = c
	}
	letters, all := make(map[string]total), make(map[string]total)
	for name, a := range authors {
		l := letters[name[:1]]
		letters[name[:1]] = total{l.Lines + a.Lines, l.Of + 1}
	}
	for _, l := range letters {
		a := all["all"]
		all["all"] = total{a.Lines + l.Lines, a.Of + 1}
	}
	for what, diff := range map[string]string{
		"authors": cmp.Diff(authors, states(r.t, p.authors)),
		"letters": cmp.Diff(letters, states(r.t, p.letters)),
		"all":     cmp.Diff(all, states(r.t, p.all)),
		"cards":   cmp.Diff(cards, states(r.t, p.cards)),
	} {
		if diff != "" {
			r.t.Fatalf("%s: (-want +got)\n%s\nforgotten are %v", what, diff, r.forgotten)
		}
	}
	for what, verify := range map[string]func(context.Context, materializer.VerifyOptions) (materializer.Verified, error){
		"authors": p.authors.Verify, "letters": p.letters.Verify, "cards": p.cards.Verify,
	} {
		if v := must(verify(context.Background(), materializer.VerifyOptions{}))(r.t); v.Different > 0 {
			r.t.Errorf("%s: %v", what, v.Differences)
		}
	}
}
