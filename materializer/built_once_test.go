package materializer_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// Documents of a build that are given back while another one of their hand is folded yet, because that
// takes long, are taken by other workers, and are theirs when the first worker is through.
func TestNeverBuiltTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		for i := range 40 {
			for range 50 {
				old.append(fmt.Sprint("d", i), "x")
			}
		}
		if err := old.m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := old.halt(); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		folding, folds := make(map[string]int), 0
		slow := func(s text, op operation) (text, error) {
			mu.Lock()
			folds++
			if folding[op.Document]++; folding[op.Document] > 1 {
				t.Errorf("%s is folded twice at once", op.Document)
			}
			mu.Unlock()
			time.Sleep(30 * time.Millisecond) // 1.5 s for each document
			mu.Lock()
			folding[op.Document]--
			mu.Unlock()
			return upper(s, op)
		}
		p := newProcess(t, st, materializer.Config{Workers: 4, BuildShare: 1}, upTo(fold, slow)).start()
		time.Sleep(2 * time.Minute)
		p.mustBe("1 kept, 2 serving")
		mu.Lock()
		defer mu.Unlock()
		if s := p.m.Stats(); folds != 2000 || s.Stale > 0 {
			t.Errorf("%d operations were folded, and %d runs were stale, want 2000 and none", folds, s.Stale)
		}
	})
}
