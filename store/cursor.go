package store

import (
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a place in the feed of changes of one store that a follower can carry:
// "what changed after this". It is no [Token], because views are made in another
// order than operations are appended. It is comparable; its text form is URL-safe.
// The zero value is before everything, of any store.
type Cursor struct {
	incarnation Incarnation
	number      int64
}

// NewCursor is for backends: the place of the change with a number, which is 1 or
// more; for less it is the zero cursor.
func NewCursor(of Incarnation, number int64) Cursor {
	if number <= 0 {
		return Cursor{}
	}
	return Cursor{incarnation: of, number: number}
}

// Number is for backends: it returns the number of the change that the cursor is
// at, for the store that it belongs to; 0 for the zero cursor. last is the greatest
// number that may have been given to anybody. Errors: [ErrForeignToken],
// [*FutureCursorError].
func (c Cursor) Number(of Incarnation, last int64) (int64, error) {
	switch {
	case c.IsZero():
		return 0, nil
	case c.incarnation != of:
		return 0, fmt.Errorf("%w: cursor %s, this store is %016x", ErrForeignToken, c, uint64(of))
	case c.number > last:
		return 0, &FutureCursorError{Cursor: c, Last: NewCursor(of, last)}
	}
	return c.number, nil
}

// IsZero reports whether the cursor is the zero cursor.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Before reports whether the change at c was made before the one at d, in the same
// store. The zero cursor is before all others.
func (c Cursor) Before(d Cursor) bool {
	return c.number < d.number && (c.IsZero() || c.incarnation == d.incarnation)
}

// String returns the text form, <incarnation>:c<number>, or the empty string for
// the zero cursor. Treat it as opaque.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return fmt.Sprintf("%016x:c%d", uint64(c.incarnation), c.number)
}

// ParseCursor reads what String wrote, and only that. Errors: [ErrInvalid], with
// what is wrong.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	invalid := &InvalidError{
		Field: "cursor", Got: quoted(text), Want: "16 lower-case hexadecimal digits that are not 0, a colon, c and a number from 1",
	}
	front, back, ok := strings.Cut(text, ":c")
	if !ok || len(front) != 16 || strings.Trim(front, "0123456789abcdef") != "" ||
		back == "" || back[0] == '0' || strings.Trim(back, "0123456789") != "" {
		return Cursor{}, invalid
	}
	of, err := strconv.ParseUint(front, 16, 64)
	if err != nil || of == 0 {
		return Cursor{}, invalid
	}
	number, err := strconv.ParseInt(back, 10, 64)
	if err != nil {
		return Cursor{}, invalid
	}
	return Cursor{incarnation: Incarnation(of), number: number}, nil
}

// MarshalText returns the text form, for JSON and the like.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote. Errors as in [ParseCursor]; the cursor
// is unchanged then.
func (c *Cursor) UnmarshalText(text []byte) error {
	parsed, err := ParseCursor(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// FutureCursorError says how far the feed is. It is an [ErrFutureToken].
type FutureCursorError struct {
	Cursor Cursor
	// Last is the last place that may have been given to anybody.
	Last Cursor
}

func (e *FutureCursorError) Error() string {
	return fmt.Sprintf("refold: cursor is beyond the end of the feed of changes: %s, the last is %s", e.Cursor, e.Last)
}

// Is reports whether target is [ErrFutureToken].
func (e *FutureCursorError) Is(target error) bool { return target == ErrFutureToken }
