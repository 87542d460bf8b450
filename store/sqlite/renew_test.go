package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/refold-go/refold/store"
)

// TestRenewRefusesTokensOfTheTimeBeforeTheBackup: a database that was restored gets
// a new incarnation, so that what was given out since the backup is refused by name
// instead of meaning something else.
func TestRenewRefusesTokensOfTheTimeBeforeTheBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, nil)
	token := mustAppend(t, s, one("a", "1")).Token
	gone := key("gone")
	mustAppend(t, s, one("gone", "1"))
	if err := s.Forget(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), []store.Commit{{Key: key("a"), Applied: 1, View: []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	cursor, err := s.LastChange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "mistyped.db"), t.TempDir()} {
		if err := Renew(path); err == nil {
			t.Errorf("renewed %s, where there is no store", path)
		}
	}
	claim, err := s.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := Renew(path); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("renewing under a materializer: %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if err := Renew(path); err != nil {
		t.Fatal(err)
	}
	// Who still has it open gives out no tokens of before any more.
	if _, err := s.Append(t.Context(), one("a", "2")); !errors.Is(err, ErrRenewed) {
		t.Errorf("an append by who had it open: %v", err)
	}
	s.Close()
	s = open(t, path, nil)
	if _, err := s.Resolve(t.Context(), token, []store.Key{key("a")}); !errors.Is(err, store.ErrForeignToken) {
		t.Errorf("a token of before: %v", err)
	}
	for _, err := range s.Changes(t.Context(), "notes", cursor, store.WithoutViews) {
		if !errors.Is(err, store.ErrForeignToken) {
			t.Errorf("a cursor of before: %v", err)
		}
	}
	if yes, err := s.Forgotten(t.Context(), gone); err != nil || !yes {
		t.Errorf("what was forgotten: %t, %v", yes, err)
	}
	if _, err := s.Append(t.Context(), one("gone", "1")); !errors.Is(err, store.ErrForgotten) {
		t.Errorf("an append to what was forgotten: %v", err)
	}
	claim, err = s.Claim(t.Context())
	if err != nil || claim.Unclean {
		t.Errorf("the claim after it: unclean %t, %v", claim.Unclean, err)
	}
}
