package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

type failingWords struct{ jsonWords }

func (c failingWords) Encode(op word) (string, []byte, error) {
	if op.Text == "!encode" {
		return "", nil, errPlanted
	}
	return c.jsonWords.Encode(op)
}

// F17: an append that returned an error other than in doubt has stored nothing,
// of any of its documents.
func TestF17_RefusedAppendStoresNothing(t *testing.T) {
	good := word{"x"}
	head := func(c materializer.Change, seq int64) materializer.Change { return c.ExpectHead(seq) }
	type texts = materializer.Collection[text, word]
	with := func(c *texts, op materializer.NewOperation[word]) materializer.Change { return c.ChangeWith("b", op) }
	for _, c := range []struct {
		name   string
		bad    func(c *texts) materializer.Change
		target error
		says   string
	}{
		{"document id", func(c *texts) materializer.Change { return c.Change("", good) }, materializer.ErrInvalid, "document id"},
		{"document id with NUL", func(c *texts) materializer.Change { return c.Change("a\x00", good) }, materializer.ErrInvalid, "NUL"},
		{"no operation", func(c *texts) materializer.Change { return c.Change("b") }, materializer.ErrInvalid, "texts/b"},
		{"document twice", func(c *texts) materializer.Change { return c.Change("a", good) }, materializer.ErrInvalid, "texts/a twice"},
		{"body", func(c *texts) materializer.Change { return c.Change("b", word{strings.Repeat("x", 2000)}) }, materializer.ErrInvalid, "operation 1 for texts/b: body"},
		{"operation id", func(c *texts) materializer.Change {
			return with(c, materializer.NewOperation[word]{ID: strings.Repeat("i", 256), Body: good})
		}, materializer.ErrInvalid, "operation 1 for texts/b: id"},
		{"meta", func(c *texts) materializer.Change {
			return with(c, materializer.NewOperation[word]{Meta: make([]byte, 64<<10+1), Body: good})
		}, materializer.ErrInvalid, "operation 1 for texts/b: meta"},
		{"time", func(c *texts) materializer.Change {
			return with(c, materializer.NewOperation[word]{Time: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), Body: good})
		}, materializer.ErrInvalid, "operation 1 for texts/b: time"},
		{"head of a new document", func(c *texts) materializer.Change { return head(c.Change("b", good), 1) }, materializer.ErrConflict, "head of texts/b is 0, expected 1"},
		{"head of an old document", func(c *texts) materializer.Change { return head(c.Change("old", good), 0) }, materializer.ErrConflict, "head of texts/old is 1, expected 0"},
		{"negative head", func(c *texts) materializer.Change { return head(c.Change("b", good), -1) }, materializer.ErrInvalid, "expected head of texts/b"},
		{"id of another operation", func(c *texts) materializer.Change {
			return c.ChangeWith("old", materializer.NewOperation[word]{ID: "first", Body: word{"y"}})
		}, materializer.ErrIDReused, `"first" of texts/old is that of seq 1`},
		{"encoding", func(c *texts) materializer.Change { return c.Change("b", good, word{"!encode"}) }, errPlanted, "operation 2 for texts/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newTap(memory.New(&memory.Options{MaxBody: 1000}))
				s := spec()
				s.Operations = failingWords{}
				r := newRig(t, st, materializer.Config{}, s).start()
				if _, err := r.m.Append(t.Context(), r.texts.ChangeWith("old", materializer.NewOperation[word]{ID: "first", Body: good})); err != nil {
					t.Fatal(err)
				}
				r.wantNothingStored(func() error {
					appended, err := r.m.Append(t.Context(), r.texts.Change("a", good, good), c.bad(r.texts))
					if len(appended.Documents) != 0 || !appended.Token.IsZero() {
						t.Errorf("got %+v with the error, want nothing", appended)
					}
					if err != nil && !strings.Contains(err.Error(), c.says) {
						t.Errorf("error %q, want %q in it", err, c.says)
					}
					return err
				}, c.target)
			})
		})
	}
}

// F17, for what is not the input's fault.
func TestF17_FailedAppendStoresNothing(t *testing.T) {
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errPlanted)
	for _, c := range []struct {
		name    string
		ctx     context.Context
		hook    error
		targets []error
	}{
		{"context", ended, nil, []error{materializer.ErrBusy, errPlanted}},
		{"full", context.Background(), fmt.Errorf("%w: disk", store.ErrFull), []error{materializer.ErrFull}},
		{"busy", context.Background(), store.ErrBusy, []error{materializer.ErrBusy}},
		{"any other", context.Background(), errPlanted, []error{errPlanted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{}, spec()).start()
				settle()
				st.on(atAppend, func() error { return c.hook })
				r.wantNothingStored(func() error {
					token, err := r.texts.Append(c.ctx, "a", word{"x"})
					if !token.IsZero() {
						t.Errorf("token %v with the error, want the zero one", token)
					}
					return err
				}, c.targets...)
			})
		})
	}
	t.Run("closed", func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		r.st.Close()
		_, err := r.texts.Append(t.Context(), "a", word{"x"})
		wantErr(t, err, materializer.ErrClosed)
	})
	t.Run("nothing to append", func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		r.wantNothingStored(func() error {
			_, err := r.m.Append(t.Context())
			return err
		}, materializer.ErrInvalid)
	})
}

// wantNothingStored checks that a call fails with the errors and leaves the
// store as it was.
func (r *rig) wantNothingStored(f func() error, targets ...error) {
	r.t.Helper()
	settleIn(r)
	before := r.contents()
	err := f()
	for _, target := range targets {
		wantErr(r.t, err, target)
	}
	if errors.Is(err, materializer.ErrInDoubt) {
		r.t.Errorf("%v is in doubt", err)
	}
	settleIn(r)
	if after := r.contents(); after != before {
		r.t.Errorf("after %v the store has\n%s, want\n%s", err, after, before)
	}
}

// contents tells what is in the store.
func (r *rig) contents() string {
	r.t.Helper()
	s := fmt.Sprintln(r.end())
	for doc, err := range untapped(r.st).Scan(context.Background(), "texts", "", store.WithViews) {
		if err != nil {
			r.t.Fatal(err)
		}
		s += fmt.Sprintf("%+v\n", doc)
	}
	return s
}

func settleIn(r *rig) {
	if r.stop != nil {
		settle()
	}
}

// An append that is in doubt and was stored becomes a view without anybody's
// word, and sending it again adds nothing.
func TestAppendInDoubtThatWasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec()).start()
		settle()
		st.on(appended, func() error { return store.ErrInDoubt })
		change := r.texts.ChangeWith("a", materializer.NewOperation[word]{ID: "1", Body: word{"x"}}).ExpectHead(0)
		_, err := r.m.Append(t.Context(), change)
		wantErr(t, err, materializer.ErrInDoubt)
		settle()
		r.wantView("a", "x", 1, 1)

		again, err := r.m.Append(t.Context(), change)
		if err != nil || !again.Documents[0].Operations[0].Duplicate || again.Documents[0].Head != 1 {
			t.Errorf("sent again: %+v, %v, want the duplicate at seq 1", again, err)
		}
		settle()
		r.wantView("a", "x", 1, 1)
	})
}
