package materializer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// leasing is a store in which whoever shares it has had a document under a lease that it does not
// know of, as after an answer that did not come.
type leasing struct {
	store.Backend
	t   testing.TB
	key store.Key
}

func (s *leasing) Share(ctx context.Context) (store.Claim, error) {
	claim, err := s.Backend.Share(ctx)
	if err == nil {
		terms := store.LeaseTerms{For: time.Second, Most: time.Minute}
		if got := must(s.Lease(ctx, claim.Holder, terms, []store.Key{s.key}, false))(s.t); got[0].Why != store.Taken {
			s.t.Errorf("the lease is %+v", got[0])
		}
	}
	return claim, err
}

// What the pool of this process had under a lease that has run out, in a generation that is not
// served any more or not yet, is made all the same: the lane takes it over.
func TestBuildOfWhatItsOwnPoolLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New(nil)
		old := newProcess(t, inner, materializer.Config{}, upTo(fold)).start()
		old.append("a", "x")
		settle()
		old.halt()
		st := &readOften{Backend: &leasing{Backend: inner, t: t, key: store.Key{Collection: "texts@2", ID: "a"}}, name: "texts@2"}
		p := newProcess(t, st, materializer.Config{Shared: true}, upTo(fold, upper))
		if more := must(inner.Fill(t.Context(), "texts@2"))(t); more {
			t.Error("there is more than a document")
		}
		p.start()
		time.Sleep(20 * time.Second)
		p.halt()
		if n := st.times.Load(); n > tooOften {
			t.Errorf("read %d times in 20 s", n)
		}
		p.mustBe("1 kept, 2 serving")
	})
}
