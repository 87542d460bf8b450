package position

import "math/bits"

// pageBits is the logarithm of how many numbers a page has. 256 numbers take 64
// bytes for two bits each, and 100,000 open ones are 400 pages, which stay in the
// first cache.
const (
	pageBits  = 8
	pageSize  = 1 << pageBits
	pageWords = pageSize / 64
)

type bitset [pageWords]uint64

func (b *bitset) has(i uint) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b *bitset) set(i uint)      { b[i/64] |= 1 << (i % 64) }
func (b *bitset) clear(i uint)    { b[i/64] &^= 1 << (i % 64) }

// lowest returns the lowest bit, or pageSize if there is none.
func (b *bitset) lowest() int {
	for i, word := range b {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return pageSize
}

// highest returns the highest bit that is at most limit, or -1 if there is none.
func (b *bitset) highest(limit int) int {
	for i := min(limit, pageSize-1) / 64; limit >= 0 && i >= 0; i-- {
		word := b[i]
		if i == limit/64 {
			word &= ^uint64(0) >> (63 - limit%64)
		}
		if word != 0 {
			return i*64 + 63 - bits.LeadingZeros64(word)
		}
	}
	return -1
}

// page holds the numbers index*pageSize and up of one writer. A page is linked
// between its neighbours by ascending index.
type page struct {
	index      int64
	open, done bitset // no number is in both
	count      int    // how many are in open
	// below is the greatest finished number between the previous page and this
	// one, whose own page is gone; or none.
	below      Number
	prev, next *page
}

// none is less than every number of a stream.
const none Number = -1 << 63

func pageOf(n Number) int64 { return int64(n) >> pageBits }
func bitOf(n Number) uint   { return uint(n) % pageSize } // #nosec G115 -- the low bits of a two's complement

func (p *page) start() Number { return Number(p.index << pageBits) }
func (p *page) end() Number   { return p.start() + pageSize - 1 }

// finished returns the greatest finished number that is at most limit, or none.
func (p *page) finished(limit Number) Number {
	if limit < p.start() {
		return none
	}
	if bit := p.done.highest(int(min(limit, p.end()) - p.start())); bit >= 0 {
		return p.start() + Number(bit)
	}
	return none
}
