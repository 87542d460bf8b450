package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/refold-go/refold/store"
)

// derivedFaults select what must not be in the tables of derived collections: a text that names it, of the
// first one that is found. They scan, so that they are no statements that are kept.
var derivedFaults = []string{
	`SELECT 'the contribution of ' || k.source || ' to ' || k.key || ' is not where it belongs'
	FROM refold_contributions k JOIN refold_documents d ON d.id = k.document JOIN refold_generations g ON g.id = -d.collection AND g.state < 5
	LEFT JOIN refold_documents m ON m.id = k.mapping LEFT JOIN refold_generations f ON f.id = -m.collection
	WHERE m.id IS NULL OR f.feeds IS NOT g.id OR f.input <> k.input OR m.name <> k.source OR d.name <> k.key`,
	`SELECT 'the source ' || k.source || ' of the contribution to ' || k.key || ' has no view, and nothing is to be mapped'
	FROM refold_contributions k JOIN refold_documents m ON m.id = k.mapping JOIN refold_generations f ON f.id = -m.collection AND f.state < 5
	JOIN refold_progress r ON r.generation = f.id AND r.document = m.id
	JOIN refold_collections c ON c.id = f.source JOIN refold_generations g ON g.id = c.serving
	LEFT JOIN refold_documents s ON s.collection = g.space AND s.name = k.source
	LEFT JOIN refold_progress p ON p.generation = g.id AND p.document = s.id
	WHERE r.dirty = 0 AND f.scanned >= f.until AND (p.applied IS NULL OR p.applied = 0 OR p.deleted = 1)`,
	`SELECT 'the document ' || d.name || ' has another number of contributions than it says'
	FROM refold_documents d JOIN refold_generations g ON g.id = -d.collection AND g.state < 5
	WHERE d.contributions <> (SELECT count(*) FROM refold_contributions k WHERE k.document = d.id)`,
	`SELECT 'what ' || d.name || ' has read of ' || e.name || ' cannot be so'
	FROM refold_edges e JOIN refold_documents d ON d.id = e.document JOIN refold_generations g ON g.id = -d.collection AND g.state < 5
	LEFT JOIN refold_progress p ON p.generation = g.id AND p.document = d.id
	WHERE e.generation <> g.id OR p.applied IS NULL OR p.applied = 0
	OR e.version > (SELECT max(value) FROM refold_meta WHERE key IN ('change', 'ceiling'))
	OR NOT EXISTS (SELECT 1 FROM refold_generations f WHERE f.feeds = g.id AND f.source = e.collection)`,
	`SELECT 'the deltas of ' || d.name || ' are not those that it lacks'
	FROM refold_documents d JOIN refold_generations g ON g.id = -d.collection AND g.state < 5
	JOIN refold_progress p ON p.generation = g.id AND p.document = d.id
	WHERE (SELECT coalesce(max(t.seq), p.applied) FROM refold_deltas t WHERE t.document = d.id) <> d.head
	OR EXISTS (SELECT 1 FROM refold_deltas t WHERE t.document = d.id AND t.seq <= p.applied)
	OR (g.deltas = 1 AND (SELECT count(*) FROM refold_deltas t WHERE t.document = d.id) <> d.head - p.applied)`,
	`SELECT 'the round of ' || d.name || ' cannot be so'
	FROM refold_fanouts o JOIN refold_documents d ON d.id = o.document JOIN refold_generations g ON g.id = -d.collection AND g.state < 5
	LEFT JOIN refold_progress p ON p.generation = g.id AND p.document = d.id
	WHERE g.feeds = 0 OR p.applied IS NULL OR o.round <= p.applied OR o.round > d.head OR o.readers NOT IN (0, 1)`,
}

// derivedOrphans select rows of no document. While something is being removed in slices there may be some.
var derivedOrphans = []string{
	`SELECT 'the contribution of ' || source || ' to ' || key || ' is of no document' FROM refold_contributions WHERE document NOT IN (SELECT id FROM refold_documents)`,
	`SELECT 'a delta of no document, number ' || document FROM refold_deltas WHERE document NOT IN (SELECT id FROM refold_documents)`,
	`SELECT 'a reading of ' || name || ' by no document' FROM refold_edges WHERE document NOT IN (SELECT id FROM refold_documents)`,
	`SELECT 'a round of no document, number ' || document FROM refold_fanouts WHERE document NOT IN (SELECT id FROM refold_documents)`,
}

const anythingRemoved = `SELECT 1 WHERE EXISTS (SELECT 1 FROM refold_generations WHERE state = 5)
	OR EXISTS (SELECT 1 FROM refold_collections WHERE name IS NULL) OR EXISTS (SELECT 1 FROM refold_documents WHERE collection = 0)`

// CheckDerived implements [store.DerivedChecker], in one snapshot.
func (s *Store) CheckDerived(ctx context.Context) error {
	return s.read(ctx, func(c *conn) (err error) {
		if err := c.run("BEGIN"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.run("ROLLBACK")) }()
		removed, err := c.firstText(ctx, anythingRemoved)
		if err != nil {
			return err
		}
		faults := derivedFaults
		if removed == nil {
			faults = append(faults[:len(faults):len(faults)], derivedOrphans...)
		}
		var found []error
		for _, sql := range faults {
			what, err := c.firstText(ctx, sql+" LIMIT 1")
			if err != nil {
				return err
			}
			if what != nil {
				found = append(found, fmt.Errorf("%w: %v", store.ErrDamaged, what))
			}
		}
		return errors.Join(found...)
	})
}

// firstText returns the first value of the first row of a query, nil if there is none.
func (c *conn) firstText(ctx context.Context, sql string) (what driver.Value, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	rows, err := c.raw.QueryContext(ctx, sql, nil)
	if err != nil {
		return nil, fmt.Errorf("refold: checking derived collections: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	switch err := rows.Next(row); {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("refold: checking derived collections: %w", err)
	}
	return row[0], nil
}
