package position_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/refold-go/refold/store/position"
)

func TestStoreTokenText(t *testing.T) {
	for _, c := range []struct {
		token position.StoreToken
		text  string
	}{
		{position.StoreToken{}, ""},
		{position.TokenAt(0).In(7), "0000000000000007:m0"},
		{position.TokenAt(1).In(7), "0000000000000007:m1"},
		{position.TokenAt(42).In(0xfedcba9876543210), "fedcba9876543210:m42"},
		{position.TokenAt(math.MaxInt64).In(math.MaxUint64), "ffffffffffffffff:m9223372036854775807"},
		{token(t, "m5~1.6~2.9").In(7), "0000000000000007:m5~1.6~2.9"},
	} {
		if got := c.token.String(); got != c.text {
			t.Errorf("token is written %q, want %q", got, c.text)
		}
		if got, err := position.ParseStoreToken(c.text); err != nil || got != c.token {
			t.Errorf("%q is read as %v, %v, want %v", c.text, got, err, c.token)
		}
		if c.token.IsZero() != (c.text == "") {
			t.Errorf("%q: IsZero is %t", c.text, c.token.IsZero())
		}
	}
}

func TestParseStoreTokenRefuses(t *testing.T) {
	for text, offset := range map[string]int{
		" ": 1, ":": 0, "m1": 2, "0000000000000007": 16, "0000000000000007:": 17, "0000000000000007:m": 18,
		"0000000000000007:1": 17, "0000000000000007:m01": 18, "0000000000000007:m5~": 19, "0000000000000007:m5~~1.6": 20,
		"0000000000000007:m5~2.9~1.6": 20, "0000000000000007:m5~1.6~1.7": 22, "0000000000000007:m5~1.5": 22,
		"0000000000000007:m1_0": 19, "0000000000000007:m1 ": 19, "0000000000000007:m1:m2": 19,
		"0000000000000000:m1": 0, "000000000000007:m1": 0, "000000000000000F:m1": 0, "0x00000000000007:m1": 0, "+000000000000007:m1": 0,
		"0000000000000007:m9223372036854775808": 18, strings.Repeat("0", 5000): 4096,
	} {
		got, err := position.ParseStoreToken(text)
		e, ok := errors.AsType[*position.TextError](err)
		if !ok || !got.IsZero() || e.Offset != offset || len(err.Error()) > 300 {
			t.Errorf("%.40q is read as %v, %v, want an error at %d", text, got, err, offset)
		}
	}
}

func TestStoreTokenOfAnotherStore(t *testing.T) {
	if cut, err := position.TokenAt(42).In(7).Cut(7); err != nil || cut != position.TokenAt(42) {
		t.Errorf("cut is %s, %v", cut, err)
	}
	if cut, err := (position.StoreToken{}).Cut(7); err != nil || cut != position.TokenAt(0) {
		t.Errorf("cut of the zero token is %s, %v", cut, err)
	}
	_, err := position.TokenAt(42).In(8).Cut(7)
	if !errors.Is(err, position.ErrForeign) || !strings.Contains(err.Error(), "0000000000000008") {
		t.Errorf("cut by another store: %v", err)
	}
}

func TestTokensInJSON(t *testing.T) {
	type reply struct {
		Token position.Token
		Store position.StoreToken
		Zero  position.StoreToken
		Seen  map[position.Token]int
	}
	cut := token(t, "m5~1.6")
	text, err := json.Marshal(reply{Token: cut, Store: cut.In(7), Seen: map[position.Token]int{cut: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"Token":"m5~1.6","Store":"0000000000000007:m5~1.6","Zero":"","Seen":{"m5~1.6":1}}`; string(text) != want {
		t.Errorf("JSON is %s, want %s", text, want)
	}
	var read reply
	if err := json.Unmarshal(text, &read); err != nil || read.Token != cut || read.Store != cut.In(7) || read.Seen[cut] != 1 {
		t.Errorf("JSON is read as %+v, %v", read, err)
	}
	kept := read
	if err := json.Unmarshal([]byte(`{"Token":"nonsense"}`), &kept); !errors.Is(err, position.ErrToken) || kept.Token != cut {
		t.Errorf("nonsense is read as %v, %v", kept, err)
	}
	if err := json.Unmarshal([]byte(`{"Store":"nonsense"}`), &kept); !errors.Is(err, position.ErrToken) || kept.Store != cut.In(7) {
		t.Errorf("nonsense is read as %v, %v", kept, err)
	}
}

// many returns a token of n writers ahead.
func many(t testing.TB, n int, number position.Number) position.Token {
	t.Helper()
	var ps []position.Position
	for w := range n {
		ps = append(ps, at(position.Writer(w+1), number))
	}
	token, err := position.NewToken(0, ps...)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokenLimits(t *testing.T) {
	for _, c := range []struct {
		writers int
		number  position.Number
		fits    bool
	}{
		{700, 1, true}, {702, 1, false}, {131, math.MaxInt64, true}, {300, math.MaxInt64, false}, {1025, 1, false},
	} {
		token := many(t, c.writers, c.number)
		text, err := token.MarshalText()
		if (err == nil) != c.fits || err != nil && !errors.Is(err, position.ErrTooLarge) {
			t.Errorf("%d writers at %d: %d bytes, %v", c.writers, c.number, len(text), err)
		}
		if again, err := position.ParseToken(token.String()); (err == nil) != c.fits || c.fits && again != token {
			t.Errorf("%d writers at %d: read as %v", c.writers, c.number, err)
		}
	}
	at4096 := "m" + strings.Repeat("0", position.MaxText-2) + "1"
	if got, err := position.ParseToken(at4096); err != nil || got != position.TokenAt(1) {
		t.Errorf("%d bytes are read as %s, %v", len(at4096), got, err)
	}
	if _, err := position.ParseToken(at4096 + "~"); !errors.Is(err, position.ErrToken) {
		t.Errorf("4097 bytes are read, %v", err)
	}
	if _, err := position.ParseToken("m5" + strings.Repeat("~1.6", 1023)); err != nil {
		t.Errorf("1023 entries: %v", err)
	}
	// The whole text of a store's token has the limit.
	text := many(t, 700, 1).In(7)
	if got, err := text.MarshalText(); !errors.Is(err, position.ErrTooLarge) || got == nil || len(got) != 0 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestTokensOfOneWriterDoNotAllocate(t *testing.T) {
	room := make([]byte, 0, 64)
	for _, text := range []string{"m5", "m5~1.6"} {
		other := token(t, "m4~1.7")
		if n := testing.AllocsPerRun(100, func() {
			got, err := position.ParseToken(text)
			if err != nil {
				t.Fatal(err)
			}
			joined := got.Join(other).With(at(1, 9)).Bound(8)
			if _, err := joined.AppendText(room); err != nil || joined.AtMost(got) {
				t.Fatal(joined)
			}
			if _, err := joined.In(7).AppendText(room); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}
