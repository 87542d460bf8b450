package materializer

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/rs/zerolog"
)

func TestEffortStepByStep(t *testing.T) {
	for _, c := range []struct {
		workers  int
		share    float64
		want     []effort
		restless int
	}{
		{10, 0.1, []effort{{1, false, 0}, {2, false, 0}, {4, false, 0}, {8, false, 0}, {10, false, 0}, {10, true, 0}, {10, true, 1}, {10, true, 4}, {10, true, 16}}, 5},
		{4, 1, []effort{{4, false, 0}, {4, true, 0}, {4, true, 1}, {4, true, 4}, {4, true, 16}}, 1},
		{1, 0.5, []effort{{1, false, 0}, {1, true, 0}, {1, true, 1}, {1, true, 4}, {1, true, 16}}, 1},
	} {
		cfg := Config{Workers: c.workers, BuildShare: c.share}
		var got []effort
		for step := range len(c.want) + 3 {
			got = append(got, cfg.effort(step))
		}
		last := c.want[len(c.want)-1]
		if want := append(c.want, last, last, last); !slices.Equal(got, want) {
			t.Errorf("%d workers, share %v: the steps are %v, want %v", c.workers, c.share, got, want)
		}
		if got := cfg.restless(); got != c.restless {
			t.Errorf("%d workers, share %v: the last step without a rest is %d, want %d", c.workers, c.share, got, c.restless)
		}
	}
}

// keeping is a keeper that sees to one build, once a second.
type keeping struct {
	*keeper
	b     *build
	c     *collection
	pools []int
	log   bytes.Buffer
}

func newKeeping(t *testing.T, cfg Config) *keeping {
	k := &keeping{b: &build{least: math.MaxInt64, age: math.MaxInt64}, c: &collection{name: "notes", version: 2, own: "notes@2"}}
	cfg.Logger = zerolog.New(&k.log)
	m, err := New(memory.New(nil), cfg)
	if err != nil {
		t.Fatal(err)
	}
	k.keeper = newKeeper(newEngine(m, nil, nil), func(workers int, over <-chan struct{}) {
		k.pools = append(k.pools, workers)
		go func() { <-over }()
	})
	k.builds[k.c.own] = k.b
	return k
}

// see sees to it for some seconds, with counts that are the same.
func (k *keeping) see(seconds int, n store.Counts) {
	for range seconds {
		k.seeTo(k.b, k.c, n)
		k.exertForAll()
		time.Sleep(time.Second)
	}
}

func (k *keeping) told() int { return strings.Count(k.log.String(), "does not catch up") }

// counts are of documents of which the oldest has been dirty for that long, now.
func countsOf(dirty int64, age time.Duration) store.Counts {
	return store.Counts{Dirty: dirty, Oldest: store.Runnable{Since: store.Since{Time: time.Now().Add(-age)}}}
}

// What is served rests for a minute without progress at the longest, and then not again for ten.
func TestNoProgressEasesWhatIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeping(t, Config{Workers: 4, BuildShare: 0.25})
		n := countsOf(40, time.Hour)
		k.see(1, n)
		began := time.Now()
		for _, c := range []struct {
			until time.Duration
			want  effort
			told  int
		}{
			{4 * time.Second, effort{1, false, 0}, 0},
			{9 * time.Second, effort{2, false, 0}, 0},
			{14 * time.Second, effort{4, false, 0}, 0},
			{19 * time.Second, effort{4, true, 0}, 0},
			{24 * time.Second, effort{4, true, 1}, 0},
			{29 * time.Second, effort{4, true, 4}, 0},
			{90 * time.Second, effort{4, true, 16}, 0},
			{100 * time.Second, effort{4, true, 0}, 1},
			{11 * time.Minute, effort{4, true, 0}, 1},
			{11*time.Minute + 38*time.Second, effort{4, true, 1}, 1},
			{11*time.Minute + 43*time.Second, effort{4, true, 4}, 1},
			{12*time.Minute + 40*time.Second, effort{4, true, 16}, 1},
			{13 * time.Minute, effort{4, true, 0}, 1},
		} {
			k.see(int((c.until - time.Since(began)).Seconds()), n)
			if got := k.effort(); got != c.want || k.told() != c.told {
				t.Errorf("after %v there is %+v, and it was told of %d times, want %+v and %d", c.until, got, k.told(), c.want, c.told)
			}
		}
		if !slices.Equal(k.pools[:2], []int{1, 3}) {
			t.Errorf("there were pools beside of %v workers", k.pools)
		}
		delete(k.builds, k.c.own)
		if k.exertForAll(); k.effort() != (effort{1, false, 0}) || k.extra != nil {
			t.Errorf("without a build there is %+v", k.effort())
		}
	})
}

// Fewer dirty documents are progress, and so is that the oldest has been dirty for less long. No
// progress is expected of what is paused, or waits after failures.
func TestProgressIsNotHurried(t *testing.T) {
	for name, see := range map[string]func(k *keeping, i int){
		"fewer":   func(k *keeping, i int) { k.see(1, countsOf(int64(1000-i), time.Hour)) },
		"younger": func(k *keeping, i int) { k.see(1, countsOf(40, time.Hour-time.Duration(i)*time.Minute/4)) },
		"paused":  func(k *keeping, _ int) { k.c.paused.Store(true); k.see(1, countsOf(40, time.Hour)) },
		"waiting": func(k *keeping, _ int) {
			n := countsOf(40, time.Hour)
			n.Waiting = 40
			k.see(1, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKeeping(t, Config{Workers: 4, BuildShare: 0.25})
				for i := range 180 {
					see(k, i)
				}
				if k.effort() != (effort{1, false, 0}) || k.told() > 0 || len(k.pools) > 0 {
					t.Errorf("there is %+v, told was %d times", k.effort(), k.told())
				}
			})
		})
	}
}

// What goes first is given no more when it is paused, because that is of no use to it.
func TestPausedIsGivenNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeping(t, Config{Workers: 4, BuildShare: 0.25})
		n := countsOf(40, time.Hour)
		k.see(31, n)
		if k.effort() != (effort{4, true, 16}) {
			t.Fatalf("there is %+v", k.effort())
		}
		k.c.paused.Store(true)
		k.see(1, n)
		if k.effort() != (effort{1, false, 0}) {
			t.Errorf("while it is paused there is %+v", k.effort())
		}
	})
}

// A worker rests for five seconds at the most, however long its fold was, and not at all if
// nobody works on a build.
func TestRestIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeping(t, Config{Workers: 4, BuildShare: 0.25})
		k.see(31, countsOf(40, time.Hour))
		for _, c := range []struct {
			busy bool
			want time.Duration
		}{{true, raiseAfter}, {false, 0}} {
			k.engine.aside.busy.Store(1)
			k.owe(time.Minute)
			if !c.busy {
				k.engine.aside.busy.Store(0)
			}
			began := time.Now()
			k.makeRoom(t.Context())
			if got := time.Since(began); got != c.want {
				t.Errorf("busy %v: a rest of %v, want %v", c.busy, got, c.want)
			}
		}
		delete(k.builds, k.c.own)
		k.exertForAll()
	})
}
