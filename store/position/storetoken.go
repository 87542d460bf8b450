package position

import (
	"fmt"
	"strconv"
	"strings"
)

// Incarnation tells one life of a store from all others: it is drawn at random
// when the store is made, and again when it is restored from a backup. It is
// never 0.
type Incarnation uint64

// StoreToken is a token in the form that leaves a store: with the incarnation of
// the store in front, so that another store refuses it by name instead of waiting
// for what it will never have. It is comparable. The zero value is before
// everything, of any store.
type StoreToken struct {
	of  Incarnation
	cut Token
}

// In returns the token as the store with this incarnation gives it away. It
// panics if the incarnation is 0.
func (t Token) In(of Incarnation) StoreToken {
	if of == 0 {
		panic("position: a store's incarnation is not 0")
	}
	return StoreToken{of: of, cut: t}
}

// Cut returns the token for the store that it belongs to. Errors: [ErrForeign].
func (t StoreToken) Cut(of Incarnation) (Token, error) {
	if !t.IsZero() && t.of != of {
		return Token{}, fmt.Errorf("%w: it is of %016x, this store is %016x", ErrForeign, uint64(t.of), uint64(of))
	}
	return t.cut, nil
}

// Incarnation returns that of the store that made the token; false if it is the
// zero token.
func (t StoreToken) Incarnation() (Incarnation, bool) { return t.of, t.of != 0 }

// Max returns the number above which the token has nothing, see [Token.Max].
func (t StoreToken) Max() Number { return t.cut.Max() }

// IsZero reports whether the token is the zero token.
func (t StoreToken) IsZero() bool { return t.of == 0 }

// String returns the text, <incarnation>:<token> with 16 lower-case hexadecimal
// digits in front, or the empty string for the zero token; also if it is too
// large to be read again.
func (t StoreToken) String() string {
	if t.IsZero() {
		return ""
	}
	var room [80]byte
	return string(t.cut.append(t.of.append(room[:0])))
}

// AppendText appends the text of the token. Errors: [ErrTooLarge], and nothing is
// appended.
func (t StoreToken) AppendText(b []byte) ([]byte, error) {
	if t.IsZero() {
		return b, nil
	}
	before := len(b)
	b, err := t.cut.appendWithin(t.of.append(b), MaxText-incarnationSize)
	if err != nil {
		return b[:before], err
	}
	return b, nil
}

// MarshalText returns the text of the token, for JSON and the like. Errors as in
// AppendText.
func (t StoreToken) MarshalText() ([]byte, error) { return t.AppendText([]byte{}) }

// incarnationSize is the length of an incarnation and the colon behind it.
const incarnationSize = 16 + 1

func (of Incarnation) append(b []byte) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[of>>shift&15])
	}
	return append(b, ':')
}

// ParseStoreToken reads what String wrote, and only that: whoever has such a
// token got it from a store, which writes canonical ones. Errors: a [TextError].
func ParseStoreToken(text string) (StoreToken, error) {
	if text == "" {
		return StoreToken{}, nil
	}
	if len(text) > MaxText {
		return StoreToken{}, textError(text, MaxText, fmt.Sprintf("%d bytes are more than %d", len(text), MaxText))
	}
	front, back, ok := strings.Cut(text, ":")
	if !ok {
		return StoreToken{}, textError(text, len(text), "no colon behind the incarnation")
	}
	if len(front) != 16 || strings.Trim(front, "0123456789abcdef") != "" {
		return StoreToken{}, textError(text, 0, "want 16 lower-case hexadecimal digits as incarnation")
	}
	of, err := strconv.ParseUint(front, 16, 64)
	if err != nil || of == 0 {
		return StoreToken{}, textError(text, 0, "the incarnation is not 0")
	}
	cut, err := parse(back, nil)
	if e, ok := err.(*TextError); ok {
		return StoreToken{}, textError(text, e.Offset+incarnationSize, e.Cause)
	}
	var room [80]byte
	canonical := cut.append(room[:0])
	for i := range canonical {
		if i >= len(back) || back[i] != canonical[i] {
			return StoreToken{}, textError(text, i+incarnationSize, fmt.Sprintf("not canonical, want %.64s", canonical))
		}
	}
	if len(back) > len(canonical) {
		return StoreToken{}, textError(text, len(canonical)+incarnationSize, "not canonical, too long")
	}
	return StoreToken{of: Incarnation(of), cut: cut}, nil
}

// UnmarshalText reads what MarshalText wrote. Errors as in [ParseStoreToken]; the
// token is unchanged then.
func (t *StoreToken) UnmarshalText(text []byte) error {
	parsed, err := ParseStoreToken(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}
