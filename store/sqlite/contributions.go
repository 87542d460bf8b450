package sqlite

import (
	"context"
	"database/sql/driver"
	"math"

	"github.com/refold-go/refold/store"
)

// Contributions implements [store.Deriver].
func (s *Store) Contributions(ctx context.Context, key store.Key, after store.Contributor, budget store.Budget) ([]store.Contribution, error) {
	var all []store.Contribution
	limit := int64(math.MaxInt64)
	if budget.Operations > 0 {
		limit = int64(budget.Operations)
	}
	err := s.read(ctx, func(c *conn) error {
		in, err := find(c, key.Collection)
		if err != nil || in.space >= 0 {
			return err
		}
		size := int64(0)
		return c.each(contributionsPage, func(row []driver.Value) bool {
			one := store.Contribution{Contributor: store.Contributor{Input: int(integer(row[0])), Source: text(row[1])}, Body: blob(row[2])}
			size += int64(len(one.Body))
			if len(all) > 0 && budget.Bytes > 0 && size > budget.Bytes {
				return false
			}
			row[2] = nil // the row is kept, this is the caller's
			all = append(all, one)
			return true
		}, in.space, key.ID, int64(after.Input), after.Source, limit)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
