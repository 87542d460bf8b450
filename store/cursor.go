package store

import (
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a place in the feed of changes of one store that a follower can carry:
// "what changed after this". It is no [Token], because views are made in another
// order than operations are appended. It is comparable; its text form is URL-safe.
// The zero value is before everything, of any store. Two cursors can be at the same
// place without being ==, if one comes from the middle of a loop: see
// [Cursor.Before].
//
// A cursor may have a minor number: then it is on the way to the change with its
// number, a switch to another generation; see [Following].
type Cursor struct {
	incarnation Incarnation
	number      int64
	minor       int64 // less than number; 0 is none, which is the greatest
	// open is how far the place up to which everything was returned is behind number;
	// 0 at the end of a loop.
	open int64
}

// NewCursor is for backends: the place of the change with a number, which is 1 or
// more; for less it is the zero cursor.
func NewCursor(of Incarnation, number int64) Cursor {
	if number <= 0 {
		return Cursor{}
	}
	return Cursor{incarnation: of, number: number}
}

// Behind is for backends: the cursor in the middle of a loop that has returned
// everything up to the change complete, and not yet everything up to its own.
func (c Cursor) Behind(complete int64) Cursor {
	if !c.IsZero() {
		c.open = max(c.number-max(complete, 0), 0)
	}
	return c
}

// Complete is for backends: the number of the change up to which whoever has the
// cursor was given everything. It is that of the cursor, or less.
func (c Cursor) Complete() int64 { return c.number - c.open }

// Number is for backends: it returns the number of the change that the cursor is
// at, for the store that it belongs to; 0 for the zero cursor. last is the greatest
// number that may have been given to anybody. For a cursor with a minor number it is
// the number before. Errors: [ErrForeignToken], [*FutureCursorError].
func (c Cursor) Number(of Incarnation, last int64) (int64, error) {
	switch {
	case c.IsZero():
		return 0, nil
	case c.incarnation != of:
		return 0, fmt.Errorf("%w: cursor %s, this store is %016x", ErrForeignToken, c, uint64(of))
	case c.number > last:
		return 0, &FutureCursorError{Cursor: c, Last: NewCursor(of, last)}
	case c.minor > 0:
		return c.number - 1, nil
	}
	return c.number, nil
}

// IsZero reports whether the cursor is the zero cursor.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Before reports whether the change at c was made before the one at d, in the same
// store. The zero cursor is before all others.
func (c Cursor) Before(d Cursor) bool {
	if c.number == d.number {
		return c.incarnation == d.incarnation && c.minor != 0 && (d.minor == 0 || c.minor < d.minor)
	}
	return c.number < d.number && (c.IsZero() || c.incarnation == d.incarnation)
}

// String returns the text form, <incarnation>:c<number>, perhaps .<minor>, and
// ~<complete> if that is less; or the empty string for the zero cursor. Treat it as
// opaque.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	text := fmt.Sprintf("%016x:c%d", uint64(c.incarnation), c.number)
	if c.minor > 0 {
		text += fmt.Sprintf(".%d", c.minor)
	}
	if c.open > 0 {
		text += fmt.Sprintf("~%d", c.Complete())
	}
	return text
}

// ParseCursor reads what String wrote, and only that. Errors: [ErrInvalid], with
// what is wrong.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	invalid := &InvalidError{
		Field: "cursor", Got: quoted(text), Want: "16 lower-case hexadecimal digits that are not 0, a colon, c and a number from 1, perhaps a point and a lower number, perhaps a tilde and a lower number",
	}
	front, back, ok := strings.Cut(text, ":c")
	if !ok || len(front) != 16 || strings.Trim(front, "0123456789abcdef") != "" {
		return Cursor{}, invalid
	}
	of, err := strconv.ParseUint(front, 16, 64)
	if err != nil || of == 0 {
		return Cursor{}, invalid
	}
	back, rest, opened := strings.Cut(back, "~")
	back, more, minors := strings.Cut(back, ".")
	number, minor, open := changeNumber(back), int64(0), int64(0)
	if minors {
		minor = changeNumber(more)
	}
	if number == 0 || minors && (minor == 0 || minor >= number) {
		return Cursor{}, invalid
	}
	if opened {
		complete := changeNumber(rest)
		if complete >= number || complete == 0 && rest != "0" {
			return Cursor{}, invalid
		}
		open = number - complete
	}
	return Cursor{incarnation: Incarnation(of), number: number, minor: minor, open: open}, nil
}

// changeNumber reads a number from 1 as it is written; 0 for anything else.
func changeNumber(text string) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != text {
		return 0
	}
	return number
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
