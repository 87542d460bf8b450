package position

import "math"

// Number is a place in the order of a stream: what comes later is greater, also
// in a stream whose stored numbers go down. Zero is before everything in a
// stream that begins at 1.
type Number int64

// MaxNumber is the greatest number that can be reserved.
const MaxNumber Number = math.MaxInt64 - 1

// Stored is a number as a backend stores it. In a stream that goes down, like
// one of backfilled history, what comes later is lower.
type Stored int64

// Direction says in which direction the stored numbers of a stream go. The
// package counts upward inside, so only this edge knows about it: a stream that
// goes down is the mirror of one that goes up.
type Direction uint8

// The directions. The zero value is Up.
const (
	Up Direction = iota
	Down
)

// Number returns the place of a stored number in the order of the stream.
func (d Direction) Number(s Stored) Number {
	if d == Down {
		return Number(-s)
	}
	return Number(s)
}

// Stored returns the number that a backend stores for a place in the order of
// the stream. It is the inverse of Number.
func (d Direction) Stored(n Number) Stored {
	if d == Down {
		return Stored(-n)
	}
	return Stored(n)
}

// At returns the position of a fact that a writer stored under a number.
func (d Direction) At(w Writer, s Stored) Position {
	return Position{Writer: w, Number: d.Number(s)}
}

func (d Direction) String() string {
	if d == Down {
		return "down"
	}
	return "up"
}
