package materializer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/rs/zerolog"
)

// lastWord is a fold that does some work and keeps the last word, so that views stay small.
func lastWord(work func()) foldFunc {
	return func(_ text, op operation) (text, error) {
		work()
		return text{Words: []string{op.Body.Text}, Seqs: []int64{op.Seq}}, nil
	}
}

// A build ends if the whole pool can fold faster than appends come, however small its share is: it is
// given more when it does not keep up. Appends are never in its way, and that it is given more can be
// seen. The folds of the two versions either take their 10 ms each for itself, or share as many
// processors as there are workers.
func TestBuildThatDoesNotKeepUpIsGivenMore(t *testing.T) {
	for _, c := range []struct {
		name               string
		workers, documents int
		part               float64 // of what the pool can fold is appended
		processors         bool    // the folds share them
		alone              bool    // the fold that is served is not here
	}{
		{"60 % of the pool", 4, 40, 0.6, false, false},
		{"80 % of the pool", 4, 40, 0.8, false, false},
		{"60 % of the processors", 4, 40, 0.6, true, false},
		{"80 % of the processors", 4, 40, 0.8, true, false},
		{"80 % of the processors, more documents than may be dirty", 2, 1200, 0.8, true, false},
		{"80 % with the new fold alone, more documents than may be dirty", 2, 1200, 0.8, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.documents > store.MaxDirty && (raceDetector || testing.Short()) {
				t.Skip("it folds 40,000 operations")
			}
			synctest.Test(t, func(t *testing.T) {
				st := memory.New(nil)
				old := newProcess(t, st, materializer.Config{}, upTo(lastWord(func() {}))).start()
				for i := range c.documents {
					old.append(fmt.Sprint("d", i), "a")
				}
				if err := old.m.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := old.halt(); err != nil {
					t.Fatal(err)
				}
				const cost = 10 * time.Millisecond
				processors := make(chan struct{}, c.workers)
				work := func() { time.Sleep(cost) }
				if c.processors {
					work = func() {
						processors <- struct{}{}
						time.Sleep(cost)
						<-processors
					}
				}
				folds := upTo(lastWord(work), lastWord(work))
				if c.alone {
					delete(folds, 1)
				}
				var lines logged
				cfg := materializer.Config{Workers: c.workers, BuildShare: 0.1, Logger: zerolog.New(&lines)}
				p := newProcess(t, st, cfg, folds).start()
				most, urgent, served := 0.0, false, false
				began := time.Now()
				for i := 0; !served && time.Since(began) < 5*time.Minute; i++ {
					asked := time.Now()
					p.append(fmt.Sprint("d", i*7%c.documents), "b")
					if d := time.Since(asked); d > 0 {
						t.Fatalf("an append took %v", d)
					}
					time.Sleep(time.Duration(float64(cost) / float64(c.workers) / c.part))
					if i%100 == 0 {
						g := must(p.m.Generations(t.Context(), "texts"))(t)[1]
						most, urgent, served = max(most, g.Share), urgent || g.Urgent, g.State == materializer.Serving
					}
				}
				t.Logf("it is served: %t after %v, with a share of %v, urgent: %t", served, time.Since(began), most, urgent)
				if !served {
					t.Error("it is not served")
				}
				if most <= 1/float64(c.workers) {
					t.Errorf("the largest share was %v", most)
				}
				if told := lines.with(t, "this version does not keep up, and is given more"); len(told) == 0 || told[0]["workers"] != 2. {
					t.Errorf("told was %v", told)
				}
				// What was queued of the old version is not in the way of the new one.
				if err := p.m.Drain(within(t, 30*time.Second)); err != nil {
					t.Error(err)
				}
				if g := must(p.m.Generations(t.Context(), "texts"))(t)[1]; g.Share != 0 || g.Urgent {
					t.Errorf("when it is served it is %+v", g)
				}
			})
		})
	}
}

// A build that has been given more, and then waits for nothing but a document that is parked in it only, has
// its share again: what is served does not make room for it until somebody mends that.
func TestBuildThatIsHeldBackIsGivenNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cost = 10 * time.Millisecond
		st := memory.New(nil)
		old := newProcess(t, st, materializer.Config{}, upTo(lastWord(func() {}))).start()
		old.append("parks", "bad")
		for i := range 40 {
			old.append(fmt.Sprint("d", i), "a")
		}
		if err := old.m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := old.halt(); err != nil {
			t.Fatal(err)
		}
		fold := lastWord(func() { time.Sleep(cost) })
		parks := func(s text, op operation) (text, error) {
			if op.Body.Text == "bad" {
				return s, materializer.Permanent(errPlanted)
			}
			return fold(s, op)
		}
		p := newProcess(t, st, materializer.Config{Workers: 4, BuildShare: 0.1}, upTo(fold, parks)).start()
		building := func() materializer.Generation { return must(p.m.Generations(t.Context(), "texts"))(t)[1] }
		for i := 0; i < 100_000 && building().Share <= 0.25; i++ {
			p.append(fmt.Sprint("d", i*7%40), "b")
			time.Sleep(cost / 3)
		}
		if g := building(); g.Share <= 0.25 {
			t.Fatalf("it was never given more: %+v", g)
		}
		time.Sleep(time.Minute)
		if g := building(); g.State != materializer.Building || g.Parked != 1 || g.Share != 0.25 || g.Urgent {
			t.Errorf("when a parked document holds it back it is %+v", g)
		}
	})
}
