package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

const (
	lateBy     = hourLong // how late most points come at the most
	oneInLate  = 20       // one in so many comes at any time
	batchBound = 500
)

// shuffle puts samples into the order in which they arrive: each up to an hour late,
// and one in twenty at any time.
func shuffle(samples []sample, seed uint64) {
	if len(samples) == 0 {
		return
	}
	byTime := func(a, b sample) int { return cmp.Compare(a.T, b.T) }
	first, last := slices.MinFunc(samples, byTime).T, slices.MaxFunc(samples, byTime).T
	rng := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- not for secrets
	type arriving struct {
		sample
		at int64
	}
	all := make([]arriving, len(samples))
	for i, s := range samples {
		all[i] = arriving{s, s.T + rng.Int64N(lateBy)}
		if rng.IntN(oneInLate) == 0 {
			all[i].at = first + rng.Int64N(last-first+lateBy)
		}
	}
	slices.SortStableFunc(all, func(a, b arriving) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		samples[i] = all[i].sample
	}
}
