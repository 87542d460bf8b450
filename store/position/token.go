package position

import (
	"fmt"
	"iter"
	"slices"
)

// Token is a cut through a log: everything of all writers up to the minimum, and
// of the writers that are ahead, everything up to the position of each. It is
// comparable: tokens are the same cut exactly if they are ==. The zero value is
// the token m0, which is before everything in a stream that begins at 1. A token
// of at most one writer ahead allocates nothing.
type Token struct {
	min Number
	// ahead has only positions above min.
	ahead entries
}

// TokenAt returns the token of everything up to a number, whoever wrote it: the
// only kind of token that a log with one contiguous counter needs.
func TokenAt(n Number) Token { return Token{min: n} }

// NewToken returns the token of everything up to minimum, and of the writers that are
// ahead up to the position of each, in any order. Errors: [ErrToken] if a
// position is not above minimum, has a writer out of range, or if two positions have
// one writer.
func NewToken(minimum Number, ahead ...Position) (Token, error) {
	ahead = slices.Clone(ahead)
	for _, p := range ahead {
		if !p.Writer.valid() {
			return Token{}, fmt.Errorf("%w: writer %d is not in 1 to %d", ErrToken, p.Writer, MaxWriter)
		}
		if p.Number <= minimum {
			return Token{}, fmt.Errorf("%w: %s is not above the minimum %d", ErrToken, p, minimum)
		}
	}
	t := Token{min: minimum, ahead: pack(ahead)}
	if t.ahead.len() < len(ahead) {
		return Token{}, fmt.Errorf("%w: two positions of one writer in %v", ErrToken, ahead)
	}
	return t, nil
}

// Min returns the number up to which the token has everything.
func (t Token) Min() Number { return t.min }

// Max returns the number above which the token has nothing.
func (t Token) Max() Number {
	highest := t.min
	for p := range t.Ahead() {
		highest = max(highest, p.Number)
	}
	return highest
}

// Of returns the position up to which the token has everything of a writer.
func (t Token) Of(w Writer) Position {
	if n, ok := t.ahead.of(w); ok {
		return Position{Writer: w, Number: n}
	}
	return Position{Writer: w, Number: t.min}
}

// Ahead returns the positions of the writers that are ahead of the minimum, by
// ascending writer.
func (t Token) Ahead() iter.Seq[Position] {
	return func(yield func(Position) bool) {
		for i := range t.ahead.len() {
			if !yield(t.ahead.at(i)) {
				return
			}
		}
	}
}

// Includes reports whether a position is at or before the cut. A reader that
// stands at the token has already got the fact if so, and has yet to get it
// otherwise.
func (t Token) Includes(p Position) bool { return p.Number <= t.Of(p.Writer).Number }
