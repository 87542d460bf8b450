package sqlite

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
)

// secretSource makes a store in which derived documents have contributions of the secret
// document, and have read it: in what is served, what is built and what is being dropped,
// some of it in deltas.
func secretSource(t *testing.T, derived int) *Store {
	t.Helper()
	s := fresh(t, &Options{Sync: SyncNormal})
	ctx := t.Context()
	if err := s.Register(ctx, "notes", 1); err != nil {
		t.Fatal(err)
	}
	add := func(a []store.Append) error { _, err := s.Append(ctx, a); return err }
	history(t, s, 5, 100, add)
	for foldSome(t, s, "notes", 1000) > 0 {
	}
	pairs := func(body string) (all []store.Pair) {
		for i := range derived {
			all = append(all, store.Pair{Key: fmt.Sprintf("tag%05d", i), Body: fill(body, 20+i%300)})
		}
		return all
	}
	for version := 1; version <= 3; version++ {
		name := fmt.Sprint("tags@", version)
		if err := s.Derive(ctx, store.Derivation{Name: "tags", Version: version, Sources: []string{"notes"}, Deltas: true}); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			if more, err = s.Fill(ctx, name); err != nil {
				t.Fatal(err)
			}
		}
		for d := first(t, s, name+"<notes"); d.Head > 0; d = first(t, s, name+"<notes") {
			emitted := pairs("ordinary-")[:10]
			if d.Key.ID == secretKey.ID {
				emitted = pairs(secret)
			}
			mapOne(t, s, d, "notes", 200, func(store.Document) []store.Pair { return emitted }, false)
		}
		read := store.Read{Key: secretKey, Version: load(t, s, secretKey.ID).Changed}
		var commits []store.Commit
		for d, err := range s.Scan(ctx, name, "", store.WithoutViews) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Key.ID != "tag00000" || version != 3 { // whose deltas stay
				commits = append(commits, store.Commit{
					Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("made"), Reads: []store.Read{read},
				})
			}
		}
		if _, err := s.Commit(ctx, commits); err != nil {
			t.Fatal(err)
		}
		if version == 2 {
			continue // retired by the next one
		}
		if version == 1 {
			if o, err := s.Switch(ctx, name, store.SwitchTerms{}); err != nil || o.Why != store.Unhindered {
				t.Fatal(o, err)
			}
		}
	}
	// Half a round.
	mustAppend(t, s, []store.Append{{Key: secretKey, Entries: []store.Entry{{Body: fill(secret, 10)}}}})
	foldSome(t, s, "notes", 1000)
	mapOne(t, s, loadNamed(t, s, "tags@1<notes", secretKey.ID), "notes", derived/2,
		func(store.Document) []store.Pair { return pairs(secret + "again ") }, false)
	return s
}

// mustBeForgotten checks that derived documents are without the secret document.
func mustBeForgotten(t *testing.T, s *Store, derived int) {
	t.Helper()
	for _, name := range []string{"tags", "tags@3"} {
		if n, err := s.Count(t.Context(), name); err != nil || n.Dirty != int64(derived) {
			t.Errorf("of %s is dirty %+v, %v", name, n, err)
		}
		d := loadNamed(t, s, name, "tag00000")
		some, err := s.Contributions(t.Context(), d.Key, store.Contributor{}, store.Budget{})
		if err != nil || int64(len(some)) != d.Contributions || len(some) == 0 {
			t.Errorf("%+v has %d contributions, %v", d, len(some), err)
		}
		if reads, err := s.Reads(t.Context(), d.Key); err != nil || len(reads) != 0 {
			t.Errorf("%+v has read %v, %v", d, reads, err)
		}
	}
	for _, name := range []string{"tags@1<notes", "tags@3<notes"} {
		if d := loadNamed(t, s, name, secretKey.ID); d.Head != 0 {
			t.Errorf("there is %+v", d)
		}
	}
	if n := count(t, s, "refold_fanouts"); n != 0 {
		t.Errorf("%d rounds are left", n)
	}
}

func TestNothingOfAForgottenSourceIsLeft(t *testing.T) {
	const derived = 260 // more than a slice
	s := secretSource(t, derived)
	mustForget(t, s)
	mustBeForgotten(t, s, derived)
}

// Who opens the file goes on with forgetting a source, wherever it was cut off.
func TestForgettingASourceGoesOn(t *testing.T) {
	const derived = 260
	s := secretSource(t, derived)
	hash := hashKey(s.writer.salt, secretKey)
	submit := func(w work) {
		t.Helper()
		if err := s.submit(t.Context(), newRequest(w, false, 0)); err != nil {
			t.Fatal(err)
		}
	}
	submit(&forgetWork{secretKey, hash})
	slices := 0
	for left := true; left; slices++ {
		after := copyOf(t, s)
		eventually(t, "the end of erasing", func() bool { return traces(t, after) == 0 })
		mustBeForgotten(t, after, derived)
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
		w := &eraseWork{name: hex.EncodeToString(hash), only: true}
		submit(w)
		left = w.left
	}
	if slices < 8 {
		t.Errorf("there were only %d slices", slices)
	}
	if err := s.Forget(t.Context(), secretKey); err != nil { // finds nothing, and cleans up
		t.Fatal(err)
	}
	if n := traces(t, s); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	mustBeForgotten(t, s, derived)
}
