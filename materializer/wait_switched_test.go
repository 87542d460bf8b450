package materializer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// resolving calls a function the first time that a token is resolved after it was armed.
type resolving struct {
	store.Backend
	mu   sync.Mutex
	call func()
}

func (s *resolving) Resolve(ctx context.Context, token store.Token, keys []store.Key) ([]int64, error) {
	s.mu.Lock()
	call := s.call
	s.call = nil
	s.mu.Unlock()
	if call != nil {
		call()
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return s.Backend.Resolve(ctx, token, keys)
}

// A wait that ends while another version is being served ends with the cause of its context.
func TestWaitEndsWithItsCauseDuringASwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New(nil)
		old := newProcess(t, inner, materializer.Config{}, upTo(fold)).start()
		token := old.append("a", "x")
		settle()
		old.halt()
		st := &resolving{Backend: inner}
		p := newProcess(t, st, materializer.Config{}, upTo(fold, stuck)).start()
		settle()
		p.mustBe("1 serving, 2 building")
		ctx, cancel := context.WithCancelCause(t.Context())
		st.call = func() {
			if o := must(inner.Switch(ctx, "texts@2", store.SwitchTerms{Force: true}))(t); o.Why != store.Unhindered {
				t.Errorf("%+v", o)
			}
			cancel(errPlanted)
		}
		if err := p.m.Wait(ctx, token); !errors.Is(err, errPlanted) {
			t.Errorf("Wait returned %v, want the cause of its context", err)
		}
	})
}

// stuck parks what it gets.
func stuck(s text, _ operation) (text, error) { return s, materializer.Permanent(errPlanted) }
