package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/refold-go/refold/store"
)

// follow reads a feed whose served generation has these numbers and was switched to
// at one, in pages of a size.
func follow(t *testing.T, after store.Cursor, numbers []int64, switched int64, size int) (cursors []store.Cursor) {
	t.Helper()
	f, err := store.Follow(after, 7, 100)
	if err != nil {
		t.Fatal(err)
	}
	for again := true; again; {
		low, high := f.Next(switched)
		var page []store.Change
		for _, number := range numbers {
			if number <= low || number >= high || len(page) == size {
				continue
			}
			c, _ := f.Read(number, number)
			page = append(page, store.Change{Cursor: c})
		}
		again = len(page) == size || f.End(page)
		for _, c := range page {
			cursors = append(cursors, c.Cursor)
		}
	}
	return cursors
}

func TestFollowing(t *testing.T) {
	numbers := []int64{3, 5, 12, 14}
	way := func(minor int64) store.Cursor { return catchingUp(t, 7, 10, minor) }
	plain := func(number int64) store.Cursor { return store.NewCursor(7, number) }
	all := []store.Cursor{way(3), way(5), plain(12), plain(14)}
	for _, c := range []struct {
		after store.Cursor
		want  []store.Cursor
	}{
		{store.Cursor{}, all},
		{plain(4), all},
		{plain(9), all},
		{catchingUp(t, 7, 9, 8), all},
		{way(1), all},
		{way(3), all[1:]},
		{way(4), all[1:]},
		{way(5), all[2:]},
		{way(9), all[2:]},
		{plain(10), all[2:]},
		{plain(12), all[3:]},
		{plain(14), nil},
		{plain(100), nil},
		{catchingUp(t, 7, 13, 4), []store.Cursor{catchingUp(t, 7, 13, 5), catchingUp(t, 7, 13, 12), plain(14)}},
	} {
		for size := 1; size <= 5; size++ {
			got := follow(t, c.after, numbers, 10, size)
			if !slices.EqualFunc(got, c.want, samePlace) {
				t.Errorf("after %q in pages of %d come %q, want %q", c.after, size, got, c.want)
			}
			last := c.after
			for i, cursor := range got {
				if !last.Before(cursor) {
					t.Errorf("%q comes after %q", cursor, last)
				}
				last = cursor
				if rest := follow(t, cursor, numbers, 10, size); !slices.EqualFunc(rest, got[i+1:], samePlace) {
					t.Errorf("after %q come %q, want %q", cursor, rest, got[i+1:])
				}
			}
		}
	}
	if got := follow(t, plain(4), numbers, 0, 2); fmt.Sprint(got) != fmt.Sprint([]store.Cursor{plain(5).Behind(4), plain(12).Behind(4), plain(14)}) {
		t.Errorf("without a switch come %q", got)
	}
	if got := follow(t, plain(4), numbers, 10, 9); fmt.Sprint(got) != fmt.Sprint([]store.Cursor{way(3).Behind(0), way(5).Behind(0), plain(12).Behind(0), plain(14)}) {
		t.Errorf("over a switch come %q", got)
	}
}

// samePlace ignores up to where everything was returned.
func samePlace(a, b store.Cursor) bool { return !a.Before(b) && !b.Before(a) }

// Nothing is told to be history that the loop has not returned before or that the
// follower may not know.
func TestFollowingHistory(t *testing.T) {
	f, err := store.Follow(store.NewCursor(7, 5), 7, 100)
	if err != nil {
		t.Fatal(err)
	}
	history := func(number, news int64, want bool) {
		t.Helper()
		if _, got := f.Read(number, news); got != want {
			t.Errorf("change %d with news at %d is history: %t", number, news, got)
		}
	}
	page := make([]store.Change, 2)
	if f.End(nil) {
		t.Error("there is more without a switch")
	}
	f.Next(0)
	history(6, 5, true)
	history(7, 6, false)
	if !f.End(page) || page[1].Cursor != store.NewCursor(7, 7) {
		t.Errorf("after a page there is nothing more, and its last cursor is %q", page[1].Cursor)
	}
	f.Next(0)
	history(9, 7, true)
	if _, before := f.Next(20); before != 20 {
		t.Errorf("on the way it reads before %d", before)
	}
	history(4, 1, false)
	history(5, 0, true)
	if !f.End(nil) {
		t.Error("behind the switch is nothing")
	}
	if after, before := f.Next(20); after != 20 || before != math.MaxInt64 {
		t.Errorf("behind the switch it reads from %d to %d", after, before)
	}
	history(21, 5, false) // it may have come in since the loop passed by
	f.End(page)
	history(22, 21, true)
}

func TestFollowRefuses(t *testing.T) {
	for after, want := range map[store.Cursor]error{
		store.NewCursor(8, 1):      store.ErrForeignToken,
		store.NewCursor(7, 101):    store.ErrFutureToken,
		catchingUp(t, 7, 101, 100): store.ErrFutureToken,
	} {
		if _, err := store.Follow(after, 7, 100); !errors.Is(err, want) {
			t.Errorf("following from %q: %v", after, err)
		}
	}
}

func TestParseGeneration(t *testing.T) {
	if n, err := store.ParseGeneration("notes@2"); err != nil || n != (store.CollectionName{Name: "notes", Version: 2}) {
		t.Errorf("notes@2 is %+v, %v", n, err)
	}
	for _, name := range []string{"", "notes", "notes@", "notes@0", "notes@2<tasks", "notes<tasks", "@2"} {
		if n, err := store.ParseGeneration(name); !errors.Is(err, store.ErrInvalid) || n != (store.CollectionName{}) {
			t.Errorf("%q is %+v, %v", name, n, err)
		}
	}
}
