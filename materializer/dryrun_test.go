package materializer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// loud is a state of another type than text.
type loud struct{ Shouts []string }

// shout folds what plain folds, but for some words.
func shout(s loud, op operation) (loud, error) {
	switch op.Body.Text {
	case "!now":
		return s, errPlanted
	case "!never":
		return s, materializer.Permanent(errPlanted)
	}
	s.Shouts = append(s.Shouts, strings.ToUpper(op.Body.Text))
	return s, nil
}

func alike(old text, new loud) bool {
	return slices.EqualFunc(old.Words, new.Shouts, func(a, b string) bool { return strings.EqualFold(a, b) })
}

func TestDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			if op.Body.Text == "!old" || op.Body.Text == "!never" {
				return s, materializer.Permanent(errPlanted)
			}
			return plain(s, op)
		})).start()
		r.append("same", numbered("w", 40)...)
		r.append("failing", "a", "b", "!now", "c")
		r.append("mended", "a", "!old", "b")
		r.append("both", "a", "!never", "b")
		r.append("changing", "a", "x", "b", "c")
		r.append("changing-and-back", "x", "forget", "b")
		r.append("changing-then-parked", "a", "x", "!never")
		settle()
		r.halt()
		before := r.texts.Name()
		candidate := materializer.Spec[loud, word]{Name: before, Version: 7, Fold: func(s loud, op operation) (loud, error) {
			switch op.Body.Text {
			case "x":
				op.Body.Text = "another"
			case "forget":
				return loud{[]string{"x", "forget"}}, nil
			}
			return shout(s, op)
		}}
		run := func(o materializer.VerifyOptions) materializer.DryRunResult {
			t.Helper()
			result, err := materializer.DryRun(context.Background(), r.texts, candidate,
				materializer.DryRunOptions[text, loud]{VerifyOptions: o, Equal: alike})
			if err != nil {
				t.Fatal(err)
			}
			return result
		}
		result := run(materializer.VerifyOptions{})
		var got []string
		for _, d := range result.Differences {
			got = append(got, d.String())
		}
		want := []string{
			"changing: other view at seq 2 of 4",
			"changing-then-parked: other view at seq 2 of 2",
			"failing: failing fold at seq 3 of 4: " + errPlanted.Error(),
			"mended: no failure any more at seq 2 of 3: " + errPlanted.Error(),
		}
		if !slices.Equal(got, want) {
			t.Errorf("differences are\n%q, want\n%q", got, want)
		}
		if result.Documents != 7 || result.Operations != 60 || result.Different != 2 || result.Failing != 1 || result.Mended != 1 {
			t.Errorf("the result is %+v", result)
		}
		if result = run(materializer.VerifyOptions{IDs: []string{"same", "changing", "unknown"}}); result.Documents != 3 || result.Different != 1 {
			t.Errorf("of some documents it is %+v", result)
		}
		if result = run(materializer.VerifyOptions{Most: 1}); len(result.Differences) != 1 || result.Different != 2 {
			t.Errorf("with one reported it is %+v", result)
		}
		collections, err := r.st.Collections(context.Background())
		if err != nil || len(collections) != 1 || collections[0].Version != 1 {
			t.Errorf("the collections are %+v, %v", collections, err)
		}
	})
}

func TestDryRunComparesEncodedViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		r.append("a", "one", "two", "three")
		spoiling := specOf(func(s text, op operation) (text, error) {
			if op.Body.Text == "two" {
				op.Body.Text = "2"
			}
			return plain(s, op)
		})
		for _, c := range []struct {
			candidate textSpec
			want      []int64
		}{{spec(), nil}, {spoiling, []int64{2}}} {
			result, err := materializer.DryRun(t.Context(), r.texts, c.candidate, materializer.DryRunOptions[text, text]{})
			var got []int64
			for _, d := range result.Differences {
				got = append(got, d.Seq)
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("the result is %+v, %v, want differences at %v", result, err, c.want)
			}
		}
	})
}

func TestDryRunRefuses(t *testing.T) {
	r := newRig(t, memory.New(nil), materializer.Config{}, spec())
	r.append("a", "one")
	other := spec()
	other.Name = "others"
	for name, call := range map[string]func(context.Context) error{
		"another name": func(ctx context.Context) error {
			_, err := materializer.DryRun(ctx, r.texts, other, materializer.DryRunOptions[text, text]{})
			return err
		},
		"no fold": func(ctx context.Context) error {
			_, err := materializer.DryRun(ctx, r.texts, specOf(nil), materializer.DryRunOptions[text, text]{})
			return err
		},
		"a negative count": func(ctx context.Context) error {
			o := materializer.DryRunOptions[text, text]{VerifyOptions: materializer.VerifyOptions{Count: -1}}
			_, err := materializer.DryRun(ctx, r.texts, spec(), o)
			return err
		},
	} {
		if err := call(t.Context()); !errors.Is(err, materializer.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errPlanted)
	if _, err := materializer.DryRun(ctx, r.texts, spec(), materializer.DryRunOptions[text, text]{}); !errors.Is(err, errPlanted) {
		t.Errorf("after the end of the context: %v", err)
	}
}
