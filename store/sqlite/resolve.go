package sqlite

import (
	"context"
	"fmt"

	"github.com/refold-go/refold/store"
)

// Resolve implements [store.Resolver].
func (s *Store) Resolve(ctx context.Context, token store.Token, keys []store.Key) ([]int64, error) {
	seqs := make([]int64, len(keys))
	err := s.read(ctx, func(c *conn) error {
		cut := store.Position(-1)
		if !token.IsZero() {
			end, err := lastPosition(c)
			if err != nil {
				return err
			}
			if cut, err = store.CutOf(token, s.incarnation, end); err != nil {
				return err
			}
		}
		for i, k := range keys {
			var err error
			if seqs[i], err = seqAt(c, k, int64(cut)); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return stopped(ctx)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return seqs, nil
}

// End implements [store.Resolver].
func (s *Store) End(ctx context.Context) (store.Token, error) {
	var end store.Position
	err := s.read(ctx, func(c *conn) (err error) {
		end, err = lastPosition(c)
		return err
	})
	if err != nil {
		return store.Token{}, err
	}
	return store.NewToken(s.incarnation, end), nil
}

func lastPosition(c *conn) (store.Position, error) {
	row, err := c.one(getMeta, metaPosition)
	if row == nil {
		return 0, err
	}
	return store.Position(integer(row[0])), nil
}

// seqAt returns a document's highest seq at or below a position; -1 is below all. Seqs are dense
// and their positions rise, so that a binary search finds it in 17 reads among
// 100,000 operations; most often the head is the answer.
func seqAt(c *conn, k store.Key, position int64) (int64, error) {
	row, err := c.one(resolveDocument, k.Collection, k.ID)
	if err != nil || row == nil {
		return 0, err
	}
	if truth(row[3]) {
		return 0, (&collection{name: k.Collection, derived: true}).notDerived("key to resolve")
	}
	document, head, last := integer(row[0]), integer(row[1]), integer(row[2])
	switch {
	case position < 0:
		return 0, nil
	case last <= position:
		return head, nil
	}
	below, above := int64(0), head // seq below is at or below, above is above
	for above-below > 1 {
		middle := below + (above-below)/2
		row, err := c.one(getPlace, document, middle)
		if err != nil {
			return 0, err
		}
		if row == nil {
			return 0, &statementError{"resolving a token", fmt.Errorf("operation %d of %s is missing", middle, k)}
		}
		if integer(row[0]) <= position {
			below = middle
		} else {
			above = middle
		}
	}
	return below, nil
}
