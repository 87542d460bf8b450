package materializer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/rs/zerolog"
)

func TestHealthCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec()
		s.Retry = materializer.Retry{First: 1000 * time.Hour, Cap: 1000 * time.Hour}
		r := newRig(t, memory.New(nil), materializer.Config{}, s)
		r.append("fine", "x")
		start := time.Now()
		r.append("failing", "x", "!fail")
		r.append("parked1", "!permanent")
		r.append("parked2", "!permanent")
		if _, err := r.st.Append(t.Context(), []store.Append{
			{Key: store.Key{Collection: "others", ID: "a"}, Entries: []store.Entry{{}}},
			{Key: store.Key{Collection: "others", ID: "b"}, Entries: []store.Entry{{}}},
			{Key: store.Key{Collection: "others", ID: "c"}, Entries: []store.Entry{{}}},
		}); err != nil {
			t.Fatal(err)
		}
		h, err := r.m.Health(t.Context())
		if err != nil || h.Running || h.Dirty != 4 || h.Unregistered != 3 || h.Oldest != key("fine") || h.Position != 1 {
			t.Errorf("before Run: %+v, %v", h, err)
		}
		r.start()
		settle()
		time.Sleep(10 * time.Minute)
		h, err = r.m.Health(t.Context())
		if err != nil || !h.Running || h.Dirty != 1 || h.Waiting != 1 || h.Parked != 2 || h.Unregistered != 3 || h.Paused != 0 {
			t.Errorf("health %+v, %v, want 1 dirty and waiting, 2 parked, 3 unregistered", h, err)
		}
		if h.Oldest != key("failing") || h.Position != 3 || !h.Since.Equal(start) || h.Age != 10*time.Minute {
			t.Errorf("the oldest is %s at %d since %s, %v old, want failing at 3, 10 minutes old", h.Oldest, h.Position, h.Since, h.Age)
		}
		if len(h.Collections) != 2 || h.Collections[0].Registered || !h.Collections[1].Registered || h.Collections[1].OldestParked != key("parked1") {
			t.Errorf("collections %+v", h.Collections)
		}
		if h.Stats.Delayed != 1 {
			t.Errorf("%d delayed, want 1", h.Stats.Delayed)
		}
	})
}

// A row that could run, seen twice with nobody working on it: it is said so, in
// the error and in the log, and repaired.
func TestOverlookedDocument(t *testing.T) {
	for _, by := range []string{"Health", "the sweep"} {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logged
				r := newRig(t, memory.New(nil), materializer.Config{Logger: zerolog.New(&log)}, spec()).start()
				settle()
				r.appendUnannounced("a", "x")
				if by == "the sweep" {
					time.Sleep(30 * time.Second)
				} else {
					for range 2 {
						if _, err := r.m.Health(t.Context()); err != nil {
							t.Errorf("seen once, or twice at once: %v", err)
						}
					}
					time.Sleep(2 * time.Second)
					_, err := r.m.Health(t.Context())
					wantErr(t, err, materializer.ErrOverlooked)
					if o, ok := errors.AsType[*materializer.OverlookedError](err); !ok || len(o.Documents) != 1 || o.Documents[0] != key("a") {
						t.Errorf("got %v, want an error that names a", err)
					}
				}
				settle()
				r.wantView("a", "x", 1, 1)
				lines := log.with(t, "a document was dirty and nobody worked on it: it is queued now")
				wantLine(t, lines, map[string]any{"level": "warn", "collection": "texts", "document": "a"})
				if got := r.m.Stats().Overlooked; got != 1 {
					t.Errorf("%d overlooked, want 1", got)
				}
				if _, err := r.m.Health(t.Context()); err != nil {
					t.Errorf("after it was repaired: %v", err)
				}
			})
		})
	}
}

// Documents that run, wait, are paused, parked or do not fit into the table are
// not overlooked, however long.
func TestBusyDocumentsAreNotOverlooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Queue: 4, Workers: 1, Batch: 1, Grace: -1, Logger: zerolog.New(&log).Level(zerolog.WarnLevel)}, specOf(h.fold)).start()
		r.append("failing", "!fail")
		r.append("parked", "!permanent")
		settle()
		for i, id := range numbered("d", 40) {
			if i%2 == 0 {
				r.append(id, "hold")
			} else {
				r.append(id, "x")
			}
		}
		for range 30 {
			time.Sleep(7 * time.Second)
			select {
			case <-h.reached:
			default:
			}
			if _, err := r.m.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if lines := log.with(t, "a document was dirty and nobody worked on it: it is queued now"); len(lines) > 0 {
			t.Errorf("%d documents are said to have been overlooked", len(lines))
		}
		go func() {
			for range h.reached {
			}
		}()
		close(h.goOn)
		time.Sleep(time.Minute)
		settle()
		close(h.reached)
	})
}

// unwell is a store that says so.
type unwell struct {
	store.Backend
	err error
}

func (s unwell) Check(context.Context) error { return s.err }

func TestHealthAsksTheStore(t *testing.T) {
	errWAL := errors.New("the write-ahead log only grows")
	r := newRig(t, unwell{memory.New(nil), errWAL}, materializer.Config{}, spec())
	r.append("a", "x")
	h, err := r.m.Health(t.Context())
	wantErr(t, err, errWAL)
	if h.Dirty != 1 {
		t.Errorf("%+v: want the counts also of a store that is not well", h)
	}
	r.st = memory.New(nil)
	st := memory.New(nil)
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	_, err = m.Health(t.Context())
	wantErr(t, err, materializer.ErrClosed)
}
