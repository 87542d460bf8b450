package materializer

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// NewOperation is an operation to be appended, with what may be said of it.
type NewOperation[O any] struct {
	// ID makes appending twice harmless: an operation whose id its document has
	// already is not stored again. 1 to 255 bytes; empty means none.
	ID string
	// Time is the application's time of the operation. Zero means the store's
	// clock. It never decides an order.
	Time time.Time
	// Meta is opaque, up to 64 KiB: causation, tracing and the like.
	Meta []byte
	// Body is the operation itself.
	Body O
}

// Change is what one append adds to one document. [Collection.Change] and
// [Collection.ChangeWith] make it.
type Change struct {
	of     *Materializer
	append store.Append
	err    error // of encoding; the append reports it
}

// Change makes a change of operations of which nothing else is said.
func (c *Collection[S, O]) Change(id string, ops ...O) Change {
	change := Change{of: c.m, append: store.Append{Key: c.key(id), Entries: make([]store.Entry, len(ops))}}
	for i := range ops {
		change.err = cmp.Or(change.err, c.encode(&change.append, i, ops[i]))
	}
	return change
}

// ChangeWith makes a change of operations with ids, times or metas.
func (c *Collection[S, O]) ChangeWith(id string, ops ...NewOperation[O]) Change {
	change := Change{of: c.m, append: store.Append{Key: c.key(id), Entries: make([]store.Entry, len(ops))}}
	for i := range ops {
		op := &ops[i]
		change.append.Entries[i] = store.Entry{ID: op.ID, Time: op.Time, Meta: op.Meta}
		change.err = cmp.Or(change.err, c.encode(&change.append, i, op.Body))
	}
	return change
}

// ExpectHead returns the change with the condition that the document's last
// operation has this seq, 0 meaning that the document must not exist. If it has
// not, and not all operations are there already by their ids, the append is
// refused with a [*ConflictError].
func (c Change) ExpectHead(seq int64) Change {
	c.append.Head = &seq
	return c
}

// AsHistory returns the change with the remark that its operations are not new to
// the world: an import, or the past of a document that comes in late. They are
// folded like any other. Whoever follows [Collection.Changes] is told that what
// changed is history, unless something new came in with it.
func (c Change) AsHistory() Change {
	c.append.History = true
	return c
}

// encode fills in kind and body of an entry.
func (c *Collection[S, O]) encode(a *store.Append, i int, op O) (err error) {
	entry := &a.Entries[i]
	if entry.Kind, entry.Body, err = c.spec.Operations.Encode(op); err != nil {
		return fmt.Errorf("refold: encoding operation %d for %s: %w", i+1, a.Key, err)
	}
	return nil
}

// Append appends operations to one document. When it returns nil they are
// durable, and the token covers them. Errors: see the list of errors of
// appending; after any of them but [ErrInDoubt] nothing is stored.
func (c *Collection[S, O]) Append(ctx context.Context, id string, ops ...O) (Token, error) {
	if len(ops) != 1 {
		appended, err := c.m.Append(ctx, c.Change(id, ops...))
		return appended.Token, err
	}
	one := ones.Get().(*oneAppend)
	one.appends[0] = store.Append{Key: c.key(id), Entries: one.entries[:]}
	if err := c.encode(&one.appends[0], 0, ops[0]); err != nil {
		return Token{}, err
	}
	appended, err := c.m.store(ctx, one.appends[:])
	if err == nil {
		*one = oneAppend{}
		ones.Put(one)
	}
	return appended.Token, err
}

// oneAppend is the usual case, an append of one operation. No store uses it when it
// has been stored, so that the next one can have it.
type oneAppend struct {
	appends [1]store.Append
	entries [1]store.Entry
}

var ones = sync.Pool{New: func() any { return new(oneAppend) }}

// Append appends the changes of any number of documents, of any collections of
// this materializer, in one transaction: all or none. Each document may appear
// once. Errors as for [Collection.Append].
func (m *Materializer) Append(ctx context.Context, changes ...Change) (Appended, error) {
	appends, err := m.unwrap(changes)
	if err != nil {
		return Appended{}, err
	}
	return m.store(ctx, appends)
}

func (m *Materializer) store(ctx context.Context, appends []store.Append) (Appended, error) {
	appended, err := m.st.Append(ctx, appends)
	if err != nil {
		if errors.Is(err, store.ErrInDoubt) {
			m.table.Reread() // they may be there, and nobody will announce them
		}
		return Appended{}, err
	}
	return appended, nil
}

// Update runs fn in a transaction on the store's own connection, so that rows of
// the application and operations commit together; inside, operations are
// appended with [Materializer.AppendTx] on the context and the transaction that
// fn is given. It is as durable as an append. See [store.Transactor] for what fn
// must not do. Errors: what fn returns, those of appending, and
// [ErrUnsupported].
func (m *Materializer) Update(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	st, ok := m.st.(store.Transactor)
	if !ok {
		return fmt.Errorf("%w: transactions of the application", ErrUnsupported)
	}
	if fn == nil {
		return &InvalidError{Field: "function of Update", Got: "nil", Want: "a function"}
	}
	err := st.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return fn(context.WithValue(ctx, inUpdate{m}, true), tx)
	})
	if errors.Is(err, store.ErrInDoubt) {
		m.table.Reread()
	}
	return err
}

// AppendTx is Append in a transaction of the application on the same database:
// that of [Materializer.Update], or one that it began on a connection of its own,
// which then must sync as much as the store's options promise. The operations
// are stored when tx commits, and the token is void if it does not. The workers
// see them when Update returns, or within a second. Errors as for
// [Materializer.Append], and [ErrUnsupported].
func (m *Materializer) AppendTx(ctx context.Context, tx *sql.Tx, changes ...Change) (Appended, error) {
	st, ok := m.st.(store.Transactor)
	if !ok {
		return Appended{}, fmt.Errorf("%w: transactions of the application", ErrUnsupported)
	}
	appends, err := m.unwrap(changes)
	if err != nil {
		return Appended{}, err
	}
	return st.AppendTx(ctx, tx, appends)
}

// inUpdate is the key by which the context of an Update is known.
type inUpdate struct{ m *Materializer }

func (m *Materializer) unwrap(changes []Change) ([]store.Append, error) {
	appends := make([]store.Append, len(changes))
	for i := range changes {
		if err := changes[i].err; err != nil {
			return nil, err
		}
		if changes[i].of != m {
			return nil, &InvalidError{
				Field: fmt.Sprintf("change %d", i+1),
				Got:   "one that a collection of this materializer did not make",
				Want:  "Change or ChangeWith of one of its collections",
			}
		}
		appends[i] = changes[i].append
	}
	return appends, nil
}
