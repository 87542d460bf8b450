package position

import (
	"encoding/binary"
	"slices"
	"sort"
)

// entries are the positions of a token that are above its minimum, ascending by
// writer, one each. They are comparable: the same positions are always the same
// value. The first is kept apart, so that one alone allocates nothing; the
// others are packed, entrySize bytes each. A zero first means that there is none.
type entries struct {
	first Position
	rest  string
}

const entrySize = 4 + 8

func (e entries) len() int {
	if e.first == (Position{}) {
		return 0
	}
	return 1 + len(e.rest)/entrySize
}

func (e entries) at(i int) Position {
	if i == 0 {
		return e.first
	}
	b := e.rest[(i-1)*entrySize:][:entrySize]
	w := uint32(b[3]) | uint32(b[2])<<8 | uint32(b[1])<<16 | uint32(b[0])<<24
	n := uint64(b[11]) | uint64(b[10])<<8 | uint64(b[9])<<16 | uint64(b[8])<<24 |
		uint64(b[7])<<32 | uint64(b[6])<<40 | uint64(b[5])<<48 | uint64(b[4])<<56
	return Position{Writer: Writer(w), Number: Number(n)} // #nosec G115 -- only the bits matter
}

// of returns the number of a writer, or false if it has no entry.
func (e entries) of(w Writer) (Number, bool) {
	n := e.len()
	if n == 0 || w < e.first.Writer {
		return 0, false
	}
	if w == e.first.Writer {
		return e.first.Number, true
	}
	i := sort.Search(n, func(i int) bool { return e.at(i).Writer >= w })
	if i == n || e.at(i).Writer != w {
		return 0, false
	}
	return e.at(i).Number, true
}

// packer builds entries; positions are added in ascending order of writers.
type packer struct {
	first Position
	rest  []byte
}

func (p *packer) add(q Position) {
	if p.first == (Position{}) {
		p.first = q
		return
	}
	p.rest = binary.BigEndian.AppendUint32(p.rest, uint32(q.Writer))
	p.rest = binary.BigEndian.AppendUint64(p.rest, uint64(q.Number)) // #nosec G115 -- only the bits matter
}

func (p *packer) done() entries { return entries{first: p.first, rest: string(p.rest)} }

// pack sorts the positions, lets the last one of a writer win, and packs them.
func pack(ps []Position) entries {
	byWriter := func(a, b Position) int { return int(a.Writer) - int(b.Writer) }
	if !slices.IsSortedFunc(ps, byWriter) {
		slices.SortStableFunc(ps, byWriter)
	}
	var p packer
	if len(ps) > 1 {
		p.rest = make([]byte, 0, (len(ps)-1)*entrySize)
	}
	for i, q := range ps {
		if i+1 < len(ps) && ps[i+1].Writer == q.Writer {
			continue
		}
		p.add(q)
	}
	return p.done()
}
