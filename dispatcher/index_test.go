package dispatcher

import (
	"math/rand/v2"
	"testing"
)

// TestIndexAgainstAMap inserts and removes at random, with hashes that are good,
// and with some that put everything in one place.
func TestIndexAgainstAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, row := range []struct {
		name string
		most int // entries at a time
		hash func(slot uint32) uint32
	}{
		{"random", 30_000, func(slot uint32) uint32 { return slot * 0x9e3779b1 }},
		{"one after the other", 30_000, func(slot uint32) uint32 { return slot }},
		{"all the same", 300, func(uint32) uint32 { return 7 }},
		{"all the same, at the end", 300, func(uint32) uint32 { return 1<<32 - 1 }},
		{"around the end", 300, func(slot uint32) uint32 { return 1<<32 - 8 + slot%16 }},
		{"few homes", 500, func(slot uint32) uint32 { return slot % 5 << 3 }},
		{"equal in the low bits", 300, func(slot uint32) uint32 { return slot << 20 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			var x index
			in := make(map[uint32]bool)
			find := func(slot uint32) bool {
				for from := row.hash(slot); ; {
					got, after, ok := x.next(row.hash(slot), from)
					if !ok || got == slot {
						return ok
					}
					from = after
				}
			}
			// It grows for a while, then it shrinks, again and again.
			for step := range 100_000 {
				slot := random.Uint32N(uint32(row.most))
				grow := step/12_500%2 == 0
				switch {
				case !in[slot] && (grow || random.IntN(8) == 0):
					x.insert(row.hash(slot), slot)
					in[slot] = true
				case in[slot] && (!grow || random.IntN(8) == 0):
					x.remove(row.hash(slot), slot)
					delete(in, slot)
				}
				if find(slot) != in[slot] {
					t.Fatalf("step %d: slot %d is found: %v", step, slot, !in[slot])
				}
				if step%5000 == 0 {
					for slot := range uint32(row.most) {
						if find(slot) != in[slot] {
							t.Fatalf("step %d: slot %d is found: %v", step, slot, !in[slot])
						}
					}
				}
			}
			for slot := range in {
				x.remove(row.hash(slot), slot)
			}
			x.trim()
			x.trim()
			if x.used != 0 || len(x.cells) > keepCells {
				t.Errorf("empty, it counts %d in %d cells", x.used, len(x.cells))
			}
			for _, cell := range x.cells {
				if cell != 0 {
					t.Error("empty, it has a cell in use")
				}
			}
		})
	}
}

func TestIndexShrinksToItsLatestPeak(t *testing.T) {
	var x index
	insert := func(from, to uint32) {
		for slot := from; slot < to; slot++ {
			x.insert(slot*0x9e3779b1, slot)
		}
	}
	remove := func(from, to uint32) {
		for slot := from; slot < to; slot++ {
			x.remove(slot*0x9e3779b1, slot)
		}
	}
	expect := func(cells int) {
		t.Helper()
		if x.trim(); len(x.cells) != cells {
			t.Errorf("%d cells, want %d", len(x.cells), cells)
		}
	}
	insert(0, 100_000)
	expect(1 << 18)
	remove(0, 90_000)
	expect(1 << 18) // as many were needed since
	expect(1 << 15)
	remove(90_000, 100_000)
	insert(0, 20_000)
	remove(0, 20_000)
	expect(1 << 15)
	expect(keepCells)
}

func TestEmptyIndexFindsNothing(t *testing.T) {
	var x index
	if _, _, ok := x.next(0, 0); ok {
		t.Error("found")
	}
}
