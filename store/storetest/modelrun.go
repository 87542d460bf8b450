package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// modelRun is a backend and the model beside it, after the same calls.
type modelRun struct {
	*suite
	model
	outer  *testing.T
	b      store.Backend
	tokens []store.Token
	// cursors has each that was returned, and after which change of the model it is.
	cursors []placedCursor
}

// The few documents and ids make collisions frequent.
var (
	modelKeys = []store.Key{
		key("a"), key("b"), key("c"), {Collection: "tasks", ID: "a"}, {Collection: "tasks", ID: "b"},
	}
	someKeys  = rapid.SliceOfNDistinct(rapid.SampledFrom(modelKeys), 1, 3, rapid.ID[store.Key])
	someEntry = rapid.Custom(func(r *rapid.T) store.Entry {
		return store.Entry{
			ID:   rapid.SampledFrom([]string{"", "", "x", "y", "z"}).Draw(r, "id"),
			Kind: rapid.SampledFrom([]string{"k", "k", "k", ""}).Draw(r, "kind"),
			Meta: make([]byte, rapid.IntRange(0, 2).Draw(r, "meta")),
			Body: []byte(rapid.SampledFrom([]string{"1", "1", "1", "22"}).Draw(r, "body")),
		}
	})
)

func (m *modelRun) append(r *rapid.T) {
	var appends []store.Append
	for _, k := range someKeys.Draw(r, "keys") {
		a := store.Append{Key: k, Entries: rapid.SliceOfN(someEntry, 1, 3).Draw(r, "entries")}
		a.History = rapid.Bool().Draw(r, "history")
		if rapid.IntRange(0, 2).Draw(r, "expect") == 0 {
			a.Head = new(max(m.head(k)+rapid.Int64Range(-2, 1).Draw(r, "off"), 0))
		}
		appends = append(appends, a)
	}
	want, refusals := m.model.append(appends)
	got, err := m.b.Append(background, appends)
	switch {
	case len(refusals) > 0:
		if !anyOf(err, refusals) {
			r.Fatalf("Append: %v, want one of %v", err, refusals)
		}
	case err != nil:
		r.Fatalf("Append: %v", err)
	case fmt.Sprint(got.Documents) != fmt.Sprint(want):
		r.Fatalf("Append returned %+v, want %+v", got.Documents, want)
	default:
		for _, d := range want {
			for _, p := range d.Operations {
				if cut := m.cut(r, got.Token); p.Position > cut {
					r.Fatalf("the token %s does not cover position %d", got.Token, p.Position)
				}
			}
		}
		m.tokens = append(m.tokens, got.Token)
	}
}

func (m *modelRun) commit(r *rapid.T) {
	var commits []store.Commit
	keys := m.called(r, someKeys.Draw(r, "keys"))
	m.learnEpochs(r, keys)
	for _, k := range keys {
		head, applied, epochs := m.head(k), m.row(k).applied, m.row(k).epochs
		if len(epochs) == 0 { // there is nothing of it
			epochs = []int64{0}
		}
		c := store.Commit{Key: k, Loaded: applied, Epoch: epochs[len(epochs)-1]}
		if rapid.IntRange(0, 4).Draw(r, "before") == 0 {
			c.Epoch = rapid.SampledFrom(epochs).Draw(r, "epoch")
		}
		if applied > 0 && rapid.IntRange(0, 2).Draw(r, "late") == 0 {
			c.Loaded = rapid.Int64Range(0, applied-1).Draw(r, "loaded")
		}
		c.Applied = rapid.Int64Range(c.Loaded, head).Draw(r, "applied")
		if rapid.IntRange(0, 30).Draw(r, "beyond") == 0 {
			c.Applied = head + 1
		}
		c.Deleted = rapid.IntRange(0, 5).Draw(r, "deleted") == 0
		c.History = m.isHistory(k, c.Loaded, c.Applied)
		c.View = fmt.Appendf(nil, "view %d over %d", c.Applied, c.Loaded)
		if c.Applied < head && rapid.IntRange(0, 2).Draw(r, "fails") == 0 {
			c.Failure = &store.Failure{
				Seq: c.Applied + 1, Attempts: rapid.IntRange(1, 3).Draw(r, "attempts"), Error: "e",
				Park: rapid.Bool().Draw(r, "park"),
			}
		}
		if rapid.IntRange(0, 2).Draw(r, "keeps") == 0 {
			c.Keep = &longTerms
		}
		commits = append(commits, c)
	}
	want, refusal := m.model.commit(commits)
	got, err := m.b.Commit(background, commits)
	if !errors.Is(err, refusal) || fmt.Sprint(got) != fmt.Sprint(want) {
		r.Fatalf("Commit of %+v returned %v, %v, want %v, %v", commits, got, err, want, refusal)
	}
}

func (m *modelRun) resume(r *rapid.T) {
	keys := m.called(r, someKeys.Draw(r, "keys"))
	want := 0
	for _, k := range keys {
		if m.row(k).failure.Park {
			want++
			m.resumed(k)
		}
	}
	if got, err := m.b.Resume(background, keys); err != nil || got != want {
		r.Fatalf("Resume of %v returned %d, %v, want %d", keys, got, err, want)
	}
}

func (m *modelRun) resolve(r *rapid.T) {
	end, err := m.b.End(background)
	if err != nil {
		r.Fatalf("End: %v", err)
	}
	token := rapid.SampledFrom(append(m.tokens, end, store.Token{})).Draw(r, "token")
	past := model{log: m.log[:m.cut(r, token)]}
	want := make([]int64, len(modelKeys))
	for i, k := range modelKeys {
		want[i] = past.head(k)
	}
	if got, err := m.b.Resolve(background, token, modelKeys); err != nil || !slices.Equal(got, want) {
		r.Fatalf("token %s resolves to %v, %v, want %v", token, got, err, want)
	}
}

// cut returns the position up to which a token goes, by its text.
func (m *modelRun) cut(r *rapid.T, token store.Token) (position store.Position) {
	if token.IsZero() {
		return 0
	}
	if _, err := fmt.Sscanf(token.String()[16:], ":m%d", &position); err != nil {
		r.Fatalf("token %s: %v", token, err)
	}
	return position
}

func (m *modelRun) operations(r *rapid.T) {
	budget := store.Budget{
		Operations: rapid.IntRange(0, 6).Draw(r, "operations"),
		Bytes:      rapid.Int64Range(0, 12).Draw(r, "bytes"),
	}
	var ranges []store.Range
	for _, k := range someKeys.Draw(r, "keys") {
		ranges = append(ranges, store.Range{
			Key: k, From: rapid.Int64Range(0, 5).Draw(r, "from"), To: rapid.Int64Range(0, 5).Draw(r, "to"),
		})
	}
	var want []string
	count, size := 0, int64(0)
	for i, g := range ranges {
		for j, position := range m.of(g.Key) {
			seq := int64(j + 1)
			if seq < g.From || g.To > 0 && seq > g.To {
				continue
			}
			e := m.log[position-1].entry
			size += int64(len(e.Body) + len(e.Meta))
			count++
			if count == 1 || (budget.Operations == 0 || count <= budget.Operations) && (budget.Bytes == 0 || size <= budget.Bytes) {
				want = append(want, fmt.Sprint(i, seq, position, m.log[position-1].history, m.log[position-1].discarded, e.ID, e.Kind, e.Meta, e.Body))
			}
		}
	}
	pages, err := m.b.Operations(background, ranges, budget)
	if err != nil {
		r.Fatalf("Operations: %v", err)
	}
	var got []string
	for i, page := range pages {
		for _, op := range page {
			got = append(got, fmt.Sprint(i, op.Seq, op.Position, op.History, op.Discarded, op.ID, op.Kind, op.Meta, op.Body))
		}
	}
	if !slices.Equal(got, want) {
		r.Fatalf("Operations of %+v within %+v are %q, want %q", ranges, budget, got, want)
	}
}

func (m *modelRun) reopen(r *rapid.T) {
	if rapid.IntRange(0, 4).Draw(r, "reopen") == 0 {
		m.b = m.Reopen(m.outer, m.b)
	}
}

// compare compares the documents, and which of them are runnable and parked.
func (m *modelRun) compare(r *rapid.T) {
	var got, want, runnable, parked []string
	var waiting []store.Runnable
	names := slices.Concat(m.names("notes"), m.names("tasks"))
	for _, name := range names {
		for _, k := range m.keys() {
			if bare(store.Key{Collection: name}).Collection != k.Collection {
				continue
			}
			named := store.Key{Collection: name, ID: k.ID}
			positions, c := m.of(k), m.row(named)
			if !c.there {
				continue
			}
			d := store.Document{
				Key: named, Version: m.generation(name).version, Head: int64(len(positions)), Last: positions[len(positions)-1],
				Applied: c.applied, View: c.view, Deleted: c.deleted, Lease: store.Lease{Holder: c.lease.holder},
			}
			if d.Dirty() {
				d.Since.Position = positions[c.applied]
			}
			if c.failed {
				d.Failure = &c.failure
			}
			want = append(want, describeModel(d))
			if d.Parked() {
				parked = append(parked, named.String())
			} else if d.Dirty() && !m.collections[k.Collection].paused {
				waiting = append(waiting, store.Runnable{Key: named, Since: d.Since})
			}
		}
	}
	runnable = inOrder(waiting)

	var gotRunnable, gotParked []string
	for _, name := range names {
		for _, d := range collect(r, m.b.Scan(background, name, "", store.WithViews)) {
			got = append(got, describeModel(d))
		}
		for _, d := range collect(r, m.b.Parked(background, name)) {
			gotParked = append(gotParked, d.Key.String())
		}
	}
	waiting = collect(r, m.b.Runnable(background, names))
	if !slices.IsSortedFunc(waiting, bySince) {
		r.Fatalf("runnable are %v, which is not in order of since", waiting)
	}
	gotRunnable = inOrder(waiting)
	if !slices.Equal(got, want) {
		r.Fatalf("the documents are\n%q, want\n%q", got, want)
	}
	if !slices.Equal(gotRunnable, runnable) || !slices.Equal(gotParked, parked) {
		r.Fatalf("runnable are %q and parked %q, want %q and %q", gotRunnable, gotParked, runnable, parked)
	}
	m.compareRemoved(r)
	for _, name := range names {
		m.compareChanges(r, name, placedCursor{})
	}
}

func bySince(a, b store.Runnable) int { return cmp.Compare(a.Since.Position, b.Since.Position) }

// inOrder returns the keys in order of since, and those that share one in their own.
func inOrder(all []store.Runnable) []string {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b store.Runnable) int {
		return cmp.Or(bySince(a, b), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	keys := make([]string, len(all))
	for i, r := range all {
		keys[i] = r.Key.String()
	}
	return keys
}

// describeModel leaves out what the model does not know: times, the epoch, and the record
// of a failure whose attempts were forgotten.
func describeModel(d store.Document) string {
	d.Since.Time, d.Epoch, d.Changed = store.Since{}.Time, 0, 0
	if d.Failure != nil && d.Failure.Attempts == 0 {
		d.Failure = nil
	}
	if d.Failure != nil {
		d.Failure.First, d.Failure.Last = time.Time{}, time.Time{}
	}
	return describe(d)
}
