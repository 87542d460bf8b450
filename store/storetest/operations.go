package storetest

import (
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

var operationsChecks = []check{
	{"from and to are inclusive", func(f *fixture) {
		f.append(key("a"), "1", "2", "3", "4", "5")
		for _, c := range []struct {
			from, to int64
			want     string
		}{
			{0, 0, "1 2 3 4 5"}, {1, 0, "1 2 3 4 5"}, {3, 0, "3 4 5"}, {2, 4, "2 3 4"}, {5, 5, "5"}, {1, 1, "1"},
			{0, 2, "1 2"}, {4, 99, "4 5"}, {6, 0, ""}, {4, 3, ""}, {99, 100, ""},
		} {
			pages := mustRead(f, store.Budget{}, store.Range{Key: key("a"), From: c.from, To: c.to})
			if got := bodies(pages[0]); got != c.want {
				f.Errorf("from %d to %d are %q, want %q", c.from, c.to, got, c.want)
			}
		}
	}},
	{"each range gets its operations", func(f *fixture) {
		f.append(key("a"), "a1", "a2")
		f.append(key("b"), "b1")
		f.append(key("a"), "a3")
		other := store.Key{Collection: "tasks", ID: "a"}
		f.append(other, "t1")
		pages := mustRead(f, store.Budget{},
			store.Range{Key: key("b")}, store.Range{Key: key("missing")}, store.Range{Key: key("a"), From: 2},
			store.Range{Key: other}, store.Range{Key: store.Key{Collection: "unknown", ID: "a"}}, store.Range{Key: key("a")})
		for i, want := range []string{"b1", "", "a2 a3", "t1", "", "a1 a2 a3"} {
			if got := bodies(pages[i]); got != want {
				f.Errorf("range %d has %q, want %q", i, got, want)
			}
		}
	}},
	{"the budget is filled from the first range on", func(f *fixture) {
		// Sizes with a large operation in the middle of each document, so that a
		// small one behind it would fit where it does not.
		sizes := []int{2, 0, 9, 1}
		for _, id := range []string{"a", "b"} {
			for i, size := range sizes {
				entry := store.Entry{Meta: make([]byte, size/2), Body: []byte(strings.Repeat(id, size-size/2)), Kind: fmt.Sprint(i)}
				f.appendAll(store.Append{Key: key(id), Entries: []store.Entry{entry}})
			}
		}
		ranges := []store.Range{{Key: key("a")}, {Key: key("missing")}, {Key: key("b"), From: 2, To: 4}}
		lengths := []int{4, 0, 3}
		all := append(append([]int{}, sizes...), sizes[1:]...)
		for count := range 9 {
			for bytes := range int64(24) {
				total := fitting(all, count, bytes)
				pages := mustRead(f, store.Budget{Operations: count, Bytes: bytes}, ranges...)
				for i, page := range pages {
					want := min(total, lengths[i])
					total -= want
					if len(page) != want {
						f.Fatalf("with a budget of %d operations and %d bytes, range %d has %d operations, want %d",
							count, bytes, i, len(page), want)
					}
					for j, op := range page {
						if op.Seq != max(ranges[i].From, 1)+int64(j) {
							f.Fatalf("operation %d of range %d has seq %d", j, i, op.Seq)
						}
					}
				}
			}
		}
	}},
	{"the first operation is returned whatever its size", func(f *fixture) {
		f.append(key("a"), strings.Repeat("x", 1<<20), "2")
		pages := mustRead(f, store.Budget{Operations: 10, Bytes: 1}, store.Range{Key: key("missing")}, store.Range{Key: key("a")})
		if len(pages[0]) != 0 || len(pages[1]) != 1 {
			f.Errorf("ranges have %d and %d operations, want 0 and 1", len(pages[0]), len(pages[1]))
		}
	}},
	{"a long document can be read in pages", func(f *fixture) {
		n := small(500, 5000)
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprint(i + 1)
		}
		f.append(key("a"), all...)
		for _, from := range []int64{0, 1, 2, int64(n) / 2, int64(n), int64(n) + 1} {
			next := max(from, 1)
			for op := range store.ReadOperations(background, f.b, key("a"), from) {
				if op.Seq != next || string(op.Body) != fmt.Sprint(next) {
					f.Fatalf("operation is %d, %q, want %d", op.Seq, op.Body, next)
				}
				next++
			}
			if next != int64(n)+1 {
				f.Fatalf("from %d the last operation was %d, want %d", from, next-1, n)
			}
		}
	}},
	{"many ranges can be read at once", func(f *fixture) {
		n := small(200, 2500)
		appendMany(f, n)
		ranges := make([]store.Range, n)
		for i := range ranges {
			ranges[i] = store.Range{Key: key(number(n - i - 1)), From: 1}
		}
		for i, page := range mustRead(f, store.Budget{Operations: n, Bytes: 1 << 30}, ranges...) {
			if len(page) != 1 || page[0].Position != store.Position(n-i) {
				f.Fatalf("range %d is %+v", i, page)
			}
		}
	}},
	{"no ranges are no error", func(f *fixture) {
		mustRead(f, store.Budget{})
	}},
}

// fitting returns how many of the first sizes are within a budget.
func fitting(sizes []int, count int, bytes int64) int {
	sum := int64(0)
	for i, size := range sizes {
		sum += int64(size)
		if i > 0 && (count > 0 && i >= count || bytes > 0 && sum > bytes) {
			return i
		}
	}
	return len(sizes)
}

func mustRead(f *fixture, budget store.Budget, ranges ...store.Range) [][]store.Operation {
	f.Helper()
	pages, err := f.b.Operations(background, ranges, budget)
	if err != nil {
		f.Fatalf("Operations: %v", err)
	}
	if len(pages) != len(ranges) {
		f.Fatalf("Operations of %d ranges returned %d", len(ranges), len(pages))
	}
	return pages
}

func bodies(operations []store.Operation) string {
	var all []string
	for _, op := range operations {
		all = append(all, string(op.Body))
	}
	return strings.Join(all, " ")
}
