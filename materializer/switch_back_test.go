package materializer_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// overtakenLook is a store in which others go on behind a look at the generations.
type overtakenLook struct {
	store.Backend
	once   sync.Once
	others func()
}

func (s *overtakenLook) Generations(ctx context.Context, name string) ([]store.Generation, error) {
	all, err := s.Backend.Generations(ctx, name)
	for _, g := range all {
		if g.State == store.Building && g.Version == 2 {
			s.once.Do(s.others)
		}
	}
	return all, err
}

// Who has seen a version being built, and comes to switch to it when others have served it and
// a later one since, does not serve it again.
func TestSwitchOfASlowProcessDoesNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New(nil)
		ctx := t.Context()
		looked := false
		st := &overtakenLook{Backend: inner, others: func() {
			looked = true
			if o := must(inner.Switch(ctx, "texts@2", store.SwitchTerms{Keep: time.Hour}))(t); o.Why != store.Unhindered {
				t.Errorf("version 2: %+v", o)
			}
			if err := inner.Register(ctx, "texts", 3); err != nil {
				t.Error(err)
			}
			if o := must(inner.Switch(ctx, "texts@3", store.SwitchTerms{Keep: time.Hour}))(t); o.Why != store.Unhindered {
				t.Errorf("version 3: %+v", o)
			}
		}}
		p := newProcess(t, st, materializer.Config{Shared: true}, upTo(fold, upper)).start()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p.halt()
		if !looked {
			t.Error("nobody has looked while version 2 was being built")
		}
		p.mustBe("2 kept, 3 serving")
	})
}
