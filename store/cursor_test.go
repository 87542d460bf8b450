package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

// catchingUp returns a cursor with a minor number.
func catchingUp(t *testing.T, of store.Incarnation, number, minor int64) store.Cursor {
	t.Helper()
	cursor, err := store.ParseCursor(fmt.Sprintf("%016x:c%d.%d", uint64(of), number, minor))
	if err != nil {
		t.Fatal(err)
	}
	return cursor
}

func TestCursorText(t *testing.T) {
	for _, c := range []struct {
		cursor store.Cursor
		text   string
	}{
		{store.Cursor{}, ""},
		{store.NewCursor(7, 0), ""},
		{store.NewCursor(7, -1), ""},
		{store.NewCursor(7, 1), "0000000000000007:c1"},
		{store.NewCursor(math.MaxUint64, math.MaxInt64), "ffffffffffffffff:c9223372036854775807"},
		{catchingUp(t, 7, 9, 8), "0000000000000007:c9.8"},
		{catchingUp(t, 7, 9, 8).Behind(3), "0000000000000007:c9.8~3"},
		{store.NewCursor(7, 9).Behind(0), "0000000000000007:c9~0"},
		{store.NewCursor(7, 9).Behind(8), "0000000000000007:c9~8"},
		{store.NewCursor(7, 9).Behind(9), "0000000000000007:c9"},
		{store.NewCursor(7, 9).Behind(10), "0000000000000007:c9"},
		{store.Cursor{}.Behind(0), ""},
		{catchingUp(t, math.MaxUint64, math.MaxInt64, math.MaxInt64-1), "ffffffffffffffff:c9223372036854775807.9223372036854775806"},
	} {
		if got := c.cursor.String(); got != c.text {
			t.Errorf("cursor is written %q, want %q", got, c.text)
		}
		if got, err := store.ParseCursor(c.text); err != nil || got != c.cursor {
			t.Errorf("%q is read as %v, %v, want %v", c.text, got, err, c.cursor)
		}
	}
}

func TestParseCursorRefuses(t *testing.T) {
	for _, text := range []string{
		" ", "c1", "0000000000000007:m1", "0000000000000007:c", "0000000000000007:c0", "0000000000000007:c01", "0000000000000007:c-1",
		"0000000000000007:c1 ", "0000000000000000:c1", "000000000000007:c1", "000000000000000F:c1", "0000000000000007:c9223372036854775808",
		"0000000000000007:c5~5", "0000000000000007:c5~6", "0000000000000007:c5~", "0000000000000007:c5~-1", "0000000000000007:c5~04", "0000000000000007:c5~00",
		"0000000000000007:c5~1~2", "0000000000000007:c5~1.2", "0000000000000007:c0~0", "0000000000000007:c\u0661", "0000000000000007:c1:c2",
		"0000000000000007:c9.", "0000000000000007:c.8", "0000000000000007:c9.0", "0000000000000007:c9.9", "0000000000000007:c9.10",
		"0000000000000007:c9.08", "0000000000000007:c9.+8", "0000000000000007:c9.8.7", "0000000000000007:c9.-1", strings.Repeat("0", 5000),
	} {
		cursor, err := store.ParseCursor(text)
		if !errors.Is(err, store.ErrInvalid) || !cursor.IsZero() || len(err.Error()) > 300 {
			t.Errorf("%.40q is read as %v, %.400v", text, cursor, err)
		}
	}
}

func TestCursorNumber(t *testing.T) {
	for _, c := range []struct {
		cursor store.Cursor
		want   int64
		err    error
	}{
		{store.Cursor{}, 0, nil},
		{store.NewCursor(7, 42), 42, nil},
		{catchingUp(t, 7, 42, 5), 41, nil},
		{catchingUp(t, 7, 43, 5), 0, store.ErrFutureToken},
		{catchingUp(t, 8, 42, 5), 0, store.ErrForeignToken},
		{store.NewCursor(7, 43), 0, store.ErrFutureToken},
		{store.NewCursor(8, 1), 0, store.ErrForeignToken},
	} {
		if got, err := c.cursor.Number(7, 42); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s is number %d, %v, want %d, %v", c.cursor, got, err, c.want, c.err)
		}
	}
	_, err := store.NewCursor(7, 43).Number(7, 42)
	if future, ok := errors.AsType[*store.FutureCursorError](err); !ok || future.Last != store.NewCursor(7, 42) {
		t.Errorf("%v does not say how far the feed is", err)
	}
}

func TestCursorBefore(t *testing.T) {
	for _, c := range []struct {
		a, b store.Cursor
		want bool
	}{
		{store.Cursor{}, store.NewCursor(7, 1), true},
		{store.NewCursor(7, 1), store.NewCursor(7, 2), true},
		{store.NewCursor(7, 2), store.NewCursor(7, 2), false},
		{store.NewCursor(7, 2), store.Cursor{}, false},
		{store.NewCursor(7, 1), store.NewCursor(8, 2), false},
		{store.NewCursor(7, 2).Behind(1), store.NewCursor(7, 2), false},
		{store.NewCursor(7, 2), store.NewCursor(7, 2).Behind(1), false},
		{store.NewCursor(7, 2).Behind(0), store.NewCursor(7, 3).Behind(0), true},
		{store.Cursor{}, catchingUp(t, 7, 9, 1), true},
		{store.NewCursor(7, 8), catchingUp(t, 7, 9, 1), true},
		{catchingUp(t, 7, 9, 1), store.NewCursor(7, 8), false},
		{catchingUp(t, 7, 9, 1), catchingUp(t, 7, 9, 2), true},
		{catchingUp(t, 7, 9, 2), catchingUp(t, 7, 9, 2), false},
		{catchingUp(t, 7, 9, 2), catchingUp(t, 7, 9, 1), false},
		{catchingUp(t, 7, 9, 8), store.NewCursor(7, 9), true},
		{store.NewCursor(7, 9), catchingUp(t, 7, 9, 8), false},
		{catchingUp(t, 7, 9, 8), catchingUp(t, 7, 10, 1), true},
		{catchingUp(t, 7, 9, 1), catchingUp(t, 8, 9, 2), false},
		{store.NewCursor(7, 9), catchingUp(t, 8, 9, 2), false},
	} {
		if got := c.a.Before(c.b); got != c.want {
			t.Errorf("%q before %q: %t", c.a, c.b, got)
		}
	}
}

func TestCursorInJSON(t *testing.T) {
	cursor := store.NewCursor(7, 42)
	text, err := json.Marshal(map[string]store.Cursor{"c": cursor})
	if want := `{"c":"0000000000000007:c42"}`; err != nil || string(text) != want {
		t.Errorf("JSON is %s, %v, want %s", text, err, want)
	}
	kept := cursor
	if err := json.Unmarshal([]byte(`"0000000000000007:m42"`), &kept); !errors.Is(err, store.ErrInvalid) || kept != cursor {
		t.Errorf("a token is read as the cursor %v, %v", kept, err)
	}
}

func FuzzParseCursor(f *testing.F) {
	for _, seed := range []string{"", "0000000000000007:c1", "0000000000000007:c9.8", "0000000000000007:c9.9", "ffffffffffffffff:c9223372036854775807", "0000000000000007:m1", "0000000000000007:c01", "0000000000000007:c9~3", "0000000000000007:c9.8~0", ":c", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cursor, err := store.ParseCursor(text)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) || !cursor.IsZero() {
				t.Fatalf("%q is read as %v, %v", text, cursor, err)
			}
			return
		}
		if cursor.String() != text {
			t.Fatalf("%q was read and is written %q", text, cursor)
		}
	})
}
