package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
)

// hasShape reports whether the tables of a database have the columns that the
// migrations make.
func hasShape(c *conn, migrations []string) (bool, error) {
	model, err := openConn(":memory:")
	if err != nil {
		return false, err
	}
	defer model.close()
	for _, m := range migrations {
		if err := model.run(m); err != nil {
			return false, err
		}
	}
	want, err := columnsOf(model)
	if err != nil {
		return false, err
	}
	got, err := columnsOf(c)
	return slices.Equal(got, want), err
}

// columnsOf describes the columns of the tables that start with refold_.
func columnsOf(c *conn) ([]string, error) {
	rows, err := c.raw.QueryContext(background, `
		SELECT m.name, p.name, p.type, p."notnull", p.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) p
		WHERE m.type = 'table' AND substr(m.name, 1, 7) = 'refold_' ORDER BY m.name, p.cid`, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	row := make([]driver.Value, 5)
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, fmt.Sprintf("%v", row))
	}
}
