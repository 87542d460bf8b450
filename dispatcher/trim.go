package dispatcher

// Trim gives back memory that was not needed since the last call. It is apart
// from the removal of entries, because a table goes empty and fills up many times
// a second: shrinking and growing each time took as much memory in garbage as the
// entries take.
func (t *Table) Trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	peak := t.index.peak
	t.index.trim()
	t.slabIdle = len(t.slab.chunks) > keepChunks && 4*peak < chunkSize*len(t.slab.chunks)
	t.dropIdleSlabLocked()
	if len(t.delays) == 0 {
		t.delays = nil
	}
}

// trim shrinks the index to a size in which the peak takes a quarter to half of
// the cells.
func (x *index) trim() {
	cells := len(x.cells)
	for cells > keepCells && 4*x.peak < cells {
		cells /= 2
	}
	if cells < len(x.cells) {
		x.resize(cells)
	}
	x.peak = x.used
}

// dropIdleSlabLocked can do so only when no entry is in use.
func (t *Table) dropIdleSlabLocked() {
	if t.slabIdle && t.index.used == 0 {
		t.slab, t.slabIdle = slab{}, false
	}
}
