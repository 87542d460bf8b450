package position

// Range is everything after one token and up to another.
type Range struct{ after, upTo Token }

// Between returns everything that is in upTo and not in after. Tokens need not be
// ordered: a writer that is further in after has nothing in the range.
func Between(after, upTo Token) Range { return Range{after: after, upTo: upTo} }

// Contains reports whether a position is in the range. A position of no known
// writer is measured by the minima.
func (r Range) Contains(p Position) bool { return r.upTo.Includes(p) && !r.after.Includes(p) }

// Bounds returns the lowest and the highest stored number that positions of the
// range can have, for a query like BETWEEN low AND high. The query may find more
// than is in the range, so each row that it finds is put to Contains. If nothing
// can be in the range, low is greater than high.
func (r Range) Bounds(d Direction) (low, high Stored) {
	after, upTo := r.after.Min(), r.upTo.Max()
	if after >= upTo {
		return 1, 0
	}
	if d == Down {
		return d.Stored(upTo), d.Stored(after + 1)
	}
	return d.Stored(after + 1), d.Stored(upTo)
}
