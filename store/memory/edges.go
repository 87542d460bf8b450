package memory

import (
	"cmp"
	"slices"

	"github.com/refold-go/refold/store"
)

// byKey is the order of what a document read.
func byKey(a, b store.Read) int {
	return cmp.Or(cmp.Compare(a.Key.Collection, b.Key.Collection), cmp.Compare(a.Key.ID, b.Key.ID))
}

// checkReadsLocked returns an error if a document of the generation cannot have read
// these.
func (g *generation) checkReads(c *store.Commit) error {
	for _, r := range c.Reads {
		if g.from(r.Key.Collection) == nil {
			return &store.InvalidError{
				Field: "commit of " + c.Key.String(), Got: "a read of " + r.Key.Collection, Want: "only of the sources of a derived collection",
			}
		}
	}
	return nil
}

// readLocked records what a document has read, instead of what was recorded, and reports
// whether it is to be made again: one that is new among these has changed meanwhile, or one is
// again as it was recorded, so that the document was passed over, and was read as it was in between.
func (s *Store) readLocked(g *generation, d *document, reads []store.Read) (changed bool) {
	before := d.made.reads
	for _, r := range before {
		g.noReader(d, r.Key)
	}
	now := slices.SortedFunc(slices.Values(reads), byKey)
	d.made.reads = nil
	for _, r := range now {
		i, was := slices.BinarySearchFunc(before, r, byKey)
		if !was || before[i].Version != r.Version {
			source, version := s.documentLocked(r.Key), int64(0)
			if source != nil {
				version = source.changed
			}
			changed = changed || version != r.Version && (!was || version == before[i].Version)
		}
		if s.forgottenLocked(r.Key) {
			continue // it will not change any more, and its id is not kept
		}
		d.made.reads = append(d.made.reads, r)
		readers := g.derived.readers[r.Key]
		if readers == nil {
			readers = new(ordered[text, *document])
			g.derived.readers[r.Key] = readers
		}
		readers.insert(text(d.key.ID), d)
	}
	return changed
}

// unread takes out that a document has read another.
func (g *generation) unread(d *document, read store.Key) {
	d.made.reads = slices.DeleteFunc(slices.Clone(d.made.reads), func(r store.Read) bool { return r.Key == read })
	g.noReader(d, read)
}

// noReader takes a document out of those that have read another.
func (g *generation) noReader(d *document, read store.Key) {
	readers := g.derived.readers[read]
	if readers.remove(text(d.key.ID)); len(readers.chunks) == 0 {
		delete(g.derived.readers, read)
	}
}
