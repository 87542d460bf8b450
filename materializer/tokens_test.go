package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// TestBug17274_AFutureTokenIsAnsweredAtOnce: nobody waits for a token that the log
// has not come to, and the error says how far it is.
func TestBug17274_AFutureTokenIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		end := r.append("a", "x")
		future, err := materializer.ParseToken(end.String() + "0")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, got := r.texts.Get(t.Context(), "a", materializer.AtLeast(future))
		_, gotNew := r.texts.Get(t.Context(), "new", materializer.AtLeast(future))
		var log error
		for _, err := range r.m.Operations(t.Context(), future, materializer.Token{}) {
			log = err
		}
		var upTo error
		for _, err := range r.m.Operations(t.Context(), materializer.Token{}, future) {
			upTo = err
		}
		for name, err := range map[string]error{
			"Get": got, "Get of what is not there": gotNew, "Wait": r.m.Wait(t.Context(), future),
			"Wait for a document": r.texts.Wait(t.Context(), future, "a"), "Operations from": log, "Operations to": upTo,
		} {
			e, ok := errors.AsType[*materializer.FutureTokenError](err)
			if !ok || !errors.Is(err, materializer.ErrFutureToken) || e.Token != future || e.End != end {
				t.Errorf("%s: %v, want that %s is beyond %s", name, err, future, end)
			}
		}
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestC2_WaitingForAToken: who is caught up does not wait, who waits is woken by
// the view and by nothing else, and is let go by its context.
func TestC2_WaitingForAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2}, specOf(h.fold)).start()
		done := r.append("a", "x")
		settle()
		begun := time.Now()
		if err := r.m.Wait(t.Context(), done); err != nil || time.Since(begun) != 0 {
			t.Errorf("caught up: %v after %v", err, time.Since(begun))
		}

		token := r.append("b", "hold")
		<-h.reached
		ended := make(chan error, 1)
		go func() { ended <- r.m.Wait(t.Context(), token) }()
		r.append("c", "x") // another document does not wake it
		time.Sleep(2 * time.Second)
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("the wait ended with %v while the run is held up", err)
		default:
		}
		if err := r.m.Wait(within(t, 6*time.Second), token); !errors.Is(err, errTooLong) {
			t.Errorf("a wait with a limit: %v", err)
		}
		h.goOn <- struct{}{}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if v, err := r.texts.Get(t.Context(), "b"); err != nil || v.Applied != 1 {
			t.Errorf("behind the wait: %+v, %v", v, err)
		}
	})
}

// TestBug17226_TokensDoNotGoBackOverARestart: ids that were given and have no rows
// left do not come again.
func TestBug17226_TokensDoNotGoBackOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "texts.db")
	var last, beforeThat materializer.Token
	for life := range 3 {
		st, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := newDamagedRig(t, st, materializer.Config{}, spec())
		if end := r.end(); life > 0 && end != last {
			t.Errorf("life %d begins at %s, the one before ended at %s", life, end, last)
		}
		beforeThat, last = last, r.append(fmt.Sprint("d", life), "x", "y")
		if err := r.texts.Forget(t.Context(), fmt.Sprint("d", life)); err != nil {
			t.Fatal(err)
		}
		if beforeThat == last {
			t.Errorf("the token %s was given twice", last)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The whole log, of all collections, from token to token.
func TestOperationsOfTheWholeLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		tallies := registerTally(t, r.m)
		first := r.append("a", "one", "two")
		if _, err := tallies.Append(t.Context(), "t", struct{}{}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.m.Append(t.Context(), r.texts.Change("b", word{"old"}).AsHistory()); err != nil {
			t.Fatal(err)
		}
		read := func(from, to materializer.Token) string {
			t.Helper()
			var all []string
			for op, err := range r.m.Operations(t.Context(), from, to) {
				if err != nil {
					t.Fatal(err)
				}
				said := fmt.Sprintf("%d %s %d", op.Position, op.Key, op.Seq)
				if decoded, err := r.texts.Decode(op); err == nil {
					said += " " + decoded.Body.Text
					if decoded.History {
						said += " history"
					}
				} else if wantErr(t, err, materializer.ErrInvalid); op.Key.Collection == "texts" {
					t.Errorf("%s: %v", said, err)
				}
				all = append(all, said)
			}
			return strings.Join(all, ", ")
		}
		for _, c := range []struct {
			from, to materializer.Token
			want     string
		}{
			{materializer.Token{}, first, "1 texts/a 1 one, 2 texts/a 2 two"},
			{first, materializer.Token{}, "3 tallies/t 1, 4 texts/b 1 old history"},
			{r.end(), materializer.Token{}, ""},
			{r.end(), first, ""},
		} {
			if got := read(c.from, c.to); got != c.want {
				t.Errorf("from %q to %q: %s, want %s", c.from, c.to, got, c.want)
			}
		}
	})
}

// A process that only reads follows what another one makes, and so does one that
// comes later.
func TestChangesMadeByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "texts.db")
	open := func() store.Backend {
		st, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	maker := newRig(t, open(), materializer.Config{}, spec()).start()
	reader := newDamagedRig(t, open(), materializer.Config{}, spec())
	f := follow(t, reader.texts, materializer.Cursor{})
	waited := func(token materializer.Token, id string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := maker.texts.Wait(ctx, token, id); err != nil {
			t.Fatal(err)
		}
	}
	waited(maker.append("a", "one"), "a")
	f.want("a one 1")
	go func() {
		time.Sleep(50 * time.Millisecond)
		reader.append("a", "two") // by a process that makes no views
	}()
	f.want("a one two 2")
	if err := maker.halt(); err != nil {
		t.Fatal(err)
	}
	next := newRig(t, open(), materializer.Config{}, spec()).start()
	token := next.append("b", "three")
	f.want("b three 1")
	if err := next.m.Wait(t.Context(), token); err != nil {
		t.Fatal(err)
	}
}

// TestBug19644_TheTokenWaitedForIsTheOneReadWith: a read that waits for several
// tokens returns what all of them cover, whatever comes in meanwhile.
func TestBug19644_TheTokenWaitedForIsTheOneReadWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(h.fold)).start()
		early := r.append("a", "hold")
		<-h.reached
		late := r.append("a", "two", "three")
		ended := make(chan int64, 2)
		for _, options := range [][]materializer.ReadOption{
			{materializer.AtLeast(late), materializer.AtLeast(early)}, {materializer.AtLeast(early)},
		} {
			go func() {
				v, err := r.texts.Get(t.Context(), "a", options...)
				if err != nil {
					t.Error(err)
				}
				if seqs, err := r.st.Resolve(t.Context(), late, []store.Key{key("a")}); err != nil || len(options) == 2 && v.Applied < seqs[0] {
					t.Errorf("the view has %d operations, the token covers %v, %v", v.Applied, seqs, err)
				}
				ended <- v.Applied
			}()
		}
		settle()
		h.goOn <- struct{}{}
		if a, b := <-ended, <-ended; max(a, b) != 3 {
			t.Errorf("the views had %d and %d operations, want one with 3", a, b)
		}
	})
}

// TestBug14723_WhatIsAnnouncedCanBeRead: when anybody is told that a view was
// stored, it is there.
func TestBug14723_WhatIsAnnouncedCanBeRead(t *testing.T) {
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "texts.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	r := newRig(t, st, materializer.Config{}, spec())
	var told atomic.Int64
	defer st.Listen(store.Listener{Committed: func(keys []store.Key) {
		docs, err := st.Load(context.Background(), keys, store.WithoutViews)
		if err != nil {
			t.Error(err)
			return
		}
		for _, doc := range docs {
			if told.Add(1); doc.Applied == 0 {
				t.Errorf("%s was announced and has no view", doc.Key)
			}
		}
	}})()
	r.start()
	for _, id := range numbered("d", 20) {
		if err := r.texts.Wait(within(t, time.Minute), r.append(id, "x"), id); err != nil {
			t.Fatal(err)
		}
	}
	r.halt()
	if n := told.Load(); n < 20 {
		t.Errorf("%d announcements, want 20", n)
	}
}

// TestBug19795_NoPlaceIsAheadOfWhatCanBeRead: a follower that goes on from the
// last change that was told before it read, and not from what it read, misses none.
func TestBug19795_NoPlaceIsAheadOfWhatCanBeRead(t *testing.T) {
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "texts.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	r := newRig(t, st, materializer.Config{}, spec()).start()
	const documents, rounds = 50, 20
	appended := make(chan materializer.Token)
	go func() {
		var last materializer.Token
		for range rounds {
			for _, id := range numbered("d", documents) {
				last = r.append(id, "x")
			}
		}
		appended <- last
	}()
	seen := make(map[string]int64)
	var from materializer.Cursor
	pass := func() {
		now, err := r.m.LastChange(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for v, err := range r.texts.ChangesSoFar(t.Context(), from) {
			if err != nil {
				t.Fatal(err)
			}
			seen[v.ID] = v.Applied
		}
		from = now
	}
	for {
		select {
		case token := <-appended:
			if err := r.m.Wait(within(t, time.Minute), token); err != nil {
				t.Fatal(err)
			}
			pass()
			for _, id := range numbered("d", documents) {
				if seen[id] != rounds {
					t.Errorf("the follower ends with %d operations of %s, want %d", seen[id], id, rounds)
				}
			}
			return
		default:
			pass()
		}
	}
}
