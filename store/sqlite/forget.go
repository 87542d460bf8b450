package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/refold-go/refold/store"
)

// forgets says what a transaction knows of the documents that were forgotten.
type forgets uint8

const (
	notAsked forgets = iota
	forgotNone
	forgotSome
)

// forgotten reports whether a document was forgotten. It is asked for documents
// that do not exist. As long as nothing was forgotten it costs nothing: that is
// read together with the collection.
func (t *transaction) forgotten(k store.Key) (bool, error) {
	if t.forgets == notAsked {
		row, err := t.run.one(anyForgotten)
		if err != nil {
			return false, err
		}
		t.forgets = forgotNone
		if row != nil {
			t.forgets = forgotSome
		}
	}
	if t.forgets == forgotNone {
		return false, nil
	}
	row, err := t.run.one(getForgotten, hashKey(t.salt, k))
	return row != nil, err
}

// hashKey is what is kept of a document that was forgotten.
func hashKey(salt uint64, k store.Key) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(k.Collection)+1+len(k.ID)), salt)
	b = append(append(append(b, k.Collection...), 0), k.ID...)
	sum := sha256.Sum256(b)
	return sum[:]
}

// Forgotten implements [store.Eraser].
func (s *Store) Forgotten(ctx context.Context, key store.Key) (yes bool, err error) {
	err = s.read(ctx, func(c *conn) error {
		row, err := c.one(getForgotten, hashKey(s.writer.salt, key))
		yes = row != nil
		return err
	})
	return yes, err
}

// Forget implements [store.Eraser]. One transaction takes the document away and
// refuses its id; its operations, and its effects on derived documents, are then erased
// in slices, between which others write. If the process ends before they all are, the next one to open the file
// goes on.
//
// Everything that the store deletes is overwritten with zeros. Forget then gives
// the pages back that have become free, if the file was made by this package, and
// empties the write-ahead log, which needs a moment in which nobody reads what is
// older. In a file of up to [Options.Rewrite] bytes it writes its tables anew,
// because SQLite can leave a copy of a part of a row in the unused middle of a
// page. In a larger file such a copy, of less than a page, may remain until that
// part of the page is used again; VACUUM removes it. Refold never runs VACUUM: it
// blocks every writer for long, and may renumber the application's rows.
func (s *Store) Forget(ctx context.Context, key store.Key) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	hash := hashKey(s.writer.salt, key)
	if err := s.submit(ctx, newRequest(&forgetWork{key, hash}, true, 1000)); err != nil {
		return err
	}
	err := s.eraseAll(ctx, func() sliceWork { return &eraseWork{name: hex.EncodeToString(hash), only: true} })
	if err == nil {
		err = s.scrub(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrTraces, err)
	}
	return nil
}

// forgetWork takes a document away, but for its operations.
type forgetWork struct {
	key  store.Key
	hash []byte
}

func (w *forgetWork) do(t *transaction) error {
	in, err := t.collection(w.key.Collection)
	if err != nil {
		return err
	}
	if err := in.notDerived("document to forget"); err != nil {
		return err
	}
	t.touch, t.forgets = true, forgotSome
	if err := t.run.exec(putForgotten, w.hash); err != nil || in == nil {
		return err
	}
	row, err := t.document(&in.served, w.key.ID)
	if err != nil {
		return err
	}
	hash := hex.EncodeToString(w.hash)
	if row != nil {
		document := row.id
		if err := t.run.exec(startErasing, document, hash, int64(0), int64(0)); err != nil {
			return err
		}
		if err := t.eraseRows(in.id, document, w.key.ID); err != nil {
			return err
		}
	}
	return t.startRetracting(in, w.key.ID, hash)
}

// eraseRows deletes what there is of a document beside its operations, in all
// generations of its collection: also one that is being dropped has its view.
func (t *transaction) eraseRows(collection, document int64, name string) error {
	for _, st := range []statement{dropFailures, dropViews, dropProgress} {
		if err := t.run.exec(st, document, collection); err != nil {
			return err
		}
	}
	return t.run.exec(dropDiscards, collection, name)
}
