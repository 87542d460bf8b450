package materializer_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// A suspect tells a derived document something that is older than what a worker of the pool has it
// in hand for. It is one of the suspects by that, and is left to the pool until that has given it
// back: no two workers make one document at once.
func TestLaneLeavesAloneWhatThePoolMakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newUnclean(memory.New(nil))
		begun := make(chan struct{}, 8)
		var now, most, made atomic.Int32
		r := newDerivedRig(t, st, materializer.Config{Workers: 2})
		waits := materializer.From(r.files, func(id string, f file, emit func(string, file)) error {
			if id == "suspect" {
				<-begun
			}
			emit(f.Author, f)
			return nil
		})
		spec := authorsOf(waits)
		spec.Reduce = func(key string, all iter.Seq2[materializer.Contributor, file]) (author, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			if made.Add(1) == 1 {
				close(begun)
			}
			time.Sleep(50 * time.Millisecond)
			return reduceAuthor(key, all)
		}
		authors := must(materializer.ByContributions(r.m, spec))(t)
		r.set("suspect", file{Author: "a", Lines: 1})
		r.start()
		synctest.Wait()
		r.set("late", file{Author: "a", Lines: 2})
		time.Sleep(time.Minute)
		r.drain()
		if v := must(authors.Get(context.Background(), "a"))(t); v.State.Lines != 3 {
			t.Errorf("it is %+v", v)
		}
		if made.Load() < 2 || most.Load() != 1 {
			t.Errorf("it was made %d times, %d at once", made.Load(), most.Load())
		}
	})
}
