package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/refold-go/refold/store"
)

// In a damaged file any counter may be gone. That is an error of who needs it, or of
// opening, and no panic.
func TestCountersThatAreGone(t *testing.T) {
	for _, counter := range []string{
		metaSchema, metaIncarnation, metaPosition, metaGeneration, metaOpened, metaSynced, metaClaimed, metaDropped, metaChange, metaCeiling, metaSalt,
	} {
		t.Run(counter, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			s := open(t, path, nil)
			mustAppend(t, s, one("a", "1", "2"))
			db := application(t, path, "_synchronous=FULL&_txlock=immediate")
			if _, err := db.Exec("DELETE FROM refold_meta WHERE key = ?", counter); err != nil {
				t.Fatal(err)
			}
			var told []error
			use := func(s *Store) {
				_, err := s.Append(t.Context(), one("b", "1"))
				told = append(told, err)
				_, err = s.Append(t.Context(), []store.Append{{Key: store.Key{Collection: "new", ID: "c"}, Entries: one("c", "1")[0].Entries}})
				told = append(told, err)
				_, err = s.Commit(t.Context(), []store.Commit{{Key: key("a"), Applied: 1, View: []byte("v")}})
				told = append(told, err)
				_, err = s.End(t.Context())
				told = append(told, err)
				_, err = s.LastChange(t.Context())
				told = append(told, err)
				for _, err := range s.Changes(t.Context(), "notes", store.Cursor{}, store.WithViews) {
					told = append(told, err)
				}
				for _, err := range s.Log(t.Context(), store.Token{}, store.Token{}) {
					told = append(told, err)
				}
				claim, err := s.Claim(t.Context())
				if told = append(told, err); err == nil {
					told = append(told, claim.Release())
				}
				told = append(told, s.Discard(t.Context(), store.Discard{Key: key("a"), Seq: 2, By: "ann", Why: "wrong"}),
					s.Forget(context.WithoutCancel(t.Context()), key("a")), s.Drop(t.Context(), "new"))
			}
			use(s)
			s.Close()
			again, err := Open(path, nil)
			if told = append(told, err); err == nil {
				use(again)
				again.Close()
			}
			if errors.Join(told...) == nil {
				t.Error("nobody says that the counter is gone")
			}
		})
	}
}
