package storetest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// model is the contract written down as simply as possible: one log, and for
// each document what was committed last. Whatever can be computed from the log
// is computed each time.
type model struct {
	log []logged
	// committed has the documents of each generation, see in.
	committed map[store.Key]committed
	// collections has those that there are.
	collections map[string]*modelCollection
	// generations counts those that were made.
	generations int
	forgotten   map[store.Key]bool
	// discards are in order of document and seq.
	discards []store.Discard
	// changes counts what the feed tells.
	changes int
}

type logged struct {
	key       store.Key // zero if the document was removed
	entry     store.Entry
	discarded bool
	history   bool
}

type committed struct {
	there   bool // whether the generation has the document
	applied int64
	view    []byte
	deleted bool
	failure store.Failure
	failed  bool
	// epochs has those that the document has had in this generation, also before it
	// was removed; the last one is its own.
	epochs []int64
	// changed is which change its last one was, and news the last one that was not
	// history alone.
	changed, news int
	lease         leasedTo
}

// model compares a backend with the model over random calls. After a while it
// begins no further run, so that a store on a slow disk is tried less.
func (s *suite) model(t *testing.T) {
	stop := time.Now().Add(modelTime)
	failed := false // While rapid looks for a smaller failure, it goes on.
	rapid.Check(t, func(r *rapid.T) {
		if time.Now().After(stop) && !failed {
			return
		}
		whole := false
		defer func() { failed = failed || !whole }()
		run := &modelRun{suite: s, outer: t, model: model{
			committed: make(map[store.Key]committed), collections: make(map[string]*modelCollection), forgotten: make(map[store.Key]bool),
		}}
		run.b = s.open(t)
		defer func() {
			if err := run.b.Close(); err != nil {
				r.Fatalf("Close: %v", err)
			}
		}()
		actions := map[string]func(*rapid.T){
			"":           run.compare,
			"append":     run.append,
			"commit":     run.commit,
			"resume":     run.resume,
			"resolve":    run.resolve,
			"operations": run.operations,
			"discard":    run.discard,
			"pause":      run.pause,
			"remove":     run.remove,
			"read log":   run.readLog,
			"feed":       run.feed,
			"lease":      run.lease,
			"give back":  run.giveBack,
			"register":   run.register,
			"generate":   run.generate,
			"rebuild":    run.generate, // twice, as one switch takes several steps
		}
		if s.Reopen != nil {
			actions["reopen"] = run.reopen
		}
		r.Repeat(actions)
		checkConsistent(r, run.b, run.removed())
		whole = !r.Failed()
	})
}

// of returns the positions of a document's operations, in order of seq, by any name.
func (m *model) of(k store.Key) []store.Position {
	var positions []store.Position
	k = bare(k)
	for i, l := range m.log {
		if l.key == k {
			positions = append(positions, store.Position(i+1))
		}
	}
	return positions
}

func (m *model) head(k store.Key) int64 { return int64(len(m.of(k))) }

// keys returns the documents in order of collection and id.
func (m *model) keys() []store.Key {
	var keys []store.Key
	for _, l := range m.log {
		if l.key.ID != "" && !slices.Contains(keys, l.key) {
			keys = append(keys, l.key)
		}
	}
	slices.SortFunc(keys, func(a, b store.Key) int {
		return strings.Compare(a.String(), b.String())
	})
	return keys
}

// append returns where the entries go, or the errors that the call may return.
func (m *model) append(appends []store.Append) ([]store.AppendedDocument, []error) {
	next := model{log: slices.Clone(m.log)}
	var documents []store.AppendedDocument
	var refusals []error
	for _, a := range appends {
		if m.forgotten[a.Key] {
			refusals = append(refusals, store.ErrForgotten)
		}
		before := next.head(a.Key)
		var placed []store.Placed
		for _, e := range a.Entries {
			at, same := next.find(a.Key, e)
			if at == 0 {
				next.log = append(next.log, logged{key: a.Key, entry: e, history: a.History})
				placed = append(placed, store.Placed{Seq: next.head(a.Key), Position: store.Position(len(next.log))})
				continue
			}
			if !same {
				refusals = append(refusals, store.ErrIDReused)
			}
			seq := int64(slices.Index(next.of(a.Key), at) + 1)
			placed = append(placed, store.Placed{Seq: seq, Position: at, Duplicate: true})
		}
		if a.Head != nil && *a.Head != before && next.head(a.Key) > before {
			refusals = append(refusals, store.ErrConflict)
		}
		documents = append(documents, store.AppendedDocument{
			Head: next.head(a.Key), Parked: m.row(a.Key).failure.Park, Operations: placed,
		})
	}
	if len(refusals) == 0 {
		for _, a := range appends {
			if c := m.collection(a.Key.Collection); m.head(a.Key) == 0 {
				for _, g := range c.living() {
					m.make(g, a.Key.ID)
				}
			}
		}
		m.log = next.log
	}
	return documents, refusals
}

// find returns where the operation with the id of an entry is, 0 if there is
// none, and whether it is the same.
func (m *model) find(k store.Key, e store.Entry) (at store.Position, same bool) {
	for i, l := range m.log {
		if l.key == k && e.ID != "" && l.entry.ID == e.ID {
			return store.Position(i + 1), l.entry.Kind == e.Kind && bytes.Equal(l.entry.Body, e.Body)
		}
	}
	return 0, false
}

// commit returns what becomes of each commit, or an error.
func (m *model) commit(commits []store.Commit) ([]store.Outcome, error) {
	for _, c := range commits {
		if !m.stale(c) && c.Applied > m.head(c.Key) {
			return nil, store.ErrInvalid
		}
	}
	var outcomes []store.Outcome
	for _, c := range commits {
		d := m.row(c.Key)
		if m.stale(c) {
			outcomes = append(outcomes, store.Stale)
			continue
		}
		if c.Applied > c.Loaded {
			d.applied, d.view, d.deleted = c.Applied, c.View, c.Deleted
			if d.deleted {
				d.view = nil
			}
		}
		if parks := c.Failure != nil && c.Failure.Park; parks || c.Applied > c.Loaded {
			m.changes++
			d.changed = m.changes
			if parks || !c.History {
				d.news = m.changes
			}
		}
		d.failure, d.failed = store.Failure{}, c.Failure != nil
		if d.failed {
			d.failure = *c.Failure
		}
		d.lease = d.lease.settled(&c, d.applied < m.head(c.Key) && !d.failure.Park)
		m.committed[m.in(c.Key)] = d
		if d.applied == m.head(c.Key) {
			outcomes = append(outcomes, store.Done)
		} else {
			outcomes = append(outcomes, store.StillDirty)
		}
	}
	return outcomes, nil
}

// stale reports whether the guard of a commit does not hold.
func (m *model) stale(c store.Commit) bool {
	d := m.row(c.Key)
	return !d.there || d.failure.Park || d.applied != c.Loaded || c.Epoch != d.epochs[len(d.epochs)-1]
}

// anyOf reports whether err is one of the errors.
func anyOf(err error, all []error) bool {
	return slices.ContainsFunc(all, func(one error) bool { return errors.Is(err, one) })
}
