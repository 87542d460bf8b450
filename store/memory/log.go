package memory

import (
	"bytes"
	"context"
	"iter"

	"github.com/refold-go/refold/store"
)

// log has the operations by their positions, in chunks that are never moved: what is
// appended is written once, where documents then find it. What was removed is zero.
type log struct {
	// chunks are nil if all of their operations were removed.
	chunks []*logged
	// free is what is left of a piece of memory for bodies and metas that are small.
	free []byte
}

// logChunk is how many positions a chunk is for.
const logChunk = 64

// logged has logChunk operations, each at the place that placeOf gives.
type logged struct {
	operations [logChunk]operation
	removed    int
}

// placeOf returns in which chunk a position is, and where in it. The first position is 1.
func placeOf(at store.Position) (chunk, in int) { return int(at-1) / logChunk, int(at-1) % logChunk }

// add makes room for the operation of a position, which follows the last one.
func (l *log) add(at store.Position) *operation {
	chunk, in := placeOf(at)
	if chunk == len(l.chunks) {
		l.chunks = append(l.chunks, new(logged))
	}
	return &l.chunks[chunk].operations[in]
}

const (
	// logPiece is how large such a piece is, and logSmall what goes into one: what is
	// larger has memory of its own, which goes when it is removed.
	logPiece = 4 << 10
	logSmall = 256
)

// keep returns a copy of a body or a meta. Many small ones are one object to the
// garbage collector.
func (l *log) keep(b []byte) []byte {
	n := len(b)
	if n == 0 || n > logSmall {
		return bytes.Clone(b)
	}
	if n > len(l.free) {
		l.free = make([]byte, logPiece)
	}
	kept := l.free[:n:n]
	l.free = l.free[n:]
	copy(kept, b)
	return kept
}

// remove takes operations out. A chunk is kept for one that is left in it.
func (l *log) remove(all []*operation) {
	for _, op := range all {
		chunk, _ := placeOf(op.Position)
		clear(op.Meta) // others may be in the same piece
		clear(op.Body)
		*op = operation{}
		c := l.chunks[chunk]
		if c.removed++; c.removed == logChunk {
			l.chunks[chunk] = nil
		}
	}
}

// Log implements [store.Log].
func (s *Store) Log(ctx context.Context, from, to store.Token) iter.Seq2[store.Logged, error] {
	return func(yield func(store.Logged, error) bool) {
		last, end, err := s.bounds(from, to)
		for err == nil {
			var page []store.Logged
			if page, err = s.logPage(ctx, last, end); err != nil || len(page) == 0 {
				break
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			last = page[len(page)-1].Position
		}
		if err != nil {
			yield(store.Logged{}, err)
		}
	}
}

// bounds returns the positions of two tokens.
func (s *Store) bounds(from, to store.Token) (after, upTo store.Position, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, 0, store.ErrClosed
	}
	if after, err = store.CutOf(from, s.incarnation, s.end); err != nil {
		return 0, 0, err
	}
	if to.IsZero() {
		return after, s.end, nil
	}
	upTo, err = store.CutOf(to, s.incarnation, s.end)
	return after, upTo, err
}

// logPage returns the first operations after one position and up to another.
func (s *Store) logPage(ctx context.Context, after, upTo store.Position) ([]store.Logged, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	var page []store.Logged
	for at := after + 1; at <= upTo && len(page) < pageSize; at++ {
		chunk, in := placeOf(at)
		c := s.log.chunks[chunk]
		if c == nil {
			at += logChunk - 1 - store.Position(in)
			continue
		}
		op := &c.operations[in]
		if op.of == nil {
			continue
		}
		logged := store.Logged{Key: op.of.key, Token: store.NewToken(s.incarnation, at), Operation: op.Operation}
		logged.Entry = cloneEntry(op.Entry)
		page = append(page, logged)
	}
	return page, nil
}
