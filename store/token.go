package store

import (
	"fmt"
	"strconv"
	"strings"
)

// Token is a cut through the log of one store that a reader can carry: "at least
// this much". An append returns one. It is comparable and can be a map key; its
// text form is URL-safe. The zero value is before everything, of any store.
type Token struct {
	incarnation Incarnation
	position    Position
}

// Incarnation tells one store from another. A backend draws it at random when
// it makes the store; it is never 0.
type Incarnation uint64

// NewToken is for backends: the token of all positions up to and including one.
func NewToken(of Incarnation, upTo Position) Token {
	if upTo <= 0 {
		return Token{}
	}
	return Token{incarnation: of, position: upTo}
}

// Cut is for backends: it returns the position up to which the token goes, for
// the store that it belongs to. Errors: [ErrForeignToken].
func (t Token) Cut(of Incarnation) (Position, error) {
	if t.IsZero() {
		return 0, nil
	}
	if t.incarnation != of {
		return 0, fmt.Errorf("%w: %s, this store is %016x", ErrForeignToken, t, uint64(of))
	}
	return t.position, nil
}

// IsZero reports whether the token is the zero token.
func (t Token) IsZero() bool { return t == Token{} }

// String returns the text form, <incarnation>:m<position>, or the empty string
// for the zero token. Later versions may put more behind it: treat it as opaque.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%016x:m%d", uint64(t.incarnation), t.position)
}

// ParseToken reads what String wrote. Errors: [ErrInvalid], with what is wrong.
func ParseToken(s string) (Token, error) {
	if s == "" {
		return Token{}, nil
	}
	invalid := func(got string) (Token, error) {
		return Token{}, &InvalidError{Field: "token", Got: got, Want: "16 hexadecimal digits, a colon, m and a number"}
	}
	const maxLen = 4096
	if len(s) > maxLen {
		return invalid(fmt.Sprintf("%d bytes long", len(s)))
	}
	front, back, ok := strings.Cut(s, ":")
	if !ok {
		return invalid(fmt.Sprintf("no colon in %q", s))
	}
	if len(front) != 16 || strings.Trim(front, "0123456789abcdef") != "" {
		return invalid(fmt.Sprintf("store %q", front))
	}
	of, err := strconv.ParseUint(front, 16, 64)
	if err != nil || of == 0 {
		return invalid(fmt.Sprintf("store %q", front))
	}
	digits, ok := strings.CutPrefix(back, "m")
	if !ok || digits == "" || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return invalid(fmt.Sprintf("position %q", back))
	}
	position, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return invalid(fmt.Sprintf("position %q", back))
	}
	return Token{incarnation: Incarnation(of), position: Position(position)}, nil
}

// MarshalText returns the text form, for JSON and the like.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote. Errors as in [ParseToken].
func (t *Token) UnmarshalText(text []byte) error {
	parsed, err := ParseToken(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}
