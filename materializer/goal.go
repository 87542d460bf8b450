package materializer

import (
	"context"

	"github.com/refold-go/refold/store"
)

// goal is what a reader waits for in a document.
type goal struct {
	// seq is that of an operation that the view is to contain.
	seq int64
	// since is the place before or at which nothing may be lacking, if the document is
	// derived, or one of a mapping: these have no operations.
	since   store.Position
	derived bool
}

// met reports whether a document is as it is to be.
func (g goal) met(doc *store.Document) bool {
	if g.derived {
		return !doc.Dirty() || doc.Since.Position > g.since
	}
	return doc.Applied >= g.seq
}

// goal returns what a token means for a document.
func (m *Materializer) goal(ctx context.Context, token Token, key Key) (goal, error) {
	if derived, err := m.derived(ctx, key.Collection); derived || err != nil {
		return goal{since: token.Max(), derived: true}, err
	}
	seq, err := m.resolve(ctx, token, key)
	return goal{seq: seq}, err
}
