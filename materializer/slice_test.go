package materializer_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// order returns the documents in the order of their commits.
func (s *tap) order() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commits {
		ids = append(ids, fmt.Sprint(c.Key.ID, c.Applied))
	}
	return ids
}

// A document that is larger than the budget is folded over several runs, and the
// others have their turn between: nobody waits for more than one slice of it.
func TestLargeDocumentIsFoldedInSlicesAndOthersBetween(t *testing.T) {
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newTap(memory.New(nil))
				body := len(`{"Text":"w000000"}`)
				r := newRig(t, st, materializer.Config{Workers: workers, Bytes: int64(workers * 10 * body)}, spec())
				r.append("big", numbered("w", 100)...)
				others := numbered("d", 20)
				for _, id := range others {
					r.append(id, "wwwwwww")
				}
				if workers == 1 { // all of them are queued before the first one is done
					reached, goOn := st.stopAt(atLoad)
					r.start()
					<-reached
					settle()
					goOn()
				} else {
					r.start()
				}
				settle()
				r.wantClean()
				slices := st.commitsOf("big")
				if len(slices) < 10 {
					t.Errorf("%d commits of the large document, want 10 or more", len(slices))
				}
				for _, c := range slices {
					if n := c.Applied - c.Loaded; n > 10 {
						t.Errorf("a slice of %d operations, want at most the budget of 10", n)
					}
				}
				// All others are done while most of the large document is not.
				before := 0
				for _, id := range others {
					for _, c := range st.order() {
						if c == id+"1" {
							break
						}
						if strings.HasPrefix(c, "big") {
							before++
						}
					}
				}
				// With more workers it depends on which of them the machine lets run.
				if most := 3 * len(others); workers == 1 && before > most {
					t.Errorf("the others waited for %d slices of the large document together, want at most %d: %v", before, most, st.order())
				}
			})
		})
	}
}

// The large one is not starved by small ones either.
func TestLargeDocumentIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		body := len(`{"Text":"w000000"}`) // its view comes to take half of the budget
		r := newRig(t, st, materializer.Config{Workers: 1, Bytes: int64(20 * body)}, spec())
		small := numbered("d", 50)
		r.append("big", numbered("w", 100)...)
		for _, id := range small {
			r.append(id, "wwwwwww")
		}
		left := 500
		st.onPoint(func(point string) error { // there is always a small one more
			if point == committed && left > 0 {
				left--
				r.append(small[left%len(small)], "wwwwwww")
				r.append(small[(left+7)%len(small)], "wwwwwww")
			}
			return nil
		})
		r.start()
		settle()
		r.wantClean()
		order := st.order()
		for i, c := range order {
			if c == "big100" {
				if i > len(order)*3/4 {
					t.Errorf("the large document was done at commit %d of %d", i, len(order))
				}
			}
		}
	})
}

// An operation that is larger than the budget is folded alone.
func TestOperationLargerThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Bytes: 1}, spec())
		r.append("a", "one", "two", "three")
		r.append("b", "one")
		r.start()
		settle()
		r.wantView("a", "one two three", 3, 3)
		r.wantView("b", "one", 1, 1)
		if got := len(st.commitsOf("a")); got != 3 {
			t.Errorf("%d commits, want one for each operation", got)
		}
	})
}
