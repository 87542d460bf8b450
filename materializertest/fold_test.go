package materializertest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/materializertest"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

func TestSoundFold(t *testing.T) {
	materializertest.CheckFold(t, accounts(), sample(), nil)
	synctest.Test(t, func(t *testing.T) { materializertest.CheckFold(t, accounts(), sample(), nil) })
}

// codec is a view codec of two functions.
type codec[S any] struct {
	encode func(S) ([]byte, error)
	decode func([]byte) (S, error)
}

func (c codec[S]) Encode(s S) ([]byte, error)    { return c.encode(s) }
func (c codec[S]) Decode(view []byte) (S, error) { return c.decode(view) }

func decodeJSON[S any](view []byte) (s S, err error) {
	err = json.Unmarshal(view, &s)
	return s, err
}

// operations is JSON for operations, with something wrong about it.
type operations struct {
	decode func(kind string, body []byte) (deposit, error)
}

func (operations) Encode(d deposit) (string, []byte, error) {
	body, err := json.Marshal(d)
	return "deposit", body, err
}

func (o operations) Decode(kind string, body []byte) (deposit, error) { return o.decode(kind, body) }

func withViews(c codec[account]) spec {
	s := accounts()
	s.Views = c
	return s
}

func withOperations(decode func(kind string, body []byte) (deposit, error)) spec {
	s := accounts()
	s.Operations = operations{decode}
	return s
}

// Mistakes that folds and codecs have, and what is said of them.
func TestMistakes(t *testing.T) {
	var counter atomic.Int64
	shared := make([]string, 0, 16)
	cache := map[string][]string{}
	for _, c := range []struct {
		name string
		spec spec
		want []string
	}{
		{"the clock", with(func(a account, op operation) (account, error) {
			a.Balance += op.Body.Amount
			if op.Seq == 2 {
				a.Tags = append(a.Tags, time.Now().Format(time.RFC3339Nano))
			}
			return a, nil
		}), []string{"document ann at seq 2, ", "Amount:-30", "another one when folded again", "\twant ", "\t got "}},
		{"a captured counter", with(func(a account, op operation) (account, error) {
			a.Balance = int(counter.Add(1))
			return a, nil
		}), []string{"document ann at seq 1, ", "another one when folded again", `want {"Balance":1}`, `got {"Balance":9}`}},
		{"a slice of all", with(func(a account, op operation) (account, error) {
			if op.Seq == 1 {
				a.Tags = shared
			}
			a.Tags = append(a.Tags, op.Document)
			return a, nil
		}), []string{"document ann at seq 3, ", "they share memory", "eve"}},
		{"a state that is kept", with(func(a account, op operation) (account, error) {
			a.Tags = append(cache[op.Document], fmt.Sprint(op.Seq))
			cache[op.Document] = a.Tags
			return a, nil
		}), []string{"document ann at seq 1, ", "another one when folded again"}},
		{"an operation is changed", with(func(a account, op operation) (account, error) {
			slices.Sort(op.Body.Tags)
			return fold(a, op)
		}), []string{"document ann at seq 3, ", "changes the operation in place", `["cash","gift"]`}},
		{"an error that comes once", with(func(a account, op operation) (account, error) {
			if counter.Add(1) == 24 {
				return a, errors.New("out of luck")
			}
			return a, nil
		}), []string{"document eve at seq 4, ", "although it folded before", "out of luck"}},
		{"an error", with(func(a account, op operation) (account, error) {
			if op.Seq == 4 {
				return a, errOverdrawn
			}
			return a, nil
		}), []string{"document eve at seq 4, ", "overdrawn"}},
		{"a panic", with(func(a account, op operation) (account, error) {
			panic("no such account")
		}), []string{"document ann at seq 1, ", "panic: no such account"}},
		{"views in the order of a map", withViews(codec[account]{
			encode: func(a account) ([]byte, error) {
				all := map[string]int{"balance": a.Balance, "tags": len(a.Tags), "more": 1}
				var b strings.Builder
				for k, v := range all {
					fmt.Fprintf(&b, "%s=%d;", k, v)
				}
				return []byte(b.String()), nil
			},
			decode: decodeJSON[account],
		}), []string{"document ann at seq 1, ", "not deterministic"}},
		{"views that lack something", withViews(codec[account]{
			encode: func(a account) ([]byte, error) { return json.Marshal(account{Balance: a.Balance}) },
			decode: decodeJSON[account],
		}), []string{"document ann at seq 2, ", "the view codec loses something", `"rent"`}},
		{"views that keep their bytes", withViews(codec[account]{
			encode: func(a account) ([]byte, error) { return []byte(strings.Join(a.Tags, ",")), nil },
			decode: func(view []byte) (a account, err error) {
				for tag := range bytes.SplitSeq(view, []byte(",")) {
					a.Tags = append(a.Tags, unsafeString(tag))
				}
				return a, nil
			},
		}), []string{"loses something"}},
		{"broken views are taken for none", withViews(codec[account]{
			encode: func(a account) ([]byte, error) { return json.Marshal(a) },
			decode: func(view []byte) (a account, _ error) {
				_ = json.Unmarshal(view, &a)
				return a, nil
			},
		}), []string{"document ann at seq 1, ", "the view codec swallows an error"}},
		{"views that cannot be encoded", withViews(codec[account]{
			encode: func(a account) ([]byte, error) { return nil, errors.New("no ink") },
			decode: decodeJSON[account],
		}), []string{"encoding the view of document ann at seq 1, ", "no ink"}},
		{"views that cannot be decoded", withViews(codec[account]{
			encode: func(a account) ([]byte, error) { return json.Marshal(a) },
			decode: func([]byte) (a account, err error) { return a, errors.New("no glasses") },
		}), []string{"decoding the view of document ann at seq 1, ", "no glasses"}},
		{"kinds that nobody knows", withOperations(func(_ string, body []byte) (d deposit, err error) {
			err = json.Unmarshal(body, &d)
			return d, err
		}), []string{"document ann at seq 1, ", "ErrUnknownKind", "the error <nil>"}},
		{"broken operations are taken for none", withOperations(func(kind string, body []byte) (d deposit, _ error) {
			if kind != "deposit" {
				return d, materializer.ErrUnknownKind
			}
			_ = json.Unmarshal(body, &d)
			return d, nil
		}), []string{"document ann at seq 1, ", "the operation codec swallows an error"}},
		{"operations that lack something", withOperations(func(kind string, body []byte) (d deposit, err error) {
			if kind != "deposit" {
				return d, materializer.ErrUnknownKind
			}
			err = json.Unmarshal(body, &d)
			d.Tags = nil
			return d, err
		}), []string{"document ann at seq 2, ", "the operation codec loses something", `"rent"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			counter.Store(0)
			wantFailure(t, append(c.want, "materializertest: collection accounts: "), func(t materializertest.TB) {
				materializertest.CheckFold(t, c.spec, sample(), nil)
			})
		})
	}
}

// unsafeString is how to save a copy too many.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// What JSON does not keep of a struct is lost when the state is stored.
func TestUnexportedField(t *testing.T) {
	type hidden struct {
		Balance int
		seen    int
	}
	s := materializer.Spec[hidden, deposit]{Name: "hidden", Version: 1, Fold: func(h hidden, op operation) (hidden, error) {
		h.seen++
		h.Balance = h.seen
		return h, nil
	}}
	wantFailure(t, []string{"document ann at seq 1, ", "the view codec loses something", "seen"}, func(t materializertest.TB) {
		materializertest.CheckFold(t, s, sample(), nil)
	})
}

// A day that the fold asks for is another one a year later, but only in a bubble
// does that cost nothing.
func TestDayOfTheClock(t *testing.T) {
	daily := with(func(a account, op operation) (account, error) {
		a.Tags = append(a.Tags, time.Now().Format(time.DateOnly))
		return a, nil
	})
	synctest.Test(t, func(t *testing.T) {
		wantFailure(t, []string{"document ann at seq 1, ", "2000-01-01", "2001-02-"}, func(t materializertest.TB) {
			materializertest.CheckFold(t, daily, sample(), nil)
		})
	})
}

func TestMetaIsChanged(t *testing.T) {
	s := with(func(a account, op operation) (account, error) {
		op.Meta[0] = 'x'
		return a, nil
	})
	describe := func(_ string, _ int64, op deposit) materializer.NewOperation[deposit] {
		return materializer.NewOperation[deposit]{Meta: []byte("meta")}
	}
	wantFailure(t, []string{"document ann at seq 1, ", "Meta"}, func(t materializertest.TB) {
		materializertest.CheckFold(t, s, sample(), &materializertest.FoldOptions[deposit]{Describe: describe, MayFail: true})
	})
}

// The state that is lost when it is deleted must not come back.
func TestDeletion(t *testing.T) {
	closing := with(func(a account, op operation) (account, error) {
		if op.Body.Amount == 4 {
			return a, materializer.Deleted
		}
		a.Balance += op.Body.Amount
		return a, nil
	})
	materializertest.CheckFold(t, closing, sample(), nil)

	// One that says so only the first time.
	var once atomic.Bool
	fickle := with(func(a account, op operation) (account, error) {
		if op.Body.Amount == 4 && !once.Swap(true) {
			return a, materializer.Deleted
		}
		return a, nil
	})
	wantFailure(t, []string{"document eve at seq 3, ", "\twant deleted\n\t got {"}, func(t materializertest.TB) {
		materializertest.CheckFold(t, fickle, sample(), nil)
	})
}

func TestMayFail(t *testing.T) {
	overdrawn := map[string][]deposit{"ann": {{Amount: 1}, {Amount: -2}, {Amount: 5}}, "bob": {{Amount: -1}}, "eve": {{Amount: 1}}}
	mayFail := &materializertest.FoldOptions[deposit]{MayFail: true, Rounds: 3}
	materializertest.CheckFold(t, accounts(), overdrawn, mayFail)
	wantFailure(t, []string{"document ann at seq 2, ", "overdrawn"}, func(t materializertest.TB) {
		materializertest.CheckFold(t, accounts(), overdrawn, nil)
	})

	var failed atomic.Bool
	healed := with(func(a account, op operation) (account, error) {
		if op.Body.Amount == -2 && !failed.Swap(true) {
			return a, errOverdrawn
		}
		return a, nil
	})
	wantFailure(t, []string{"document ann at seq 2, ", "failed before: overdrawn"}, func(t materializertest.TB) {
		materializertest.CheckFold(t, healed, overdrawn, mayFail)
	})
}

// Who folds several documents at once finds what only shows then.
func TestFoldsAtOnce(t *testing.T) {
	var folding, most atomic.Int64
	alone := with(func(a account, op operation) (account, error) {
		defer folding.Add(-1)
		if n := folding.Add(1); n > 1 {
			most.Store(n)
			return a, errors.New("somebody else folds")
		}
		for range 100 {
			runtime.Gosched()
		}
		return a, nil
	})
	wantFailure(t, []string{"folded while others are", "somebody else folds"}, func(t materializertest.TB) {
		materializertest.CheckFold(t, alone, sample(), nil)
	})
	if most.Load() < 2 {
		t.Error("no two folds ran at once")
	}
}

func TestNothingToFold(t *testing.T) {
	for name, c := range map[string]struct {
		spec      spec
		documents map[string][]deposit
		want      string
	}{
		"no fold":      {spec{Name: "accounts", Version: 1}, sample(), "fold of accounts"},
		"no document":  {accounts(), nil, "no operation to fold"},
		"no operation": {accounts(), map[string][]deposit{"ann": {}}, "no operation to fold"},
		"a bad id":     {accounts(), map[string][]deposit{"": {{}}}, "document id"},
	} {
		t.Run(name, func(t *testing.T) {
			wantFailure(t, []string{"collection accounts", c.want}, func(t materializertest.TB) {
				materializertest.CheckFold(t, c.spec, c.documents, nil)
			})
		})
	}
}

// A state that is a long text is shown from where it differs.
func TestLongViews(t *testing.T) {
	var n atomic.Int64
	long := materializer.Spec[string, string]{Name: "texts", Version: 1, Fold: func(s string, op materializer.Operation[string]) (string, error) {
		return strings.Repeat("ä", 5000) + fmt.Sprint(n.Add(1)) + strings.Repeat("z", 5000), nil
	}}
	got := failures(t, func(t materializertest.TB) {
		materializertest.CheckFold(t, long, map[string][]string{"a": {"x"}}, nil)
	})
	if len(got) != 1 || len(got[0]) > 1000 || !strings.Contains(got[0], "want …ä") || !strings.Contains(got[0], "ä1z") || !strings.Contains(got[0], "ä2z") {
		t.Errorf("got %q", got)
	}
}

// What the check takes for the default codecs is what the materializer stores.
func TestDefaultCodecs(t *testing.T) {
	st := memory.New(nil)
	m := materializertest.New(t, &materializertest.Options{Store: st})
	c := materializertest.Register(m, accounts())
	if _, err := c.Append(t.Context(), "ann", sample()["ann"]...); err != nil {
		t.Fatal(err)
	}
	m.Settle()
	docs, err := st.Load(t.Context(), []store.Key{{Collection: "accounts", ID: "ann"}}, store.WithViews)
	if err != nil {
		t.Fatal(err)
	}
	// CheckCrashes compares them byte by byte; here it is told apart from its own mistakes.
	want, _ := json.Marshal(account{Balance: 75, Tags: []string{"rent", "gift", "cash"}})
	if got := docs[0].View; !bytes.Equal(got, want) {
		t.Errorf("stored %s, want %s", got, want)
	}
}
