package materializer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

func TestNewRefuses(t *testing.T) {
	type config = materializer.Config
	for _, c := range []struct {
		cfg  config
		text string
	}{
		{config{Workers: -1}, "refold: Config.Workers: -1, want 0 or more"},
		{config{Queue: -2}, "refold: Config.Queue: -2, want 0 or more"},
		{config{Batch: -3}, "refold: Config.Batch: -3, want 0 or more"},
		{config{Bytes: -4}, "refold: Config.Bytes: -4, want 0 or more"},
		{config{Announcements: -5}, "refold: Config.Announcements: -5, want 0 or more"},
	} {
		m, err := materializer.New(memory.New(nil), c.cfg)
		if m != nil || err == nil || err.Error() != c.text {
			t.Errorf("%+v: got %v, want %s", c.cfg, err, c.text)
		}
		wantErr(t, err, materializer.ErrInvalid)
	}
	_, err := materializer.New(nil, config{})
	if err == nil || err.Error() != "refold: store: nil, want a store" {
		t.Errorf("without a store: got %v", err)
	}
}

// Kinds of operations, by value and by pointer.
type (
	event   interface{ isEvent() }
	created struct{ Name string }
	renamed struct{ To string }
	unknown struct{}
)

func (created) isEvent()  {}
func (*renamed) isEvent() {}
func (unknown) isEvent()  {}

func eventSpec(kinds map[string]event) materializer.Spec[string, event] {
	s := materializer.Spec[string, event]{
		Name: "events", Version: 1,
		Fold: func(s string, op materializer.Operation[event]) (string, error) { return s, nil },
	}
	if kinds != nil {
		s.Operations = materializer.Kinds(kinds)
	}
	return s
}

func TestRegisterRefuses(t *testing.T) {
	good := eventSpec(map[string]event{"created": created{}})
	with := func(change func(s *materializer.Spec[string, event])) materializer.Spec[string, event] {
		s := good
		change(&s)
		return s
	}
	for _, c := range []struct {
		name string
		spec materializer.Spec[string, event]
		text string
	}{
		{"no name", with(func(s *materializer.Spec[string, event]) { s.Name = "" }), `collection name: "", want [a-z]`},
		{"bad name", with(func(s *materializer.Spec[string, event]) { s.Name = "Events" }), `collection name: "Events", want [a-z]`},
		{"no version", with(func(s *materializer.Spec[string, event]) { s.Version = 0 }), "version: 0, want 1 to"},
		{"negative version", with(func(s *materializer.Spec[string, event]) { s.Version = -1 }), "version: -1, want 1 to"},
		{"no fold", with(func(s *materializer.Spec[string, event]) { s.Fold = nil }), "fold of events: nil, want"},
		{"interface without a codec", eventSpec(nil), "operations of events: the interface materializer_test.event without a codec, want Spec.Operations, for example Kinds"},
		{"no kinds", eventSpec(map[string]event{}), "kinds: none, want at least one"},
		{"empty kind", eventSpec(map[string]event{"": created{}}), "kind: 0 bytes, want 1 to 128 bytes"},
		{"long kind", eventSpec(map[string]event{strings.Repeat("k", 129): created{}}), "kind: 129 bytes, want 0 to 128 bytes"},
		{"nil example", eventSpec(map[string]event{"created": nil}), "kind created: nil, want a value of its type"},
		{"type twice", eventSpec(map[string]event{"a": created{}, "b": created{"x"}}), "materializer_test.created, like kind "},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := materializer.New(memory.New(nil), materializer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = materializer.Register(m, c.spec)
			if invalid, ok := errors.AsType[*materializer.InvalidError](err); !ok || !strings.Contains(invalid.Error(), c.text) {
				t.Errorf("got %v, want an InvalidError with %q", err, c.text)
			}
			wantErr(t, err, materializer.ErrInvalid)
			if all, err := m.Unregistered(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("the store has %v, %v, want nothing", all, err)
			}
			if _, err := materializer.Register(m, good); err != nil {
				t.Errorf("mended: %v", err)
			}
		})
	}
}

// A lower version is refused if there is no generation of it, and a higher one starts
// one.
func TestRegisterRefusesALowerVersionByName(t *testing.T) {
	st := memory.New(nil)
	register := func(version int) error {
		m, err := materializer.New(st, materializer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = materializer.Register(m, versioned(version, fold))
		return err
	}
	for _, version := range []int{3, 5, 3} {
		if err := register(version); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
	}
	for _, version := range []int{2, 4} {
		err := register(version)
		wantErr(t, err, materializer.ErrVersion)
		v, ok := errors.AsType[*materializer.VersionError](err)
		if !ok || v.Collection != "texts" || v.Stored != 5 || v.Registered != version || !strings.Contains(err.Error(), "texts") {
			t.Errorf("got %v, want a VersionError with texts, 5 and %d", err, version)
		}
	}
}

func TestRegisterTwiceAndAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		_, err := materializer.Register(r.m, spec())
		if err == nil || err.Error() != "refold: collection: texts at version 1 twice, want each version once" {
			t.Errorf("twice: got %v", err)
		}
		wantErr(t, err, materializer.ErrInvalid)
		r.start()
		settle()
		late := spec()
		late.Name = "late"
		_, err = materializer.Register(r.m, late)
		wantErr(t, err, materializer.ErrStarted)
		if all, err := r.m.Unregistered(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("a refused collection was left in the store: %v, %v", all, err)
		}
		r.halt()
		_, err = materializer.Register(r.m, late)
		wantErr(t, err, materializer.ErrStarted)
		if got := r.texts.Name(); got != "texts" {
			t.Errorf("name %q, want texts", got)
		}
	})
}

func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		settle()
		wantErr(t, r.m.Run(t.Context()), materializer.ErrStarted)
		if err := r.m.Wait(t.Context(), r.append("a", "x")); err != nil {
			t.Errorf("the first one is disturbed: %v", err)
		}
		if err := r.halt(); err != nil {
			t.Error(err)
		}
		wantErr(t, r.m.Run(t.Context()), materializer.ErrStarted)
	})
}

// Two materializers on one store are refused, and the second may run when the
// first has ended. Who waits at it meanwhile goes on waiting.
func TestTwoMaterializersOnOneStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		first := newRig(t, st, materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			return s, materializer.RetryAfter(1<<40, errPlanted)
		})).start()
		settle()
		second := newRig(t, st, materializer.Config{}, spec())
		token := second.append("a", "x")
		got := make(chan error)
		go func() {
			_, err := second.texts.Get(t.Context(), "a", materializer.AtLeast(token))
			got <- err
		}()
		settle()
		for range 2 {
			wantErr(t, second.m.Run(t.Context()), materializer.ErrClaimed)
		}
		if err := first.halt(); err != nil {
			t.Error(err)
		}
		second.start()
		if err := <-got; err != nil {
			t.Errorf("who waited: %v", err)
		}
		second.wantView("a", "x", 1, 1)
	})
}

// A context that ended before Run is a clean stop like any other.
func TestRunWithAContextThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		token := r.append("a", "x")
		got := make(chan error, 1)
		go func() {
			_, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
			got <- err
		}()
		r.stop(errPlanted) // before or after Run looks
		if err := <-r.done; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		if err := <-got; err != nil {
			wantErr(t, err, materializer.ErrNotRunning)
		}
		r.stop = nil
		st := newTap(memory.New(nil))
		never := newRig(t, st, materializer.Config{}, spec())
		ctx := within(t, -1)
		if err := never.m.Run(ctx); err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		if points := fmt.Sprint(st.passed()); points != "[]" {
			t.Errorf("it came to %s, want nothing done", points)
		}
		_, err := never.texts.Get(t.Context(), "a", materializer.AtLeast(never.append("a", "x")))
		wantErr(t, err, materializer.ErrNotRunning)
	})
}
