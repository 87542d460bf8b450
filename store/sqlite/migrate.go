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
	// What an earlier life committed without a sync may be gone after a power cut, and
	// somebody may have seen its numbers.
	if err := c.run(fmt.Sprintf(`UPDATE refold_meta SET value = (SELECT value FROM refold_meta WHERE key = '%[2]s') WHERE key = '%[1]s';
		UPDATE refold_meta SET value = value + %[3]d WHERE key = '%[2]s'`, metaChange, metaCeiling, changeBlock)); err != nil {
		return from, err
	}
	return from, c.exec(bumpMeta, metaOpened)
}

// firstMeta writes the rows of refold_meta, among them which store this is.
func firstMeta(c *conn) error {
	return c.run(fmt.Sprintf(`INSERT INTO refold_meta (key, value) VALUES
		('%s', 1), ('%s', %d), ('%s', 0), ('%s', 0), ('%s', 0), ('%s', 0), ('%s', 0), ('%s', 0)`,
		metaSchema, metaIncarnation, drawIncarnation(),
		metaPosition, metaGeneration, metaOpened, metaSynced, metaClaimed, metaDropped))
}

// drawIncarnation draws one at random; it is not 0.
func drawIncarnation() int64 {
	var random [8]byte
	for binary.NativeEndian.Uint64(random[:]) == 0 {
		rand.Read(random[:]) // never fails
	}
	return int64(binary.NativeEndian.Uint64(random[:])) // #nosec G115 -- only the bits matter
}
