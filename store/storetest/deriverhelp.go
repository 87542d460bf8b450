package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// tags is a derived collection of notes in most checks.
func tags(version int, sources ...string) store.Derivation {
	if len(sources) == 0 {
		sources = []string{"notes"}
	}
	return store.Derivation{Name: "tags", Version: version, Sources: sources}
}

// tag is a document of tags, and mapped the document of a mapping.
func tag(id string) store.Key             { return store.Key{Collection: "tags", ID: id} }
func mapped(mapping, id string) store.Key { return store.Key{Collection: mapping, ID: id} }

// deriverMethods returns a call of each method of [store.Deriver], with input that
// changes nothing that matters.
func deriverMethods(b store.Backend) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Derive": func(ctx context.Context) error {
			if err := b.Derive(ctx, tags(1, "nothing")); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		},
		"Contributions": func(ctx context.Context) error {
			_, err := b.Contributions(ctx, tag("a"), store.Contributor{}, store.Budget{})
			return err
		},
		"Reads": func(ctx context.Context) error { _, err := b.Reads(ctx, tag("a")); return err },
	}
}

// derive is Derive, which must succeed.
func (f *fixture) derive(d store.Derivation) {
	f.Helper()
	if err := f.b.Derive(background, d); err != nil {
		f.Fatalf("Derive %+v: %v", d, err)
	}
}

// tagged derives tags from notes, of which there are none, so that it is served.
func tagged(f *fixture) {
	f.Helper()
	mustRegister(f, "notes", 1)
	f.derive(tags(1))
	f.mustBeTags("1 serving")
}

// mustBeTags compares the generations of tags.
func (f *fixture) mustBeTags(want ...string) {
	f.Helper()
	if got := f.states("tags"); fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("the generations are %q, want %q", got, want)
	}
}

// write appends to a document that is up to date and stores this view of it. It returns
// the position.
func (f *fixture) write(k store.Key, view string) store.Position {
	f.Helper()
	at := f.append(bare(k), view).Operations[0].Position
	f.mustCommit(store.Done, f.view(k, view))
	return at
}

// view returns the commit of a view of all operations.
func (f *fixture) view(k store.Key, view string) store.Commit {
	f.Helper()
	d := f.load(k)
	return store.Commit{Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte(view)}
}

// pairs reads pairs from key=body.
func pairs(all ...string) (pairs []store.Pair) {
	for _, one := range all {
		k, body, _ := strings.Cut(one, "=")
		pairs = append(pairs, store.Pair{Key: k, Body: []byte(body)})
	}
	return pairs
}

// slice returns the commit of a slice of the round that a document of a mapping is in.
func (f *fixture) slice(k store.Key, e store.Effects) store.Commit {
	f.Helper()
	d := f.load(k)
	if e.From = d.Round; e.From.To == 0 {
		e.From.To = d.Head
	}
	e.Pairs = slices.DeleteFunc(slices.Clone(e.Pairs), func(p store.Pair) bool {
		return e.From.Readers || p.Key <= e.From.After || e.Upto != "" && p.Key > e.Upto
	})
	if len(e.Pairs) > store.MaxEffects {
		e.Pairs = e.Pairs[:store.MaxEffects]
		e.Upto = e.Pairs[len(e.Pairs)-1].Key
	}
	return store.Commit{Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: e.From.To, Effects: &e}
}

// deliver runs a document of a mapping until its round is over, and returns how many
// commits that took.
func (f *fixture) deliver(k store.Key, e store.Effects) (commits int) {
	f.Helper()
	for to := int64(0); ; {
		d := f.load(k)
		if commits == 0 {
			to = d.Head
		} else if d.Applied == to {
			return commits
		}
		if commits++; commits > mostCollected {
			f.Fatalf("the round of %s does not end", k)
		}
		if got := f.commit(f.slice(k, e))[0]; got == store.Stale {
			f.Fatalf("a slice of the effects of %s is stale", k)
		}
	}
}

// contribute delivers these contributions.
func (f *fixture) contribute(k store.Key, all ...string) {
	f.Helper()
	f.deliver(k, store.Effects{Pairs: pairs(all...)})
}

// touch gives these documents a delta, and who read the source.
func (f *fixture) touch(k store.Key, keys ...string) {
	f.Helper()
	f.deliver(k, store.Effects{Pairs: pairs(keys...), Touch: true})
}

// contributions describes those to a document, of which there are as many as it says.
func (f *fixture) contributions(k store.Key) string {
	f.Helper()
	all, err := f.b.Contributions(background, k, store.Contributor{}, store.Budget{})
	if err != nil {
		f.Fatalf("Contributions: %v", err)
	}
	if n := f.load(k).Contributions; n != int64(len(all)) {
		f.Fatalf("%s has %d contributions, by its document %d", k, len(all), n)
	}
	return describeContributions(all)
}

func describeContributions(all []store.Contribution) string {
	var text []string
	for _, c := range all {
		text = append(text, fmt.Sprintf("%d:%s=%s", c.Input, c.Source, c.Body))
	}
	return strings.Join(text, " ")
}

// mustHave compares the contributions to a document.
func (f *fixture) mustHave(k store.Key, want string) {
	f.Helper()
	if got := f.contributions(k); got != want {
		f.Fatalf("to %s contribute %q, want %q", k, got, want)
	}
}

// reduce stores a view of a derived document that has all its deltas.
func (f *fixture) reduce(k store.Key, view string, reads ...store.Read) store.Outcome {
	f.Helper()
	c := f.view(k, view)
	c.Reads = reads
	return f.commit(c)[0]
}

// readOf returns that a note was read as it is now.
func (f *fixture) readOf(k store.Key) store.Read {
	f.Helper()
	return store.Read{Key: k, Version: f.load(k).Changed}
}

// reads describes what a document read.
func (f *fixture) reads(k store.Key) string {
	f.Helper()
	all, err := f.b.Reads(background, k)
	if err != nil {
		f.Fatalf("Reads: %v", err)
	}
	return fmt.Sprint(all)
}

// mustRunOf compares the runnable documents of a name, in order of since, and of id
// where that is the same: a store may have another order there.
func (f *fixture) mustRunOf(name string, want ...string) {
	f.Helper()
	runnable := f.runnable(name)
	since := func(a, b store.Runnable) int { return cmp.Compare(a.Since.Position, b.Since.Position) }
	if !slices.IsSortedFunc(runnable, since) {
		f.Fatalf("runnable of %s are in the order %+v", name, runnable)
	}
	slices.SortFunc(runnable, func(a, b store.Runnable) int { return cmp.Or(since(a, b), strings.Compare(a.Key.ID, b.Key.ID)) })
	var got []string
	for _, r := range runnable {
		got = append(got, r.Key.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("runnable of %s are %q, want %q", name, got, want)
	}
}

// mustLack checks that a document is dirty since a position, with so many deltas.
func (f *fixture) mustLack(k store.Key, since store.Position, deltas int) store.Document {
	f.Helper()
	d := f.load(k)
	if d.Since.Position != since || d.Head-d.Applied != int64(deltas) || since > 0 && d.Since.Time.IsZero() {
		f.Fatalf("%s lacks %d deltas since %v, want %d since %d", k, d.Head-d.Applied, d.Since, deltas, since)
	}
	return d
}

// heard listens to which documents are said to be dirty until the check is over; the
// result returns them, and forgets them.
func (f *fixture) heard() func() string {
	f.Helper()
	var dirty []string
	f.Cleanup(f.b.Listen(store.Listener{Dirty: func(keys []store.Key) {
		for _, k := range keys {
			dirty = append(dirty, k.String())
		}
	}}))
	return func() string {
		slices.Sort(dirty)
		text := strings.Join(dirty, " ")
		dirty = nil
		return text
	}
}

func compareContributors(a, b store.Contributor) int {
	return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Source, b.Source))
}

func compareReads(a, b store.Read) int {
	return cmp.Or(cmp.Compare(a.Key.Collection, b.Key.Collection), cmp.Compare(a.Key.ID, b.Key.ID))
}

// derivedLines describes what contents does not of derived collections, and adds their
// mappings to the names.
func derivedLines(t rapid.TB, b store.Backend, collections []store.Collection, names *[]string) (lines []string) {
	t.Helper()
	for _, in := range collections {
		if !in.Derived {
			continue
		}
		for _, name := range append([]string{in.Name}, besideOf(t, b, in.Name)...) {
			for _, d := range collect(t, b.Scan(background, name, "", store.WithoutViews)) {
				all, err := b.Contributions(background, d.Key, store.Contributor{}, store.Budget{})
				if err != nil {
					t.Fatalf("Contributions: %v", err)
				}
				reads, err := b.Reads(background, d.Key)
				if err != nil {
					t.Fatalf("Reads: %v", err)
				}
				lines = append(lines, fmt.Sprintf("%s is made of %s and %v", d.Key, describeContributions(all), reads))
			}
			for _, c := range collections {
				mapping := name + "<" + c.Name
				*names = append(*names, mapping)
				for _, d := range collect(t, b.Scan(background, mapping, "", store.WithViews)) {
					lines = append(lines, describe(d))
					for _, op := range collect(t, store.ReadOperations(background, b, d.Key, 1)) {
						lines = append(lines, describeOperation(d.Key, op))
					}
				}
			}
		}
		for _, g := range mustGenerations(t, b, in.Name) {
			lines = append(lines, fmt.Sprintf("generation %+v of %s", g, in.Name))
		}
	}
	return lines
}

func mustGenerations(t rapid.TB, b store.Backend, collection string) []store.Generation {
	t.Helper()
	all, err := b.Generations(background, collection)
	if err != nil {
		t.Fatalf("Generations: %v", err)
	}
	return all
}
