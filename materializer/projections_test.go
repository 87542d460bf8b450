package materializer_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// Marten #4068: what happens when a fold keeps failing is said for each collection.
// If nothing is said its document is parked, and no operation is skipped; who wants
// all of a collection to stop pauses it.
func TestMarten4068_ParkIsTheDefaultAndStoppingIsAPause(t *testing.T) {
	for _, stop := range []bool{false, true} {
		t.Run(fmt.Sprintf("stop %v", stop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, memory.New(nil), materializer.Config{}, spec())
				tallies := registerTally(t, r.m)
				r.start()
				ctx, done := context.WithCancel(t.Context())
				var g sync.WaitGroup
				if changes := r.texts.Changes(ctx, materializer.Cursor{}); stop {
					g.Go(func() {
						for v, err := range changes {
							if err == nil && v.Parked {
								r.texts.Pause(ctx)
							}
						}
					})
				}
				r.append("bad", "x", "!fail", "y")
				time.Sleep(time.Hour)
				settle()
				r.append("fine", "x")
				token, err := tallies.Append(t.Context(), "other", struct{}{})
				if err != nil {
					t.Fatal(err)
				}
				settle()
				r.wantView("bad", "x", 1, 3)
				r.wantParked("bad", 2, 10, "planted failure")
				if stop {
					r.wantView("fine", "", 0, 1)
					if err := r.texts.Unpause(t.Context()); err != nil {
						t.Fatal(err)
					}
					settle()
				}
				r.wantView("fine", "x", 1, 1)
				if v, err := tallies.Get(within(t, time.Second), "other", materializer.AtLeast(token)); err != nil || v.State != 1 {
					t.Errorf("the other collection: %+v, %v", v, err)
				}
				done()
				g.Wait()
			})
		})
	}
}

// akka-persistence-r2dbc #741, Materialize #19866, yjs #741: what is in memory is
// bounded in bytes, not in operations, and a document much larger than the bound is
// streamed through its fold.
func TestAkkaR2dbc741_Yjs741_LargeDocumentIsStreamed(t *testing.T) {
	const body, operations, budget = 64 << 10, 512, 1 << 20
	st := &meterStore{Backend: openSQLite(t), held: make(map[string]int64)}
	base, most, n := uint64(0), uint64(0), 0
	s := specOf(func(s text, op operation) (text, error) {
		if n++; n%64 == 0 {
			most = max(most, live())
		}
		s.Words, s.Seqs = []string{op.Body.Text[:7]}, nil
		return s, nil
	})
	r := newDeleting(t, st, materializer.Config{Workers: 1, Bytes: budget}, s)
	for i := range operations / 16 {
		all := numbered("w", operations)[16*i : 16*i+16]
		for j := range all {
			all[j] += strings.Repeat("x", body)
		}
		r.append("large", all...)
	}
	base = live()
	r.start()
	if err := r.m.Drain(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := r.halt(); err != nil {
		t.Error(err)
	}
	r.wantView("large", fmt.Sprintf("w%06d", operations-1), operations, operations)
	if st.most > budget {
		t.Errorf("%d bytes of operations were read at a time, want at most %d", st.most, budget)
	}
	if grown := int64(most) - int64(base); grown > 16*budget {
		t.Errorf("%d MiB more in use during the fold of %d MiB, want a few", grown>>20, body*operations>>20)
	}
}

// live is how many bytes are in use after a collection of garbage.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Marten #3080, #5161, polecat #603, commanded #248: who waits waits for a document
// and a version of it, whether it has a view yet or not and whatever comes later,
// and is told at once if it will not get there.
func TestMarten3080_Commanded248_WaitForADocumentAndAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2, Batch: 1}, specOf(h.fold))
		type got struct {
			applied int64
			err     error
			took    time.Duration
		}
		wait := func(id string, token materializer.Token) <-chan got {
			c := make(chan got, 1)
			start := time.Now()
			go func() {
				v, err := r.texts.Get(within(t, time.Hour), id, materializer.AtLeast(token))
				c <- got{v.Applied, err, time.Since(start)}
			}()
			return c
		}
		want := func(what string, c <-chan got, applied int64, err error, took time.Duration) {
			t.Helper()
			g := <-c
			if wantErr(t, g.err, err); g.applied < applied || g.took != took {
				t.Errorf("%s: %d after %v, want %d after %v", what, g.applied, g.took, applied, took)
			}
		}
		// It has no view, and nobody works yet.
		first := r.append("a", "x")
		early := wait("a", first)
		bad := wait("bad", r.append("bad", "x", "!permanent"))
		time.Sleep(time.Minute)
		r.start()
		want("before there was a view", early, 1, nil, time.Minute)
		want("a document that will be parked", bad, 1, materializer.ErrParked, time.Minute)

		// It is always further than its view.
		second := r.append("a", "y", "hold")
		<-h.reached
		pending := wait("a", second)
		r.append("a", "z")
		time.Sleep(time.Minute)
		settle()
		want("what the view has", wait("a", first), 1, nil, 0)
		h.goOn <- struct{}{}
		want("what is in hand", pending, 3, nil, time.Minute)

		// It never gets there, and that is known at once.
		want("a parked document", wait("bad", r.append("bad", "y")), 1, materializer.ErrParked, 0)
		want("no document", wait("nobody", first), 0, materializer.ErrNotFound, 0)
		r.halt()
		want("nobody works any more", wait("a", r.append("a", "late")), 0, materializer.ErrNotRunning, 0)
	})
}

// Marten #5055, #5022: Run may be told to stop as often as one likes, by everybody at
// once, and nothing is written when it has returned, whatever it was doing.
func TestMarten5055_StopIsIdempotentAndNothingIsWrittenAfterIt(t *testing.T) {
	for round := range 8 {
		st := newTap(openSQLite(t))
		r := newDeleting(t, st, materializer.Config{}, spec())
		for _, id := range numbered("d", 200) {
			r.append(id, "x")
		}
		ctx, stop := context.WithCancelCause(t.Context())
		passed := make(chan struct{})
		var once sync.Once
		st.onPoint(func(point string) error {
			if point == []string{atLoad, operations, atCommit, committed}[round%4] {
				once.Do(func() { close(passed) })
			}
			return nil
		})
		done := make(chan error, 1)
		go func() { done <- r.m.Run(ctx) }()
		<-passed
		var g sync.WaitGroup
		for i := range 8 {
			g.Go(func() { stop(fmt.Errorf("stop %d", i)) })
		}
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		writes, left := st.writes(), len(r.dirty())
		g.Wait()
		stop(nil)
		wantErr(t, r.m.Run(t.Context()), materializer.ErrStarted)
		if now := st.writes(); now != writes || len(r.dirty()) != left {
			t.Errorf("%d writes and %d dirty documents after Run returned, %d and %d when it did", now, len(r.dirty()), writes, left)
		}
		r.wantConsistent()
		for range 4 {
			g.Go(func() {
				if err := st.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		g.Wait()
	}
}
