package sqlite

import (
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

// memo is what the writing connection remembers of the file from one transaction to the
// next: it reads again only what may have changed. That spares a transaction that appends and
// commits views five statements for one, and one for each document.
//
// It is good for transactions that append and commit views, which keep it right as they go.
// Every other one may change what it likes, and ends it; so do a rollback, a commit that
// fails, a new connection, and whatever another connection has committed, which SQLite tells.
// The statements that move a head and applied compare head, applied and epoch with the file
// all the same: the first fails, the second is stale, and the memo ends. What is refused
// because of a remembered row is read from the file before. That a document is dirty already
// is believed: comparing it, too, cost appends 7 % of their rate.
type memo struct {
	// good tells that the rest is right, if the file is still of this version.
	good    bool
	version int64 // by PRAGMA data_version

	collections map[string]*collection
	forgets     forgets
	position    int64 // the last one given; -1 if it is not known
	changes     changeNumbers
	documents   map[documentOf]*documentRow
}

const (
	// memoDocuments is how many documents are remembered, at some 200 bytes each, and
	// their ids.
	memoDocuments = 16384
	// memoCollections is how many collections a memo may have; with more it is dropped.
	memoCollections = 1024
)

// documentOf names a document of a generation.
type documentOf struct {
	generation int64
	name       string
}

// documentRow is a document as it is in a generation.
type documentRow struct {
	id, head, applied, epoch int64
	dirty, parked, failed    bool
}

// recall gives a transaction what is remembered, if its works keep that right, and reports
// whether that is anything. The memo is not good until [writerConn.retain] is called.
func (c *writerConn) recall(t *transaction, group []*request) (some bool, err error) {
	m := &c.memo
	was := m.good
	m.good = false
	if slices.ContainsFunc(group, func(r *request) bool { return !remembers(r.work) }) {
		return false, nil
	}
	version, err := c.dataVersion()
	if err != nil {
		return false, err
	}
	t.memo = m
	if !was || version != m.version {
		*m = memo{version: version, position: -1, documents: m.documents}
		clear(m.documents)
		return false, nil
	}
	t.collections, t.forgets, t.last, t.changes = m.collections, m.forgets, m.position, m.changes
	t.changes.moved = false
	return true, nil
}

// remembers reports whether a work keeps the memo right.
func remembers(w work) bool {
	switch w := w.(type) {
	case *appendWork:
		return true
	case *commitWork:
		return !slices.ContainsFunc(w.commits, func(c store.Commit) bool { return c.Effects != nil || c.Reads != nil })
	}
	return false
}

// retain is called when the transaction has been committed.
func (c *writerConn) retain(t *transaction) {
	if m := t.memo; m != nil {
		m.collections, m.forgets, m.position, m.changes = t.collections, t.forgets, t.last, t.changes
		m.good = len(t.collections) <= memoCollections
	}
}

// forget is called when anything may change that the memo does not hear of.
func (c *writerConn) forget() { c.memo.good = false }

// memorable reports whether the documents of a generation are remembered: of what is
// served and has operations. Everything else is changed by more than its own appends and
// commits.
func (g *generation) memorable() bool { return g.served && !g.derived() }

// document returns a document, nil if there is none. Who changes its row in the file, in an
// append or a commit of its view, has to change this one too.
func (t *transaction) document(g *generation, name string) (*documentRow, error) {
	if t.memo != nil && g.memorable() {
		if d := t.memo.documents[documentOf{g.id, name}]; d != nil {
			return d, nil
		}
	}
	row, err := t.run.one(getDocument, g.id, g.space, name)
	if err != nil || row == nil {
		return nil, err
	}
	d := &documentRow{
		id: integer(row[0]), head: integer(row[1]), dirty: truth(row[2]), parked: truth(row[3]), failed: truth(row[4]),
		applied: integer(row[5]), epoch: integer(row[6]),
	}
	t.made(g, name, d)
	return d, nil
}

// doubt is called before something is refused because of a document. If it was
// remembered, it is to be read again.
func (t *transaction) doubt(g *generation, name string) (again bool) {
	if t.memo == nil || t.memo.documents[documentOf{g.id, name}] == nil {
		return false
	}
	delete(t.memo.documents, documentOf{g.id, name})
	return true
}

// made is told of a document that was not remembered.
func (t *transaction) made(g *generation, name string, d *documentRow) {
	if t.memo != nil && g.memorable() {
		t.memo.add(documentOf{g.id, strings.Clone(name)}, d)
	}
}

// add remembers a document, instead of any other if there are many.
func (m *memo) add(of documentOf, d *documentRow) {
	if m.documents == nil {
		m.documents = make(map[documentOf]*documentRow)
	}
	if len(m.documents) >= memoDocuments {
		for any := range m.documents {
			delete(m.documents, any)
			break
		}
	}
	m.documents[of] = d
}
