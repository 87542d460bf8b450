package position_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/refold-go/refold/store/position"
)

var tokenSeeds = []string{
	"", "5", "0", "s5", "t3-5", "m5", "m5~", "m5~~1.6", "m5~1.6~2.9", "m5~1.5", "m5~9.6", "m5~1.6.7", "m5~a.6",
	"m5~1", "m5~1.6~1.7", "m-5~1.-3", "x5", "5~1.6", " 5", "+5", "-5", "m05", "m5~01.6", "m5~1.6_0", "m5~2.9~1.6",
	"m9223372036854775807", "m-9223372036854775808~2147483647.9223372036854775807", "m5~2147483648.6", "m-0",
	"m5~1.6~1.７", "\xff", "m5\x00", "m5~300.6~20.6~1.6~1000000.6",
}

// What is read is written canonically, and what is written is read as it was.
func FuzzParseToken(f *testing.F) {
	for _, seed := range tokenSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := position.ParseToken(text)
		if err != nil {
			e, ok := errors.AsType[*position.TextError](err)
			if !ok || got != (position.Token{}) || e.Offset < 0 || e.Offset > len(text) || e.Cause == "" {
				t.Fatalf("%q is read as %v, %#v", text, got, err)
			}
			return
		}
		canonical, err := got.MarshalText()
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", text, err)
		}
		if len(canonical) > len(text)+1 { // a number alone gets its m
			t.Fatalf("%q became longer, %q", text, canonical)
		}
		again, err := position.ParseToken(string(canonical))
		if err != nil || again != got || again.String() != string(canonical) {
			t.Fatalf("%q is written %q and read as %v, %v", text, canonical, again, err)
		}
		if strings.Trim(string(canonical), "m~.-0123456789") != "" {
			t.Fatalf("%q is written %q", text, canonical)
		}
		var last position.Writer
		for p := range got.Ahead() {
			if p.Writer <= last || p.Number <= got.Min() || got.Of(p.Writer) != p {
				t.Fatalf("%q is read as %s with %s", text, got, p)
			}
			last = p.Writer
		}
	})
}

func FuzzParseStoreToken(f *testing.F) {
	for _, seed := range tokenSeeds {
		f.Add(seed)
		f.Add("0000000000000007:" + seed)
	}
	f.Add("ffffffffffffffff:m9223372036854775807")
	f.Add("0000000000000000:m1")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := position.ParseStoreToken(text)
		if err != nil {
			e, ok := errors.AsType[*position.TextError](err)
			if !ok || !got.IsZero() || e.Offset < 0 || e.Offset > len(text) {
				t.Fatalf("%q is read as %v, %#v", text, got, err)
			}
			return
		}
		if canonical, err := got.MarshalText(); err != nil || string(canonical) != text || got.String() != text {
			t.Fatalf("%q is written %q, %v", text, canonical, err)
		}
	})
}

// Order, join and bound do what they do to sets of positions.
func FuzzTokenAlgebra(f *testing.F) {
	f.Add(int8(5), []byte{1, 7}, int8(5), []byte{2, 7}, int8(6))
	f.Add(int8(6), []byte{}, int8(5), []byte{1, 7, 2, 8, 3, 9}, int8(3))
	f.Add(int8(-6), []byte{9, 3}, int8(5), []byte{1, 7, 2, 8, 3, 9}, int8(8))
	f.Fuzz(func(t *testing.T, aMin int8, aAhead []byte, bMin int8, bAhead []byte, bound int8) {
		const writers = 6
		type set map[position.Position]bool
		build := func(minimum int8, ahead []byte) (position.Token, set) {
			all := map[position.Writer]position.Position{}
			for i := 0; i+1 < len(ahead); i += 2 {
				if p := at(1+position.Writer(ahead[i])%writers, position.Number(int8(ahead[i+1]))); p.Number > position.Number(minimum) {
					all[p.Writer] = p
				}
			}
			token, err := position.NewToken(position.Number(minimum), slices.Collect(maps.Values(all))...)
			if err != nil {
				t.Fatal(err)
			}
			in := set{}
			for w := range position.Writer(writers + 2) {
				for n := position.Number(-130); n < 130; n++ {
					if last, ok := all[w]; n <= position.Number(minimum) || ok && n <= last.Number {
						in[at(w, n)] = true
					}
				}
			}
			return token, in
		}
		a, inA := build(aMin, aAhead)
		b, inB := build(bMin, bAhead)
		subset := func(x, y set) bool {
			for p := range x {
				if !y[p] {
					return false
				}
			}
			return true
		}
		if a.AtMost(b) != subset(inA, inB) || b.AtMost(a) != subset(inB, inA) || (a == b) != maps.Equal(inA, inB) {
			t.Fatalf("%s is %s to %s", a, a.Compare(b), b)
		}
		join, cut := a.Join(b), a.Bound(position.Number(bound))
		between := position.Between(a, b)
		low, high := between.Bounds(position.Up)
		for w := range position.Writer(writers + 2) {
			for n := position.Number(-130); n < 130; n++ {
				p := at(w, n)
				if join.Includes(p) != (inA[p] || inB[p]) {
					t.Fatalf("%s joined with %s is %s, and %s", a, b, join, p)
				}
				if cut.Includes(p) != (inA[p] && n <= position.Number(bound)) {
					t.Fatalf("%s bound at %d is %s, and %s", a, bound, cut, p)
				}
				if between.Contains(p) != (inB[p] && !inA[p]) || between.Contains(p) && (position.Stored(n) < low || position.Stored(n) > high) {
					t.Fatalf("between %s and %s, which is %d to %d, and %s", a, b, low, high, p)
				}
			}
		}
	})
}
