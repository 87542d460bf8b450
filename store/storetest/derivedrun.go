package storetest

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// derivedRun is a backend whose documents are run in any order, some by runs that begin
// long before they end. What is derived must be the same as if it were computed anew,
// wherever nothing says that it is dirty.
type derivedRun struct {
	*suite
	outer *testing.T
	b     store.Backend
	last  store.Position // of the log
	// marks are by generation: the end of the log when it was last begun to be filled.
	marks map[string]store.Position
	// reached are by generation: the end of the log when it was last switched to or a
	// document of it made.
	reached   map[string]store.Position
	forgotten map[store.Key]bool
	hand      []store.Commit // of runs that have not ended
}

// derivedModel compares derived documents with what is computed from their sources, over
// random calls.
func (s *suite) derivedModel(t *testing.T) {
	stop := time.Now().Add(modelTime)
	failed := false // While rapid looks for a smaller failure, it goes on.
	rapid.Check(t, func(r *rapid.T) {
		if time.Now().After(stop) && !failed {
			return
		}
		whole := false
		defer func() { failed = failed || !whole }()
		run := &derivedRun{
			suite: s, outer: t, b: s.open(t), marks: make(map[string]store.Position), reached: make(map[string]store.Position),
			forgotten: make(map[store.Key]bool),
		}
		defer func() {
			if err := run.b.Close(); err != nil {
				r.Fatalf("Close: %v", err)
			}
		}()
		for _, name := range []string{"notes", "tasks"} {
			if err := run.b.Register(background, name, 1); err != nil {
				r.Fatalf("Register: %v", err)
			}
		}
		actions := map[string]func(*rapid.T){
			"":          run.check,
			"append":    run.appendSome,
			"run":       run.some,
			"runs":      run.some,
			"all":       run.all,
			"begin":     run.begin,
			"end":       run.end,
			"overtaken": run.overtaken,
			"fail":      run.fail,
			"derive":    run.derive,
			"rebuild":   run.rebuild,
			"switch":    run.rebuild,
			"remove":    run.remove,
			"settle":    run.settle,
		}
		if rapid.Bool().Draw(r, "derive all") {
			for _, d := range modelDerivations {
				run.deriveVersion(r, d, 1)
			}
		}
		if s.Reopen != nil {
			actions["reopen"] = func(r *rapid.T) {
				if rapid.IntRange(0, 4).Draw(r, "reopen") == 0 {
					run.b = s.Reopen(t, run.b)
				}
			}
		}
		r.Repeat(actions)
		run.settle(r)
		checkConsistent(r, run.b, true)
		whole = !r.Failed()
	})
}

// load returns a document with its view.
func (m *derivedRun) load(r *rapid.T, k store.Key) store.Document {
	documents, err := m.b.Load(background, []store.Key{k}, store.WithViews)
	if err != nil {
		r.Fatalf("Load: %v", err)
	}
	return documents[0]
}

// living returns the generations of a collection by their full names.
func (m *derivedRun) living(r *rapid.T, collection string) (names []string, all []store.Generation) {
	for _, g := range mustGenerations(r, m.b, collection) {
		if g.State != store.Dropping && g.Version > 0 {
			names = append(names, store.CollectionName{Name: collection, Version: g.Version}.String())
			all = append(all, g)
		}
	}
	return names, all
}

// rows returns the names of a generation and its mappings.
func rowsOf(generation string) []string {
	n, _ := store.ParseCollection(generation)
	names := []string{generation}
	for _, d := range modelDerivations {
		if d.Name == n.Name {
			for _, source := range d.Sources {
				names = append(names, generation+"<"+source)
			}
		}
	}
	return names
}

// everything returns the names of all that can be run.
func (m *derivedRun) everything(r *rapid.T) (names []string) {
	for _, collection := range []string{"notes", "tasks", "tags", "pages", "sums"} {
		generations, _ := m.living(r, collection)
		for _, g := range generations {
			names = append(names, rowsOf(g)...)
		}
	}
	return names
}

func (m *derivedRun) appendSome(r *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(r, "appends") {
		m.append(r)
	}
}

func (m *derivedRun) append(r *rapid.T) {
	k := store.Key{
		Collection: rapid.SampledFrom([]string{"notes", "notes", "tasks"}).Draw(r, "collection"),
		ID:         rapid.SampledFrom(modelWords).Draw(r, "id"),
	}
	if m.forgotten[k] {
		return
	}
	body := rapid.SampledFrom([]string{"a", "a b", "b a", "b c d", "d", "c b a", ""}).Draw(r, "body")
	got, err := m.b.Append(background, []store.Append{{Key: k, Entries: entries(body)}})
	if err != nil {
		r.Fatalf("Append: %v", err)
	}
	m.last = got.Documents[0].Operations[0].Position
}

// drawn returns a document that can be run.
func (m *derivedRun) drawn(r *rapid.T) (store.Key, bool) {
	all := collect(r, m.b.Runnable(background, m.everything(r)))
	if len(all) == 0 {
		return store.Key{}, false
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(r, "document")].Key, true
}

// some runs some documents, one after the other.
func (m *derivedRun) some(r *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(r, "runs") {
		if k, ok := m.drawn(r); ok {
			m.commit(r, m.run(r, k, true))
		}
	}
}

// all runs what is runnable now, in order.
func (m *derivedRun) all(r *rapid.T) {
	for _, one := range collect(r, m.b.Runnable(background, m.everything(r))) {
		if m.load(r, one.Key).Dirty() {
			m.commit(r, m.run(r, one.Key, true))
		}
	}
}

// begin and end are a run during which other things happen.
func (m *derivedRun) begin(r *rapid.T) {
	if k, ok := m.drawn(r); ok && len(m.hand) < 4 {
		m.hand = append(m.hand, m.run(r, k, true))
	}
}

func (m *derivedRun) end(r *rapid.T) {
	if len(m.hand) > 0 {
		i := rapid.IntRange(0, len(m.hand)-1).Draw(r, "run")
		c := m.hand[i]
		m.hand = slices.Delete(m.hand, i, i+1)
		m.commit(r, c)
	}
}

// overtaken is a run during which everything else is appended to and run.
func (m *derivedRun) overtaken(r *rapid.T) {
	k, ok := m.drawn(r)
	pages, _ := m.living(r, "pages") // are what it matters most for
	if all := collect(r, m.b.Runnable(background, pages)); len(all) > 0 {
		k = all[rapid.IntRange(0, len(all)-1).Draw(r, "page")].Key
	}
	if ok {
		c := m.run(r, k, true)
		m.appendSome(r)
		for range 5 { // so that what is told is run too
			for _, one := range collect(r, m.b.Runnable(background, m.everything(r))) {
				if one.Key != k && m.load(r, one.Key).Dirty() {
					m.commit(r, m.run(r, one.Key, false))
				}
			}
		}
		m.commit(r, c)
	}
}

// fail parks a document, or resumes all.
func (m *derivedRun) fail(r *rapid.T) {
	if rapid.Bool().Draw(r, "resume") {
		m.resume(r)
		return
	}
	if k, ok := m.drawn(r); ok {
		d := m.load(r, k)
		m.commit(r, store.Commit{
			Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Applied, Failure: &store.Failure{Seq: d.Applied + 1, Attempts: 1, Park: true},
		})
	}
}

func (m *derivedRun) resume(r *rapid.T) {
	for _, name := range m.everything(r) {
		for _, d := range collect(r, m.b.Parked(background, name)) {
			if n, err := m.b.Resume(background, []store.Key{d.Key}); err != nil || n != 1 {
				r.Fatalf("Resume of %s: %d, %v", d.Key, n, err)
			}
		}
	}
}

// commit stores what a run has made, and checks the outcome.
func (m *derivedRun) commit(r *rapid.T, c store.Commit) {
	d := m.load(r, c.Key)
	want := store.Done
	stale := d.Head == 0 || d.Parked() || d.Applied != c.Loaded || d.Epoch != c.Epoch
	if e := c.Effects; e != nil {
		stale = stale || d.Round != e.From && (d.Round != store.Round{} || e.From != store.Round{To: e.From.To})
	}
	got, err := m.b.Commit(background, []store.Commit{c})
	if err != nil {
		r.Fatalf("Commit of %+v: %v", c, err)
	}
	if now := m.load(r, c.Key); stale {
		want = store.Stale
		if got, was := describe(now), describe(d); got != was {
			r.Fatalf("a stale commit left\n%s, was\n%s", got, was)
		}
	} else {
		if now.Dirty() {
			want = store.StillDirty
		}
		if c.Effects == nil && c.Applied > c.Loaded {
			m.reached[c.Key.Collection] = m.last
		}
	}
	if got[0] != want {
		r.Fatalf("Commit of %+v is %s, want %s", c, got[0], want)
	}
}
