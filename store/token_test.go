package store_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/position"
)

func TestTokenText(t *testing.T) {
	for _, c := range []struct {
		token store.Token
		text  string
	}{
		{store.Token{}, ""},
		{store.NewToken(7, 0), "0000000000000007:m0"},
		{store.NewToken(7, 1), "0000000000000007:m1"},
		{store.NewToken(0xfedcba9876543210, 42), "fedcba9876543210:m42"},
		{store.NewToken(math.MaxUint64, math.MaxInt64), "ffffffffffffffff:m9223372036854775807"},
	} {
		if got := c.token.String(); got != c.text {
			t.Errorf("token is written %q, want %q", got, c.text)
		}
		if got, err := store.ParseToken(c.text); err != nil || got != c.token {
			t.Errorf("%q is read as %v, %v, want %v", c.text, got, err, c.token)
		}
		if c.token.IsZero() != (c.text == "") {
			t.Errorf("%q: IsZero is %t", c.text, c.token.IsZero())
		}
	}
}

func TestParseTokenRefuses(t *testing.T) {
	for _, text := range []string{
		" ", ":", "m1", "1", "0000000000000007", "0000000000000007:", "0000000000000007:m", "0000000000000007:1",
		"0000000000000007m1", "0000000000000007:m01", "0000000000000007:m-0", "0000000000000007:m5~", "0000000000000007:m5~1.5", "0000000000000007:m+1",
		"0000000000000007:m1 ", " 0000000000000007:m1", "0000000000000007:m1:m2", "0000000000000007:m1_000", "0000000000000007:m1.0",
		"0000000000000007:m9223372036854775809", "0000000000000007:m99999999999999999999", "0000000000000000:m1",
		"000000000000007:m1", "00000000000000007:m1", "000000000000000G:m1", "000000000000000F:m1", "0x00000000000007:m1",
		"+000000000000007:m1", "0000000000000007:M1", "0000000000000007:m\u0661", "0000000000000007:m1\x00",
		strings.Repeat("0", 5000), "0000000000000007:m" + strings.Repeat("1", 5000),
	} {
		token, err := store.ParseToken(text)
		if !errors.Is(err, store.ErrInvalid) || !token.IsZero() {
			t.Errorf("%.40q is read as %v, %v", text, token, err)
		}
		if _, ok := errors.AsType[*position.TextError](err); !ok || len(err.Error()) > 300 {
			t.Errorf("%.40q: error is %.200v", text, err)
		}
	}
}

func TestCutOf(t *testing.T) {
	ahead, err := position.NewToken(3, position.Position{Writer: 1, Number: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token store.Token
		end   store.Position
		want  store.Position
		err   error
	}{
		{store.Token{}, 0, 0, nil},
		{store.NewToken(7, 42), 42, 42, nil},
		{store.NewToken(7, 42), 50, 42, nil},
		{position.TokenAt(0).In(7), 0, 0, nil},
		{position.TokenAt(-5).In(7), 0, 0, nil},
		{store.NewToken(7, 43), 42, 0, store.ErrFutureToken},
		{store.NewToken(7, 1), 0, 0, store.ErrFutureToken},
		{ahead.In(7), 42, 0, store.ErrFutureToken},
		{store.NewToken(8, 42), 42, 0, store.ErrForeignToken},
	} {
		got, err := store.CutOf(c.token, 7, c.end)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("cut of %s in a log up to %d is %d, %v, want %d, %v", c.token, c.end, got, err, c.want, c.err)
		}
		if errors.Is(err, store.ErrFutureToken) {
			future, ok := errors.AsType[*store.FutureTokenError](err)
			if !ok || future.Token != c.token || future.End != store.NewToken(7, c.end) {
				t.Errorf("cut of %s in a log up to %d: %v does not say how far the log is", c.token, c.end, err)
			}
		}
	}
}

func TestTokenInJSON(t *testing.T) {
	type reply struct {
		Token store.Token
		Seen  map[store.Token]int
	}
	token := store.NewToken(7, 42)
	text, err := json.Marshal(reply{token, map[store.Token]int{token: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"Token":"0000000000000007:m42","Seen":{"0000000000000007:m42":1}}`; string(text) != want {
		t.Errorf("JSON is %s, want %s", text, want)
	}
	var read reply
	if err := json.Unmarshal(text, &read); err != nil || read.Token != token || read.Seen[token] != 1 {
		t.Errorf("JSON is read as %+v, %v", read, err)
	}
	kept := token
	if err := json.Unmarshal([]byte(`"nonsense"`), &kept); !errors.Is(err, position.ErrToken) || kept != token {
		t.Errorf("nonsense is read as %v, %v", kept, err)
	}
}

func FuzzParseToken(f *testing.F) {
	for _, seed := range []string{
		"", "0000000000000007:m1", "ffffffffffffffff:m9223372036854775807", "0000000000000007:m9223372036854775808",
		"0000000000000000:m1", "0000000000000007:m01", "0000000000000007:m1:m2", "x:m1", ":", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := store.ParseToken(text)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) || !token.IsZero() {
				t.Fatalf("%q is read as %v, %v", text, token, err)
			}
			return
		}
		if token.String() != text {
			t.Fatalf("%q was read and is written %q", text, token)
		}
	})
}
