package dispatcher

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

// fixed has secrets that are always the same, so that no run of a test is unlucky.
var fixed = hasher{seed: 0x243f6a8885a308d3, front: 0x13198a2e03707344, tail: 0xa4093822299f31d0, end: 0x082efa98ec4e6c89}

// Ids that differ in one byte, or in length alone, have different hashes.
func TestHashLooksAtEachByte(t *testing.T) {
	seen := make(map[uint32]string)
	add := func(id string) {
		hash := fixed.hash(key(id))
		if other, ok := seen[hash]; ok {
			t.Errorf("%q and %q have one hash", id, other)
		}
		seen[hash] = id
	}
	for n := range 70 {
		add(strings.Repeat("\x00", n))
		for i := range n {
			id := []byte(strings.Repeat("\x00", n))
			id[i] = 1
			add(string(id))
			id[i] = 0x80
			add(string(id))
		}
	}
}

func TestHashTellsCollectionsApart(t *testing.T) {
	seen := make(map[uint32]string)
	for _, name := range []string{"", "n", "note", "notes", "noted"} {
		hash := fixed.hash(store.Key{Collection: name, ID: a.ID})
		if other, ok := seen[hash]; ok {
			t.Errorf("%q and %q have one hash", name, other)
		}
		seen[hash] = name
	}
}

func TestTablesHashDifferently(t *testing.T) {
	one, other := newHasher(), newHasher()
	if one.hash(a) == other.hash(a) && one.hash(b) == other.hash(b) {
		t.Error("two tables hash alike")
	}
}

// Ids as applications make them fall into the cells of an index as if at random: as
// many cells have 0, 1, 2, … of them as then. A cell is chosen by the low bits.
func TestHashSpreadsIDs(t *testing.T) {
	const ids, cells = 1 << 16, 1 << 16
	for _, form := range []string{"%d", "%08d", "document-%015d", "%d-of-a-tenant-with-a-long-name", "%016x-0000-4000-8000-000000000000"} {
		var in [cells]int
		for i := range ids {
			in[fixed.hash(key(fmt.Sprintf(form, i)))%cells]++
		}
		// One id a cell: 1/e of the cells are empty, as many have one, and half as many two.
		var cellsWith [20]int
		for _, n := range in {
			cellsWith[min(n, len(cellsWith)-1)]++
		}
		for n, want := range []float64{0.3679, 0.3679, 0.1839} {
			if got := float64(cellsWith[n]) / cells; got < want-0.02 || got > want+0.02 {
				t.Errorf("%s: %.3f of the cells have %d ids, want %.3f", form, got, n, want)
			}
		}
		if most := cellsWith[12:]; fmt.Sprint(most) != fmt.Sprint(make([]int, len(most))) {
			t.Errorf("%s: cells with 12 ids and more: %v", form, most)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	keys, h, seed := keys(1024), newHasher(), maphash.MakeSeed()
	var sum uint64
	b.Run("ours", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			sum += uint64(h.hash(keys[i%1024]))
		}
	})
	b.Run("maphash", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			sum += maphash.String(seed, keys[i%1024].ID)
		}
	})
	_ = sum
}
