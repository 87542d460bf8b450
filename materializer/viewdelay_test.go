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
)

// timed is a store that keeps until when its last commit may wait, and whose clock is ahead.
type timed struct {
	*memory.Store
	ahead time.Duration
	by    time.Time
}

func (s *timed) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	docs, err := s.Store.Load(ctx, keys, parts)
	for i := range docs {
		docs[i].Since.Time = docs[i].Since.Time.Add(s.ahead)
	}
	return docs, err
}

func (s *timed) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	s.by = commits[0].By
	return s.Store.Commit(ctx, commits)
}

// A view may wait for what else is to be written until its first operation is as old as
// Config.ViewDelay says, unless somebody waits for it or Run is to end. In each row the document
// is loaded 100 ms after its operation was stored.
func TestViewDelay(t *testing.T) {
	const old = 100 * time.Millisecond
	second := materializer.Config{ViewDelay: time.Second}
	for _, row := range []struct {
		name   string
		cfg    materializer.Config
		ahead  time.Duration
		waited bool          // somebody waits for the view
		ending bool          // Run was told to stop
		want   time.Duration // from the operation; 0 is not at all
	}{
		{name: "default"},
		{name: "a second", cfg: second, want: time.Second},
		{name: "overdue", cfg: materializer.Config{ViewDelay: time.Millisecond}, want: time.Millisecond},
		{name: "shared", cfg: materializer.Config{ViewDelay: time.Minute, Shared: true, Lease: 4 * time.Second}, want: time.Second},
		{name: "waited for", cfg: second, waited: true},
		{name: "ending", cfg: second, ending: true},
		{name: "a clock that is ahead", cfg: second, ahead: time.Hour, want: old + time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, h := &timed{Store: memory.New(nil), ahead: row.ahead}, newHold()
				row.cfg.Workers = 1
				r := newRig(t, st, row.cfg, specOf(h.fold))
				began := time.Now()
				token := r.append("a", "hold")
				time.Sleep(old)
				r.start()
				<-h.reached
				read := make(chan error, 1)
				if row.waited {
					go func() {
						_, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
						read <- err
					}()
					settle()
				}
				if row.ending {
					r.stop(nil)
					settle()
				}
				close(h.goOn)
				settle()
				want := began.Add(row.want)
				if row.want == 0 {
					want = time.Time{}
				}
				if !st.by.Equal(want) {
					t.Errorf("the view may wait until %v, want %v", st.by, want)
				}
				if row.waited {
					if err := <-read; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Views of a generation that is built do not wait: it is to catch up.
func TestViewDelayIsNotForWhatIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &timed{Store: memory.New(nil)}
		cfg := materializer.Config{Workers: 2, ViewDelay: time.Minute}
		old := newProcess(t, st, cfg, upTo(fold)).start()
		old.append("a", "x")
		settle()
		if st.by.IsZero() {
			t.Error("a view that is served does not wait")
		}
		old.halt()
		p := newProcess(t, st, cfg, upTo(fold, fold)).start()
		settle()
		time.Sleep(time.Second)
		settle()
		if g := must(p.m.Generations(t.Context(), "texts"))(t)[1]; g.State != materializer.Serving || !st.by.IsZero() {
			t.Errorf("the second generation is %v, and its view may wait until %v", g.State, st.by)
		}
	})
}

func TestViewDelayIsAMinuteAtTheMost(t *testing.T) {
	st := memory.New(nil)
	for _, d := range []time.Duration{-1, time.Minute + 1} {
		if _, err := materializer.New(st, materializer.Config{ViewDelay: d}); !errors.Is(err, materializer.ErrInvalid) {
			t.Errorf("New with %v: %v", d, err)
		}
	}
	if _, err := materializer.New(st, materializer.Config{ViewDelay: time.Minute}); err != nil {
		t.Error(err)
	}
}
