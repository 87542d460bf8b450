package materializer_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// In a batch, what was folded before a fold that takes long, or that ends its
// goroutine, is stored and not folded again.
func TestWhatWasFoldedBeforeATroublesomeFoldIsKept(t *testing.T) {
	for name, trouble := range map[string]func(){
		"takes long":          func() { time.Sleep(time.Minute) },
		"ends its goroutine":  runtime.Goexit,
		"never returns, then": func() { time.Sleep(100 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				folds := make(map[string]int)
				s := specOf(func(s text, op operation) (text, error) {
					mu.Lock()
					folds[op.Document]++
					mu.Unlock()
					if op.Body.Text == "trouble" {
						trouble()
					}
					return plain(s, op)
				})
				s.Retry.Attempts = 1
				r := newRig(t, memory.New(nil), materializer.Config{Workers: 1}, s)
				ids := numbered("d", 20)
				for i, id := range ids {
					if i == 10 {
						r.append("trouble", "trouble")
					}
					r.append(id, "x")
				}
				r.start()
				time.Sleep(2 * time.Second)
				settle()
				for _, id := range ids {
					r.wantView(id, "x", 1, 1)
					mu.Lock()
					if folds[id] != 1 {
						t.Errorf("%s was folded %d times", id, folds[id])
					}
					mu.Unlock()
				}
				time.Sleep(101 * time.Hour)
				settle()
			})
		})
	}
}
