package materializer

import (
	"math/bits"
	"sync/atomic"
)

// The buckets of a histogram: each power of two is divided into 4, so that a
// bucket is at most a quarter wider than its lower bound. Numbers below 4 have
// buckets of their own. 2^48 ns are 3 days, and all that is more is in the last
// bucket.
const (
	subBuckets  = 4
	mostBits    = 48
	bucketCount = subBuckets*(mostBits-1) + 1
)

func bucketOf(n int64) int {
	if n < subBuckets {
		return int(max(n, 0))
	}
	top := bits.Len64(uint64(n)) - 1 // 2 or more
	if top >= mostBits {
		return bucketCount - 1
	}
	return subBuckets*(top-1) + int(n>>(top-2))&(subBuckets-1)
}

// lowest returns the least number in a bucket.
func lowest(bucket int) int64 {
	if bucket < subBuckets {
		return int64(bucket)
	}
	top := bucket/subBuckets + 1
	return int64(subBuckets+bucket%subBuckets) << (top - 2)
}

// histogram counts numbers by size. Observing one costs two atomic additions, and
// nothing is ever allocated. The zero value is empty.
type histogram struct {
	sum     atomic.Int64
	buckets [bucketCount]atomic.Int64
}

func (h *histogram) observe(n int64) {
	h.sum.Add(max(n, 0))
	h.buckets[bucketOf(n)].Add(1)
}

func (h *histogram) snapshot() Histogram {
	s := Histogram{Sum: h.sum.Load()}
	for i := range h.buckets {
		s.buckets[i] = h.buckets[i].Load()
		s.Count += s.buckets[i]
	}
	return s
}

// Histogram is a distribution of numbers since New; those that are times are in
// nanoseconds. It is a value, and can be kept.
type Histogram struct {
	// Count is how many numbers there are, Sum is their sum.
	Count, Sum int64
	buckets    [bucketCount]int64
}

// Quantile returns a number that a share of q of all are below or at, to within a
// quarter; q is from 0 to 1. It is 0 if there are none.
func (h *Histogram) Quantile(q float64) int64 {
	if h.Count == 0 {
		return 0
	}
	rank := int64(q * float64(h.Count))
	rank = min(max(rank, 0), h.Count-1)
	for i, n := range h.buckets {
		if rank -= n; rank < 0 {
			if i < subBuckets || i == bucketCount-1 {
				return lowest(i)
			}
			return (lowest(i) + lowest(i+1) - 1) / 2
		}
	}
	return lowest(bucketCount - 1)
}

// Mean returns the mean, 0 if there are no numbers.
func (h *Histogram) Mean() int64 {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / h.Count
}

// Minus returns the distribution of what came between an earlier snapshot and
// this one.
func (h *Histogram) Minus(earlier *Histogram) Histogram {
	d := Histogram{Count: h.Count - earlier.Count, Sum: h.Sum - earlier.Sum}
	for i := range d.buckets {
		d.buckets[i] = h.buckets[i] - earlier.buckets[i]
	}
	return d
}
