package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestChunkIsInOrderWhateverArrivesFirst(t *testing.T) {
	want := series(3, 1, 4, 1, 5, 9, 2, 6)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		var c Chunk
		for _, i := range rng.Perm(len(want)) {
			if err := c.insert(want[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(c.Points, want) {
			t.Fatalf("got %v", c.Points)
		}
	}
	c := Chunk{Points: want}
	if err := c.insert(Point{want[3].T, 7}); err == nil || err.Error() != "a second point at 2026-01-01T21:00:03Z" {
		t.Errorf("a second point: %v", err)
	}
}

func TestChunkIDs(t *testing.T) {
	hour := Point{T: firstStep}.hour()
	id := chunkID("rate(d1.load)", hour+6)
	if id != "rate(d1.load)/2026-01-02T03" {
		t.Errorf("got %s", id)
	}
	if stream, h, err := parseChunkID(id); stream != "rate(d1.load)" || h != hour+6 || err != nil {
		t.Errorf("got %s, %d, %v", stream, h, err)
	}
	for _, bad := range []string{"", "d1.load", "/2026-01-02T03", "d1.load/2026-01-02", "d1.load/2026-13-02T03"} {
		if _, _, err := parseChunkID(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestWithin(t *testing.T) {
	hour := Point{T: firstStep}.hour()
	points := []Point{{firstStep - 1, 1}, {firstStep, 2}, {firstStep + hourLong - 1, 3}, {firstStep + hourLong, 4}}
	wantValues(t, "the hour", within(hour, points), 2, 3)
	wantValues(t, "the hour before", within(hour-1, points), 1)
	wantValues(t, "one without points", within(hour+2, points))
}

func TestKinds(t *testing.T) {
	for _, test := range []struct {
		stream string
		kind   kind
		values float64
	}{
		{"s1", gauge, 0},
		{"d1.load", gauge, 0},
		{"uptime", gauge, 0},
		{"d1.uptime", uptime, 0},
		{"d1.x.uptime", gauge, 0}, // the device is d1
		{"counter", gauge, 0},
		{"d1.counter", counter, 0},
		{"d1.rx.counter8", counter, 256},
		{"d1.counter52", counter, 1 << 52},
		{"d1.counter53", gauge, 0},
		{"d1.counter0", gauge, 0},
		{"d1.counter08", gauge, 0},
		{"d1.counters", gauge, 0},
	} {
		if k, values := kindOf(test.stream); k != test.kind || values != test.values {
			t.Errorf("%s is a %s of %g values", test.stream, k, values)
		}
	}
	if of, err := operand(rateOf, derivedName(rateOf, "d1.load")); of != "d1.load" || err != nil {
		t.Errorf("got %s, %v", of, err)
	}
	for _, bad := range []string{"d1.load", "reset(d1.load)", "rate(d1.load"} {
		if _, err := operand(rateOf, bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestSamples(t *testing.T) {
	small, large := generate(4, 600, 1), generate(7, 900, 1)
	if other := generate(4, 600, 2); slices.Equal(small, other) {
		t.Error("another seed gives the same")
	}
	have := map[sample]bool{}
	for _, s := range large {
		have[s] = true
	}
	for _, s := range small {
		if !have[s] {
			t.Fatalf("with more of them, %v is another one", s)
		}
		if err := checkStream(s.Stream); err != nil {
			t.Fatalf("%s: %v", s.Stream, err)
		}
	}
	if n := 4 * 600; len(small) >= n || len(small) < n*97/100 {
		t.Errorf("%d of %d points were not missed", len(small), n)
	}

	arrived := slices.Clone(small)
	shuffle(arrived, 1)
	byTime := func(a, b sample) int { return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.T, b.T)) }
	if slices.IsSortedFunc(arrived, func(a, b sample) int { return cmp.Compare(a.T, b.T) }) {
		t.Error("they arrive in order")
	}
	slices.SortFunc(arrived, byTime)
	slices.SortFunc(small, byTime)
	if !slices.Equal(arrived, small) {
		t.Error("others arrive")
	}
	shuffle(nil, 1)
}

// What is generated has all that the operators are about.
func TestGeneratedPointsHaveResetsOverflowsAndGaps(t *testing.T) {
	streams := map[string][]Point{}
	for _, s := range generate(3, 1000, 1) {
		streams[s.Stream] = append(streams[s.Stream], s.Point)
	}
	up, counted := streams["d1.uptime"], streams["d1.counter16"]
	resets := counterReset(up)
	lower := len(counterReset(counted))
	gaps := 0
	for i := 1; i < len(up); i++ {
		if up[i].hour() > up[i-1].hour()+1 {
			gaps++
		}
	}
	if len(resets) == 0 || lower <= len(resets) || gaps != 1 {
		t.Errorf("%d resets, %d decreases of the counter, %d gaps", len(resets), lower, gaps)
	}
	for _, p := range counterDerivative(counted, resets, 1<<16) {
		if p.V < 0 || p.V > 4000 {
			t.Errorf("a rate of %g", p.V)
		}
	}
}
