package materializer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

func TestKinds(t *testing.T) {
	codec := materializer.Kinds(map[string]event{"created": created{"example"}, "renamed": (*renamed)(nil)})
	for _, c := range []struct {
		op         event
		kind, body string
	}{
		{created{"x"}, "created", `{"Name":"x"}`},
		{&renamed{"y"}, "renamed", `{"To":"y"}`},
	} {
		kind, body, err := codec.Encode(c.op)
		if err != nil || kind != c.kind || string(body) != c.body {
			t.Errorf("encoded %#v: got %s %s, %v, want %s %s", c.op, kind, body, err, c.kind, c.body)
		}
		op, err := codec.Decode(c.kind, []byte(c.body))
		if got, want := fmt.Sprintf("%T %+v", op, op), fmt.Sprintf("%T %+v", c.op, c.op); err != nil || got != want {
			t.Errorf("decoded %s: got %s, %v, want %s", c.kind, got, err, want)
		}
	}
	// A pointer gets memory of its own each time, never the example's.
	a, _ := codec.Decode("renamed", []byte(`{"To":"a"}`))
	b, _ := codec.Decode("renamed", []byte(`{}`))
	if a.(*renamed).To != "a" || b.(*renamed).To != "" {
		t.Errorf("got %+v and %+v, want a and nothing", a, b)
	}

	if op, err := codec.Decode("renamed", []byte(`null`)); err != nil || op.(*renamed) == nil {
		t.Errorf("decoded null: got %#v, %v, want a pointer to something", op, err)
	}

	for _, op := range []event{unknown{}, nil} {
		_, _, err := codec.Encode(op)
		wantErr(t, err, materializer.ErrInvalid)
		if want := fmt.Sprintf("refold: operation: type %T, want a type that Kinds names", op); err == nil || err.Error() != want {
			t.Errorf("encoded %T: got %v, want %s", op, err, want)
		}
	}
	_, err := codec.Decode("deleted", []byte(`{}`))
	wantErr(t, err, materializer.ErrUnknownKind)
	if err == nil || !strings.Contains(err.Error(), `"deleted"`) {
		t.Errorf("got %v, want an error that names the kind", err)
	}
	if _, err = codec.Decode("created", []byte(`{`)); err == nil {
		t.Error("decoded a body that is cut off")
	}
}

func TestKindsFromAppendToView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := materializer.New(memory.New(nil), materializer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := eventSpec(map[string]event{"created": created{}, "renamed": &renamed{}})
		s.Fold = func(s string, op materializer.Operation[event]) (string, error) {
			switch e := op.Body.(type) {
			case created:
				return s + op.Kind + "=" + e.Name, nil
			case *renamed:
				return s + " " + op.Kind + "=" + e.To, nil
			}
			return s, errors.New("what is this?")
		}
		events, err := materializer.Register(m, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = events.Append(t.Context(), "a", created{"x"}, unknown{}); err == nil {
			t.Error("appended an operation that has no kind")
		} else if want := "refold: encoding operation 2 for events/a: "; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %q, want it to begin with %q", err, want)
		}
		if _, err = events.Append(t.Context(), "a", created{"x"}, &renamed{"y"}); err != nil {
			t.Fatal(err)
		}
		v, err := events.Latest(t.Context(), "a")
		if want := "created=x renamed=y"; err != nil || v.State != want {
			t.Errorf("got %+v, %v, want %s", v, err, want)
		}
	})
}

// errorViews cannot encode a text with the word "!codec".
type errorViews struct{ jsonTexts }

func (c errorViews) Encode(s text) ([]byte, error) {
	for _, w := range s.Words {
		if w == "!codec" {
			return nil, errPlanted
		}
	}
	return c.jsonTexts.Encode(s)
}

// A state that cannot be encoded fails the operation that made it, which the
// next runs close in on; what comes before is kept.
func TestViewThatCannotBeEncoded(t *testing.T) {
	for _, at := range []int{0, 1, 7, 31} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := spec()
				s.Views = errorViews{}
				s.Retry.Attempts = 3
				r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
				words := numbered("w", 32)
				words[at] = "!codec"
				err := r.m.Wait(t.Context(), r.append("a", words...))
				wantErr(t, err, materializer.ErrParked)
				r.wantParked("a", int64(at+1), 3, "encoding the view: planted failure")
				r.wantView("a", strings.Join(words[:at], " "), int64(at), 32)
			})
		})
	}
}

// A stored view that cannot be decoded parks its document, and no other.
func TestViewThatCannotBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		r.append("a", "x", "y")
		r.append("b", "x")
		if _, err := r.st.Commit(t.Context(), []store.Commit{{Key: key("a"), Applied: 1, View: []byte("{")}}); err != nil {
			t.Fatal(err)
		}
		r.start()
		err := r.m.Wait(t.Context(), r.end())
		wantErr(t, err, materializer.ErrParked)
		r.wantView("b", "x", 1, 1)
		if f := r.load("a").Failure; f == nil || f.Seq != 2 || !strings.Contains(f.Error, "decoding the stored view") {
			t.Errorf("failure %+v, want one at 2 that says why", f)
		}
		r.halt()
		r.st.Close() // so that the broken view is not checked
	})
}

// An empty encoding is a view like any other.
type emptyViews struct{}

func (emptyViews) Encode(text) ([]byte, error) { return nil, nil }

func (emptyViews) Decode(view []byte) (text, error) {
	if view == nil {
		return text{}, errors.New("there is no view")
	}
	return text{}, nil
}

func TestEmptyView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec()
		s.Views = emptyViews{}
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, s).start()
		for range 2 {
			if _, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(r.append("a", "x"))); err != nil {
				t.Error(err)
			}
		}
		for _, c := range st.commitsOf("a") {
			if c.View == nil {
				t.Errorf("commit at %d without a view", c.Applied)
			}
		}
		r.halt()
		r.st.Close() // these views are not what is checked
	})
}
