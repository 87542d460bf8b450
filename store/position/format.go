package position

import (
	"fmt"
	"strconv"
)

// Limits of the text of a token. In memory a token may be larger, but it is not
// written then. The longest numbers fill [MaxText] with about 130 writers, the
// shortest with about 700.
const (
	MaxText    = 4096 // bytes, with the incarnation if there is one
	MaxWriters = 1024 // writers ahead of the minimum
)

// String returns the text of the token, m<min> and then ~<writer>.<number> for
// each writer ahead, also if it is too large to be read again.
func (t Token) String() string {
	var room [64]byte
	return string(t.append(room[:0]))
}

// AppendText appends the text of the token. It is plain ASCII, needs no escaping
// in a URL, and is canonical: equal tokens have equal texts. Errors:
// [ErrTooLarge], and nothing is appended.
func (t Token) AppendText(b []byte) ([]byte, error) {
	return t.appendWithin(b, MaxText)
}

func (t Token) appendWithin(b []byte, room int) ([]byte, error) {
	if n := t.ahead.len(); n > MaxWriters {
		return b, fmt.Errorf("%w: %d writers are more than %d", ErrTooLarge, n, MaxWriters)
	}
	before := len(b)
	b = t.append(b)
	if n := len(b) - before; n > room {
		return b[:before], fmt.Errorf("%w: %d bytes are more than %d", ErrTooLarge, n, room)
	}
	return b, nil
}

// MarshalText returns the text of the token, for JSON and the like. Errors as in
// AppendText.
func (t Token) MarshalText() ([]byte, error) { return t.AppendText(nil) }

func (t Token) append(b []byte) []byte {
	b = append(b, 'm')
	b = strconv.AppendInt(b, int64(t.min), 10)
	for i := range t.ahead.len() {
		p := t.ahead.at(i)
		b = append(b, '~')
		b = strconv.AppendUint(b, uint64(p.Writer), 10)
		b = append(b, '.')
		b = strconv.AppendInt(b, int64(p.Number), 10)
	}
	return b
}
