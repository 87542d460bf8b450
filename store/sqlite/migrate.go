package sqlite

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// migrate brings the database to the last version, in the transaction that c is
// in, and counts the opening. It returns from which version it came.
func migrate(c *conn, path string, migrations []string) (from int64, err error) {
	// Once more, as the file may have changed since it was inspected.
	if _, err := recognize(c, path, migrations); err != nil {
		return 0, err
	}
	tables, err := c.tables()
	if err != nil {
		return 0, err
	}
	if from, err = schemaVersion(c, tables); err != nil {
		return 0, err
	}
	for i := int(from); i < len(migrations); i++ {
		if err := c.run(migrations[i]); err != nil {
			return from, fmt.Errorf("refold: changing the schema of %s to version %d: %w", path, i+1, err)
		}
		if i == 0 {
			err = firstMeta(c)
		} else {
			err = c.exec(setMeta, metaSchema, int64(i+1))
		}
		if err != nil {
			return from, err
		}
	}
	return from, c.exec(bumpMeta, metaOpened)
}

// firstMeta writes the rows of refold_meta, among them which store this is.
func firstMeta(c *conn) error {
	var random [8]byte
	for binary.NativeEndian.Uint64(random[:]) == 0 {
		rand.Read(random[:]) // never fails
	}
	return c.run(fmt.Sprintf(`INSERT INTO refold_meta (key, value) VALUES
		('%s', 1), ('%s', %d), ('%s', 0), ('%s', 0), ('%s', 0), ('%s', 0), ('%s', 0), ('%s', 0)`,
		metaSchema, metaIncarnation, int64(binary.NativeEndian.Uint64(random[:])),
		metaPosition, metaGeneration, metaOpened, metaSynced, metaClaimed, metaDropped))
}
