package position_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/refold-go/refold/store/position"
)

// token reads a text that has to be canonical.
func token(t *testing.T, text string) position.Token {
	t.Helper()
	got, err := position.ParseToken(text)
	if err != nil || got.String() != text {
		t.Fatalf("%q is read as %v, %v", text, got, err)
	}
	return got
}

func at(w position.Writer, n position.Number) position.Position {
	return position.Position{Writer: w, Number: n}
}

func TestVectors_Parse(t *testing.T) {
	known := func(w position.Writer) bool { return w <= 3 }
	for _, c := range []struct {
		text, want string
		offset     int
		cause      string // if want is empty
	}{
		{text: "5", want: "m5"},
		{text: "0", want: "m0"},
		{text: "s5", offset: 0, cause: "want a digit"},
		{text: "s0", offset: 0, cause: "want a digit"},
		{text: "s-5", offset: 0, cause: "want a digit"},
		{text: "t3-5", offset: 0, cause: "want a digit"},
		{text: "t-3-5", offset: 0, cause: "want a digit"},
		{text: "m5", want: "m5"},
		{text: "m5~", want: "m5"},
		{text: "m5~~1.6", want: "m5~1.6"},
		{text: "m5~1.6", want: "m5~1.6"},
		{text: "m5~1.6~2.9", want: "m5~1.6~2.9"},
		{text: "m5~1.5", offset: 5, cause: "5 is not above the minimum 5"},
		{text: "m5~1.4", offset: 5, cause: "4 is not above the minimum 5"},
		{text: "m5~9.6", offset: 3, cause: "writer 9 is not known"},
		{text: "m5~1.6.7", offset: 6, cause: "want ~ or the end"},
		{text: "m5~a.6", offset: 3, cause: "want a digit"},
		{text: "m5~1", offset: 4, cause: "want a dot behind the writer"},
		{text: "m5~1.6~1.7", want: "m5~1.7"},
		{text: "m-5~1.-3", want: "m-5~1.-3"},
		{text: "", offset: 0, cause: "want a digit"},
		{text: "x5", offset: 0, cause: "want a digit"},
		{text: "5~1.6", offset: 1, cause: "more behind a number alone"},
		{text: " 5", offset: 0, cause: "want a digit"},
		{text: "+5", offset: 0, cause: "want a digit"},
		{text: "-5", offset: 0, cause: "want a digit"},
		{text: "s 5", offset: 0, cause: "want a digit"},
		{text: "s5 ", offset: 0, cause: "want a digit"},
		{text: "s+5", offset: 0, cause: "want a digit"},
		{text: "s05", offset: 0, cause: "want a digit"},
		{text: "s1_0", offset: 0, cause: "want a digit"},
		{text: "s５", offset: 0, cause: "want a digit"},
		{text: "s99999999999999999999999", offset: 0, cause: "want a digit"},
		{text: "m5~01.6", want: "m5~1.6"},
		{text: "m5~1.6_0", want: "m5~1.60"},

		// Ours: order, limits of the numbers, and what is close to the above.
		{text: "m5~2.9~1.6", want: "m5~1.6~2.9"},
		{text: "m5~2.9~1.6~2.8~1.7", want: "m5~1.7~2.8"},
		{text: "m05", want: "m5"},
		{text: "m9223372036854775807", want: "m9223372036854775807"},
		{text: "m9223372036854775808", offset: 1, cause: "too large"},
		{text: "m-9223372036854775808~1.9223372036854775807", want: "m-9223372036854775808~1.9223372036854775807"},
		{text: "m-9223372036854775809", offset: 2, cause: "too large"},
		{text: "m99999999999999999999999", offset: 1, cause: "too large"},
		{text: "m5~0.6", offset: 3, cause: "writer 0 is not in 1 to 2147483647"},
		{text: "m5~2147483648.6", offset: 3, cause: "is not in 1 to"},
		{text: "m5~-1.6", offset: 3, cause: "want a digit"},
		{text: "m-0", offset: 1, cause: "minus zero"},
		{text: "m５", offset: 1, cause: "want a digit"},
		{text: "m5 ", offset: 2, cause: "want ~ or the end"},
		{text: "m 5", offset: 1, cause: "want a digit"},
		{text: "m+5", offset: 1, cause: "want a digit"},
		{text: "m_5", offset: 1, cause: "want a digit"},
		{text: "m5_", offset: 2, cause: "want ~ or the end"},
		{text: "m5__0", offset: 2, cause: "want ~ or the end"},
		{text: "m", offset: 1, cause: "want a digit"},
		{text: "m5~1.", offset: 5, cause: "want a digit"},
		{text: "m5~1.6\n", offset: 6, cause: "want ~ or the end"},
	} {
		got, err := position.ParseTokenOf(c.text, known)
		if c.want != "" {
			if err != nil || got.String() != c.want {
				t.Errorf("%q is read as %v, %v, want %s", c.text, got, err, c.want)
			}
			continue
		}
		e, ok := errors.AsType[*position.TextError](err)
		if !ok || !errors.Is(err, position.ErrToken) || got != (position.Token{}) {
			t.Errorf("%q is read as %v, %v", c.text, got, err)
		} else if e.Offset != c.offset || !strings.Contains(e.Cause, c.cause) {
			t.Errorf("%q is refused at %d: %s, want at %d: %s", c.text, e.Offset, e.Cause, c.offset, c.cause)
		}
	}
}

func TestVectors_Format(t *testing.T) {
	for _, c := range []struct {
		min   position.Number
		ahead []position.Position
		want  string // or nothing, if it is refused
	}{
		{5, nil, "m5"},
		{5, []position.Position{at(1, 6)}, "m5~1.6"},
		{5, []position.Position{at(2, 9), at(1, 6)}, "m5~1.6~2.9"},
		{5, []position.Position{at(1, 6), at(2, 9)}, "m5~1.6~2.9"},
		{5, []position.Position{at(1, 5)}, ""},
		{5, []position.Position{at(1, 4)}, ""},
		{5, []position.Position{at(1, 6), at(1, 7)}, ""},
		{5, []position.Position{at(0, 6)}, ""},
		{5, []position.Position{at(1<<31, 6)}, ""},
	} {
		before := slices.Clone(c.ahead)
		got, err := position.NewToken(c.min, c.ahead...)
		if c.want == "" {
			if !errors.Is(err, position.ErrToken) || got != (position.Token{}) {
				t.Errorf("%d %v is the token %s, %v", c.min, c.ahead, got, err)
			}
			continue
		}
		if err != nil || got.String() != c.want || got != token(t, c.want) {
			t.Errorf("%d %v is the token %s, %v, want %s", c.min, c.ahead, got, err, c.want)
		}
		if !slices.Equal(c.ahead, before) {
			t.Errorf("the argument was changed to %v", c.ahead)
		}
	}
}

func TestVectors_Order(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want position.Order
	}{
		{"m5", "m5", position.Equal},
		{"m5", "m6", position.Before},
		{"m6", "m5~1.7", position.Unordered},
		{"m5~1.7", "m5~2.7", position.Unordered},
		{"m5~1.7~2.8", "m6", position.Unordered},
		{"m5~1.7~2.8", "m7", position.Unordered},
		{"m5~1.7~2.8", "m6~1.8", position.Unordered},
		{"m5~1.7", "m7", position.Before},
		{"m5~1.6", "m6", position.Before},
		{"m5", "m5~1.6", position.Before},
		{"m5~1.6", "m5~1.7", position.Before},
		{"m5~1.6", "m5~1.6~2.7", position.Before},
		{"m5~1.6~3.7", "m5~2.7~3.7", position.Unordered},
	} {
		a, b := token(t, c.a), token(t, c.b)
		mirrored := map[position.Order]position.Order{position.Before: position.After, position.After: position.Before}
		back, ok := mirrored[c.want]
		if !ok {
			back = c.want
		}
		if got := a.Compare(b); got != c.want {
			t.Errorf("%s is %s to %s, want %s", a, got, b, c.want)
		}
		if got := b.Compare(a); got != back {
			t.Errorf("%s is %s to %s, want %s", b, got, a, back)
		}
		if got, want := a.AtMost(b), c.want == position.Before || c.want == position.Equal; got != want {
			t.Errorf("%s at most %s: %t", a, b, got)
		}
		if (a == b) != (c.want == position.Equal) {
			t.Errorf("%s == %s: %t", a, b, a == b)
		}
	}
}

func TestVectors_Join(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"m6", "m5~1.7", "m6~1.7"},
		{"m7", "m5~1.7~2.8", "m7~2.8"},
		{"m6", "m5~1.6", "m6"},
		{"m6~1.8", "m5~2.7", "m6~1.8~2.7"},
		{"m5~1.7~3.9", "m5~2.8~3.7", "m5~1.7~2.8~3.9"},
		{"m5~1.7~2.6~4.9", "m6~3.8", "m6~1.7~3.8~4.9"},
		{"m5", "m5", "m5"},
	} {
		a, b, want := token(t, c.a), token(t, c.b), token(t, c.want)
		if got := a.Join(b); got != want {
			t.Errorf("%s joined with %s is %s, want %s", a, b, got, want)
		}
		if got := b.Join(a); got != want {
			t.Errorf("%s joined with %s is %s, want %s", b, a, got, want)
		}
	}
	for _, c := range []struct {
		token string
		p     position.Position
		want  string
	}{
		{"m5", at(1, 8), "m5~1.8"},
		{"m0", at(0, 8), "m8"}, // a position whose writer is not known, as a token
		{"m5~1.8", at(1, 7), "m5~1.8"},
		{"m5~1.8", at(2, 7), "m5~1.8~2.7"},
		{"m5~2.7", at(1, 8), "m5~1.8~2.7"},
		{"m5", at(1, 5), "m5"},
		{"m5~1.8", at(0, 6), "m6~1.8"},
	} {
		if got := token(t, c.token).With(c.p); got != token(t, c.want) {
			t.Errorf("%s with %s is %s, want %s", c.token, c.p, got, c.want)
		}
	}
}

func TestVectors_Bound(t *testing.T) {
	for _, c := range []struct {
		token string
		at    position.Number
		want  string
	}{
		{"m5", 9, "m5"},
		{"m5", 3, "m3"},
		{"m5~1.7~2.9", 9, "m5~1.7~2.9"},
		{"m5~1.7~2.9", 8, "m5~1.7~2.8"},
		{"m5~1.7~2.9", 7, "m5~1.7~2.7"},
		{"m5~1.7~2.9", 5, "m5"},
		{"m5~1.7~2.9", 3, "m3"},
	} {
		if got := token(t, c.token).Bound(c.at); got != token(t, c.want) {
			t.Errorf("%s bound at %d is %s, want %s", c.token, c.at, got, c.want)
		}
	}
}

func TestVectors_Positions(t *testing.T) {
	for text, want := range map[string]position.Number{"m5": 5, "m5~1.7~2.8": 8, "m-5~1.-3": -3} {
		if got := token(t, text).Max(); got != want {
			t.Errorf("the greatest of %s is %d, want %d", text, got, want)
		}
	}
	if got := token(t, "m5~1.7").Of(3); got != at(3, 5) {
		t.Errorf("writer 3 is at %s, want 3.5", got)
	}
	if got := slices.Collect(token(t, "m5~1.7~2.8~9.6").Ahead()); !slices.Equal(got, []position.Position{at(1, 7), at(2, 8), at(9, 6)}) {
		t.Errorf("ahead are %v", got)
	}
	for _, c := range []struct {
		p    position.Position
		want bool // is it after m5~1.7
	}{
		{at(1, 7), false}, {at(1, 8), true}, {at(2, 5), false}, {at(2, 6), true}, {at(3, 6), true},
	} {
		if got := !token(t, "m5~1.7").Includes(c.p); got != c.want {
			t.Errorf("%s is after m5~1.7: %t", c.p, got)
		}
	}
}

func TestVectors_Between(t *testing.T) {
	r := position.Between(token(t, "m5~1.7"), token(t, "m9~2.12"))
	for _, c := range []struct {
		p    position.Position
		want bool
	}{
		{at(1, 7), false}, {at(1, 8), true}, {at(1, 9), true}, {at(1, 10), false},
		{at(2, 5), false}, {at(2, 6), true}, {at(2, 12), true}, {at(2, 13), false},
		{at(0, 5), false}, {at(0, 6), true}, {at(0, 9), true}, {at(0, 10), false},
	} {
		if got := r.Contains(c.p); got != c.want {
			t.Errorf("%s is in the range: %t", c.p, got)
		}
	}
	if low, high := r.Bounds(position.Up); low != 6 || high != 12 {
		t.Errorf("upward the range is %d to %d, want 6 to 12", low, high)
	}
	if low, high := r.Bounds(position.Down); low != -12 || high != -6 {
		t.Errorf("downward the range is %d to %d, want -12 to -6", low, high)
	}
	for _, texts := range [][2]string{{"m9", "m9"}, {"m9", "m5~1.7"}, {"m9223372036854775807", "m9223372036854775807"}} {
		empty := position.Between(token(t, texts[0]), token(t, texts[1]))
		if low, high := empty.Bounds(position.Up); low <= high {
			t.Errorf("the range %v is %d to %d", texts, low, high)
		}
	}
}
