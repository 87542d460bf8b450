package materializertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// reference folds the documents from the beginning, for comparing.
func (f *folder[S, O]) reference(mayFail bool) error {
	for _, d := range f.documents {
		r := &run[S]{document: d}
		for i := range d.entries {
			if err := f.step(r); err != nil {
				if d.failure = err; !mayFail {
					return fmt.Errorf("%s: %w", d.at(i), err)
				}
				break
			}
			o, err := f.outcome(r)
			if err != nil {
				return err
			}
			d.want = append(d.want, o)
		}
	}
	return nil
}

// life is a process from its start to its end. It appends what is not there yet,
// a document's operations one by one and the documents in turns, so that many
// arrive late, and waits until all is folded.
func (c *crashes[S, O]) life(b store.Backend, m mode, at int, unclean bool) (call string, killed bool, err error) {
	ctx, stop := context.WithCancelCause(c.t.Context())
	defer stop(nil)
	st := &mortal{Backend: b, mode: m, at: at, unclean: unclean, kill: func() { stop(errKilled) }}
	lived := c.live(ctx, stop, st)
	call, killed, err = st.bury()
	if lived != nil && !killed {
		err = errors.Join(err, lived)
	}
	return call, killed, err
}

func (c *crashes[S, O]) live(ctx context.Context, stop context.CancelCauseFunc, st *mortal) (err error) {
	m, err := materializer.New(st, materializer.Config{Workers: 1})
	if err != nil {
		return err
	}
	if _, err := materializer.Register(m, c.Spec); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := m.Run(ctx)
		if err != nil {
			stop(fmt.Errorf("its Run returned: %w", err))
		}
		ended <- err
	}()
	defer func() {
		stop(nil)
		err = errors.Join(err, <-ended)
	}()
	settled()
	if err := c.appendAll(ctx, st); err != nil {
		return err
	}
	patience := 10 * time.Second
	if settled() {
		patience = 24 * time.Hour
	}
	waiting, late := context.WithTimeoutCause(ctx, patience, errPatience)
	defer late()
	err = m.Drain(waiting)
	settled()
	if errors.Is(err, materializer.ErrParked) {
		return nil // checkStore sees whether that is right
	}
	return err
}

// appendAll appends all that is in no store yet: what is there is known by its id.
func (c *crashes[S, O]) appendAll(ctx context.Context, st store.Store) error {
	longest := 0
	for _, d := range c.documents {
		longest = max(longest, len(d.entries))
	}
	n := 0
	for i := range longest {
		for _, d := range c.documents {
			if i >= len(d.entries) {
				continue
			}
			entry := d.entries[i]
			entry.Body, entry.Meta = slices.Clone(entry.Body), slices.Clone(entry.Meta)
			one := []store.Append{{Key: c.key(d), Entries: []store.Entry{entry}}}
			_, err := st.Append(ctx, one)
			if errors.Is(err, store.ErrInDoubt) {
				_, err = st.Append(ctx, one)
			}
			if err != nil {
				return fmt.Errorf("appending the operation of %s: %w", d.at(i), err)
			}
			if n++; n%2 == 1 {
				settled() // in a bubble it is folded before the next one comes
			}
		}
	}
	return nil
}

func (c *crashes[S, O]) key(d *document) store.Key {
	return store.Key{Collection: c.Name, ID: d.id}
}

// checkStore checks what is in a store. After a process that was not killed all is
// folded.
func (c *crashes[S, O]) checkStore(b store.Backend, all bool) error {
	ctx := c.t.Context()
	for _, d := range c.documents {
		docs, err := b.Load(ctx, []store.Key{c.key(d)}, store.WithViews)
		if err != nil {
			return err
		}
		doc := &docs[0]
		if err := c.checkLog(ctx, b, d, doc, all); err != nil {
			return err
		}
		switch applied := int(doc.Applied); {
		case applied > len(d.want):
			return fmt.Errorf("%s: its view is said to contain it, and its fold fails: %w", d.at(len(d.want)), d.failure)
		case applied > 0:
			if got := (outcome{doc.View, doc.Deleted}); !got.equal(d.want[applied-1]) {
				return fmt.Errorf("%s: the stored view is not what a fold from the beginning gives\n%s", d.at(applied-1), differ(d.want[applied-1], got))
			}
		}
		if !all {
			continue
		}
		switch f := doc.Failure; {
		case int(doc.Applied) < len(d.want) && f != nil:
			return fmt.Errorf("%s: it failed %d times: %s", d.at(int(f.Seq-1)), f.Attempts, f.Error)
		case int(doc.Applied) < len(d.want):
			return fmt.Errorf("%s: it is not in the view, and everything is said to be", d.at(int(doc.Applied)))
		case d.failure != nil && !doc.Parked():
			return fmt.Errorf("%s: the document is not parked, although its fold fails: %w", d.at(int(doc.Applied)), d.failure)
		}
	}
	return nil
}

// checkLog checks that a document has the first of its operations, or all of them,
// each once.
func (c *crashes[S, O]) checkLog(ctx context.Context, b store.Backend, d *document, doc *store.Document, all bool) error {
	n := 0
	for op, err := range store.ReadOperations(ctx, b, doc.Key, 1) {
		if err != nil {
			return err
		}
		if n == len(d.entries) {
			return fmt.Errorf("document %s has an operation with id %q at seq %d, and only %d were appended", d.id, op.ID, op.Seq, n)
		}
		if e := &d.entries[n]; op.ID != e.ID || op.Seq != int64(n+1) || string(op.Body) != string(e.Body) {
			return fmt.Errorf("%s: the store has id %q with seq %d there, want id %q", d.at(n), op.ID, op.Seq, e.ID)
		}
		n++
	}
	if int64(n) != doc.Head {
		return fmt.Errorf("document %s has %d operations, and its head is %d", d.id, n, doc.Head)
	}
	if all && n < len(d.entries) {
		return fmt.Errorf("%s: it was acknowledged, and is not in the store", d.at(n))
	}
	return nil
}
