package position

import (
	"fmt"
	"math"
	"strings"
)

// ParseToken reads the text of a token. Besides the canonical text it reads what
// can be made canonical without a guess: a number alone, the minimum without
// anything behind; empty entries, as in m5~ and m5~~1.6; writers in any order, of
// one that is given twice the last; leading zeros, and single underscores between
// digits. Everything else is a [TextError], among it an entry at or below the
// minimum, a sign other than a minus, space, and digits that are not ASCII.
func ParseToken(text string) (Token, error) { return ParseTokenOf(text, nil) }

// ParseTokenOf reads the text of a token like [ParseToken] and refuses one that
// names a writer that is not known: waiting for it would not end.
func ParseTokenOf(text string, known func(Writer) bool) (Token, error) {
	if len(text) > MaxText {
		return Token{}, textError(text, MaxText, fmt.Sprintf("%d bytes are more than %d", len(text), MaxText))
	}
	return parse(text, known)
}

// UnmarshalText reads the text of a token. Errors as in [ParseToken]; the token
// is unchanged then.
func (t *Token) UnmarshalText(text []byte) error {
	parsed, err := ParseToken(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

func parse(text string, known func(Writer) bool) (Token, error) {
	rest, vector := strings.CutPrefix(text, "m")
	s := scanner{text: text, at: len(text) - len(rest)}
	minimum, err := s.number(vector)
	if err != nil {
		return Token{}, err
	}
	if !vector && !s.end() {
		return Token{}, s.fail("more behind a number alone, which begins with m if it has writers")
	}
	var room [16]Position
	ahead := room[:0]
	for !s.end() {
		if !s.skip('~') {
			return Token{}, s.fail("want ~ or the end")
		}
		if s.end() || s.peek() == '~' {
			continue
		}
		p, err := s.entry(minimum, known)
		if err != nil {
			return Token{}, err
		}
		if len(ahead) == MaxWriters {
			return Token{}, s.fail(fmt.Sprintf("more than %d writers", MaxWriters))
		}
		ahead = append(ahead, p)
	}
	return Token{min: minimum, ahead: pack(ahead)}, nil
}

// scanner walks through a text from left to right.
type scanner struct {
	text string
	at   int // offset of the next byte
}

func (s *scanner) end() bool  { return s.at == len(s.text) }
func (s *scanner) peek() byte { return s.text[s.at] }

func (s *scanner) skip(b byte) bool {
	if s.end() || s.peek() != b {
		return false
	}
	s.at++
	return true
}

func (s *scanner) fail(cause string) *TextError { return textError(s.text, s.at, cause) }

func (s *scanner) entry(minimum Number, known func(Writer) bool) (Position, error) {
	start := s.at
	w, err := s.number(false)
	if err != nil {
		return Position{}, err
	}
	if w < 1 || w > Number(MaxWriter) {
		return Position{}, textError(s.text, start, fmt.Sprintf("writer %d is not in 1 to %d", w, MaxWriter))
	}
	if known != nil && !known(Writer(w)) {
		return Position{}, textError(s.text, start, fmt.Sprintf("writer %d is not known", w))
	}
	if !s.skip('.') {
		return Position{}, s.fail("want a dot behind the writer")
	}
	start = s.at
	n, err := s.number(true)
	if err != nil {
		return Position{}, err
	}
	if n <= minimum {
		return Position{}, textError(s.text, start, fmt.Sprintf("%d is not above the minimum %d", n, minimum))
	}
	return Position{Writer: Writer(w), Number: n}, nil
}

// number reads digits, behind a minus if that is allowed.
func (s *scanner) number(signed bool) (Number, error) {
	negative := signed && s.skip('-')
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	start, n := s.at, uint64(0)
	for !s.end() {
		c := s.peek()
		if c == '_' && s.at > start && s.at+1 < len(s.text) && digit(s.text[s.at-1]) && digit(s.text[s.at+1]) {
			s.at++
			continue
		}
		if !digit(c) {
			break
		}
		d := uint64(c - '0')
		if n > (limit-d)/10 {
			return 0, textError(s.text, start, "number is too large for 64 bits")
		}
		n = n*10 + d
		s.at++
	}
	if s.at == start {
		return 0, s.fail("want a digit")
	}
	if negative {
		if n == 0 {
			return 0, textError(s.text, start-1, "minus zero")
		}
		return Number(-n), nil // #nosec G115 -- n is at most 2^63 here
	}
	return Number(n), nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
