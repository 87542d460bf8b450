package dispatcher

// index finds an entry's slot by the hash of its key: open addressing with
// linear probing and backward-shift deletion, so that there are no tombstones. A cell is 8 bytes, and with at most 3 of 4 cells used a
// document costs 11 to 21 bytes here. A Go map of the same keys would need three
// map operations a run instead of two probes, and never shrinks.
type index struct {
	cells []uint64 // hash<<32 | slot+1; 0 is an empty cell; len is a power of two
	used  int
	peak  int // most cells that were used since the last trim
}

const (
	minCells  = 64
	keepCells = 8192 // are never given back: 64 KiB
)

// next returns the slot of an entry with this hash, looking from a cell on, and
// from where to look for another one. The first call passes hash as from.
func (x *index) next(hash, from uint32) (slot, after uint32, ok bool) {
	if len(x.cells) == 0 {
		return 0, 0, false
	}
	mask := uint32(len(x.cells) - 1) // #nosec G115 -- the table's limit keeps it below 2^32
	for i := from & mask; ; i = (i + 1) & mask {
		cell := x.cells[i]
		if cell == 0 {
			return 0, 0, false
		}
		if uint32(cell>>32) == hash {
			return uint32(cell) - 1, i + 1, true // #nosec G115 -- the lower half
		}
	}
}

// insert adds a slot that is not in the index.
func (x *index) insert(hash, slot uint32) {
	if 4*(x.used+1) > 3*len(x.cells) {
		x.resize(max(minCells, 2*len(x.cells)))
	}
	x.place(uint64(hash)<<32 | uint64(slot+1))
	x.used++
	x.peak = max(x.peak, x.used)
}

// remove takes out a slot that is in the index.
func (x *index) remove(hash, slot uint32) {
	mask := uint32(len(x.cells) - 1) // #nosec G115 -- the table's limit keeps it below 2^32
	want := uint64(hash)<<32 | uint64(slot+1)
	hole := hash & mask
	for x.cells[hole] != want {
		hole = (hole + 1) & mask
	}
	// Move back each following cell that would otherwise not be found past the
	// hole: one whose home is not cyclically in (hole, i].
	for i := (hole + 1) & mask; x.cells[i] != 0; i = (i + 1) & mask {
		home := uint32(x.cells[i]>>32) & mask
		if (i-home)&mask >= (i-hole)&mask {
			x.cells[hole] = x.cells[i]
			hole = i
		}
	}
	x.cells[hole] = 0
	x.used--
}

func (x *index) place(cell uint64) {
	mask := uint32(len(x.cells) - 1) // #nosec G115 -- the table's limit keeps it below 2^32
	i := uint32(cell>>32) & mask
	for x.cells[i] != 0 {
		i = (i + 1) & mask
	}
	x.cells[i] = cell
}

func (x *index) resize(cells int) {
	old := x.cells
	x.cells = make([]uint64, cells)
	for _, cell := range old {
		if cell != 0 {
			x.place(cell)
		}
	}
}
