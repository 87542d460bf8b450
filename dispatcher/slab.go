package dispatcher

// slab holds the table's entries in chunks, so that growing copies nothing and
// an entry is named by a 4-byte slot instead of a pointer: a chunk is one object
// to the garbage collector.
type slab struct {
	chunks []*[chunkSize]entry
	free   uint32 // slot+1 of the first free entry, by link; 0 is none
	fresh  uint32 // slots from here on were never used
}

// A chunk is 32 KiB, the least that the garbage collector keeps without a header
// of its own in front: with that, 8 KiB took 9.25 and an entry 5 bytes more.
const (
	chunkSize  = 1024
	keepChunks = 4 // are never given back: 128 KiB
)

func (s *slab) at(slot uint32) *entry {
	return &s.chunks[slot/chunkSize][slot%chunkSize]
}

// has reports whether the slot exists; a ticket may be older than the slab.
func (s *slab) has(slot uint32) bool { return slot < s.fresh }

func (s *slab) alloc() uint32 {
	if s.free != 0 {
		slot := s.free - 1
		s.free = s.at(slot).link
		return slot
	}
	if int(s.fresh) == chunkSize*len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkSize]entry))
	}
	s.fresh++
	return s.fresh - 1
}

// release gives the entry back and drops its reference to the id.
func (s *slab) release(slot uint32) {
	*s.at(slot) = entry{link: s.free}
	s.free = slot + 1
}
