package position

import (
	"slices"
	"sort"
)

// maxRuns bounds the memory of what is known above the completed position. What
// is forgotten delays, it does not mislead: the completed position reaches it
// when the writers do.
const maxRuns = 1024

// run is the numbers from lo to hi, both included.
type run struct{ lo, hi Number }

// runs are numbers that are known to be complete, as few runs as possible and at
// most maxRuns: if there are more, the highest is forgotten.
type runs []run

// add adds one number.
func (rs *runs) add(n Number) {
	s := *rs
	// The first run that ends at or after the number before n.
	i := len(s)
	if i > 0 && s[i-1].hi >= n-1 {
		i = sort.Search(len(s), func(i int) bool { return s[i].hi >= n-1 })
	}
	switch {
	case i < len(s) && s[i].lo <= n && n <= s[i].hi:
		return
	case i < len(s) && s[i].hi == n-1:
		s[i].hi = n
		if i+1 < len(s) && s[i+1].lo == n+1 {
			s[i].hi = s[i+1].hi
			s = slices.Delete(s, i+1, i+2)
		}
	case i < len(s) && s[i].lo == n+1:
		s[i].lo = n
	default:
		s = slices.Insert(s, i, run{n, n})
	}
	*rs = s[:min(len(s), maxRuns)]
}

// from returns the number up to which everything is complete if everything up to
// n is, and forgets what is at or below it.
func (rs *runs) from(n Number) Number {
	s := *rs
	i := 0
	for i < len(s) && s[i].lo <= n+1 {
		n = max(n, s[i].hi)
		i++
	}
	if i > 0 {
		*rs = slices.Delete(s, 0, i)
	}
	return n
}
