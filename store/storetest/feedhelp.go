package storetest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/refold-go/refold/store"
)

// mustChanges returns what changed in notes after a cursor, and checks the order.
func mustChanges(f *fixture, after store.Cursor) []store.Change {
	f.Helper()
	last := after
	all := collect(f.T, f.b.Changes(background, "notes", after, store.WithViews))
	for _, c := range all {
		if !last.Before(c.Cursor) {
			f.Fatalf("cursor %s of %s comes after %s", c.Cursor, c.Document.Key, last)
		}
		last = c.Cursor
	}
	return all
}

// mustChange is mustChanges with the expected ids.
func mustChange(f *fixture, after store.Cursor, want string) []store.Change {
	f.Helper()
	all := mustChanges(f, after)
	var got []string
	for _, c := range all {
		got = append(got, c.Document.Key.ID)
	}
	if strings.Join(got, " ") != want {
		f.Fatalf("after %q changed %q, want %q", after, strings.Join(got, " "), want)
	}
	return all
}

func lastOf(all []store.Change) store.Cursor { return all[len(all)-1].Cursor }

func lastChange(f *fixture) store.Cursor {
	f.Helper()
	c, err := f.b.LastChange(background)
	if err != nil {
		f.Fatalf("LastChange: %v", err)
	}
	return c
}

// refuseChanges reads changes after a cursor that cannot be, and returns the error.
func (f *fixture) refuseChanges(after store.Cursor) (last error) {
	f.Helper()
	n := 0
	for c, err := range f.b.Changes(background, "notes", after, store.WithViews) {
		if n, last = n+1, err; err == nil {
			f.Errorf("after %s changed %s", after, c.Document.Key)
			break
		}
	}
	if n != 1 {
		f.Errorf("after %s came %d elements, want one error", after, n)
	}
	return last
}

// beyondCursor returns the cursor of a change that a store may make later.
func beyondCursor(f *fixture, c store.Cursor, more int64) store.Cursor {
	f.Helper()
	front, back, _ := strings.Cut(c.String(), ":c")
	number, err := strconv.ParseInt(back, 10, 64)
	if err != nil {
		f.Fatalf("cursor %s: %v", c, err)
	}
	later, err := store.ParseCursor(fmt.Sprintf("%s:c%d", front, number+more))
	if err != nil {
		f.Fatal(err)
	}
	return later
}
