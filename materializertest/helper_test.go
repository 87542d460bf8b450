package materializertest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/materializertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	operation = materializer.Operation[deposit]
	spec      = materializer.Spec[account, deposit]
)

// deposit is the operation of the tests, account the state.
type deposit struct {
	Amount int
	Tags   []string `json:",omitempty"`
}

type account struct {
	Balance int
	Tags    []string `json:",omitempty"`
}

var (
	errOverdrawn = errors.New("overdrawn")
	errNoDisk    = errors.New("no disk")
)

func fold(a account, op operation) (account, error) {
	if a.Balance += op.Body.Amount; a.Balance < 0 {
		return a, errOverdrawn
	}
	a.Tags = append(a.Tags, op.Body.Tags...)
	return a, nil
}

func accounts() spec { return spec{Name: "accounts", Version: 1, Fold: fold} }

func with(f func(account, operation) (account, error)) spec {
	s := accounts()
	s.Fold = f
	return s
}

// sample has three documents that all fold.
func sample() map[string][]deposit {
	return map[string][]deposit{
		"ann": {{Amount: 100}, {Amount: -30, Tags: []string{"rent"}}, {Amount: 5, Tags: []string{"gift", "cash"}}},
		"bob": {{Amount: 1, Tags: []string{"new", "cash"}}},
		"eve": {{Amount: 2}, {Amount: 3}, {Amount: 4}, {Amount: -9, Tags: []string{"all"}}},
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	ctx      context.Context
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failures returns what a test reports.
func failures(t *testing.T, test func(t materializertest.TB)) []string {
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			cancel()
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		test(r)
	}()
	<-done
	return r.failures
}

// wantFailure checks that a test reports one thing, and how.
func wantFailure(t *testing.T, parts []string, test func(t materializertest.TB)) {
	t.Helper()
	got := failures(t, test)
	if len(got) != 1 {
		t.Errorf("%d failures, want 1: %q", len(got), got)
		return
	}
	for _, part := range parts {
		if !strings.Contains(got[0], part) {
			t.Errorf("the failure lacks %q:\n%s", part, got[0])
		}
	}
}
