package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// The points of a rebuild.
const (
	atStep   = "before a step of a generation"
	stepDone = "after a step of a generation"
)

// steps is a tap that stands also at what makes and drops generations.
type steps struct{ *tap }

func (s *steps) step(f func() error) error {
	_, err := call(s.tap, atStep, stepDone, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (s *steps) Register(ctx context.Context, name string, version int) error {
	return s.step(func() error { return s.Backend.Register(ctx, name, version) })
}

func (s *steps) Fill(ctx context.Context, name string) (more bool, err error) {
	err = s.step(func() (err error) { more, err = s.Backend.Fill(ctx, name); return err })
	return more, err
}

func (s *steps) Switch(ctx context.Context, name string, terms store.SwitchTerms) (o store.Obstacle, err error) {
	err = s.step(func() (err error) { o, err = s.Backend.Switch(ctx, name, terms); return err })
	return o, err
}

func (s *steps) Hold(ctx context.Context, name string, mine time.Time, d time.Duration) (until time.Time, err error) {
	err = s.step(func() (err error) {
		until, err = s.Backend.Hold(ctx, name, mine, d)
		return err
	})
	return until, err
}

func (s *steps) Retire(ctx context.Context, name string) error {
	return s.step(func() error { return s.Backend.Retire(ctx, name) })
}

func (s *steps) Sweep(ctx context.Context) (more bool, err error) {
	err = s.step(func() (err error) { more, err = s.Backend.Sweep(ctx); return err })
	return more, err
}

// F11 to F13: a process that dies before or behind any step of a rebuild, from the
// registration to the end of what was kept, loses nothing and repeats nothing: the next
// one goes on, and what is served is never half-built.
func TestF13_CrashAtAnyStepOfARebuild(t *testing.T) {
	for _, cfg := range []materializer.Config{{}, {Shared: true}} {
		die, step := 1, 1
		if testing.Short() {
			step = 6
		}
		for crashesAt(t, cfg, die) {
			die += step
		}
		if die < 12 {
			t.Errorf("shared %v: there were fewer than %d steps to die at, want more", cfg.Shared, die)
		}
	}
}

// crashesAt lets a process die at one point, and reports whether it came to it.
func crashesAt(t *testing.T, cfg materializer.Config, die int) (died bool) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New(nil)
		old := newProcess(t, inner, cfg, upTo(fold)).start()
		for i := range 150 { // two slices of rows
			old.append(fmt.Sprint("d", i), "a", "b")
		}
		if err := old.m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		old.halt()

		st := &steps{newTap(inner)}
		var passed atomic.Int64
		st.onPoint(func(point string) error {
			if point == atStep || point == stepDone || point == atCommit || point == committed {
				if passed.Add(1) == int64(die) {
					died = true
					return st.kill()
				}
			}
			return nil
		})
		// The fold of the old version lives and dies with the new one.
		newer := versioned(2, upper)
		newer.KeepFor = time.Minute
		m, err := materializer.New(st, cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := &process{rig: &rig{t: t, st: st, m: m}}
		for _, spec := range []textSpec{spec(), newer} {
			if p.texts, err = materializer.Register(m, spec); err != nil && !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			if err != nil {
				break
			}
		}
		reader := newProcess(t, inner, cfg, upTo(fold))
		last := 0
		look := func() {
			t.Helper()
			for v, err := range reader.texts.All(t.Context()) {
				words := v.State.String()
				of := map[int]string{1: strings.ToLower(words), 2: strings.ToUpper(words)}[v.Version]
				if err != nil || v.Version < last || words != of || int(v.Applied) != len(v.State.Words) || v.Applied < 2 && v.ID[0] == 'd' {
					t.Errorf("dead at %d: read %+v, %v after version %d", die, v, err, last)
				}
				last = v.Version
			}
		}
		if err == nil {
			p.start()
			for i := range 20 {
				reader.append(fmt.Sprint("d", i*7), "c")
				reader.append(fmt.Sprint("new", i), "x", "y")
				time.Sleep(time.Duration(1+i*i) * time.Millisecond)
				look()
			}
			time.Sleep(2 * time.Minute)
			look()
			p.halt()
		}
		next, err := materializer.New(inner, cfg)
		if err != nil {
			t.Fatal(err)
		}
		q := &process{rig: &rig{t: t, st: inner, m: next}}
		if q.texts, err = materializer.Register(next, newer); err != nil {
			t.Fatal(err)
		}
		q.start()
		time.Sleep(3 * time.Minute)
		look()
		q.mustBe("2 serving")
		q.mustEqualFromScratch(2, upper)
		if h, err := next.Health(t.Context()); err != nil || h.Dirty+h.Building+h.Parked != 0 {
			t.Errorf("dead at %d: health is %+v, %v", die, h, err)
		}
		q.halt()
	})
	return died
}
