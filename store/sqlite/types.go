package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

// typesOf returns the declared types of the columns of rows, in lower case. The
// expressions in our statements have none, and are all integers.
func typesOf(rows driver.Rows) []string {
	typed, ok := rows.(driver.RowsColumnTypeDatabaseTypeName)
	types := make([]string, len(rows.Columns()))
	for i := range types {
		if types[i] = "integer"; !ok {
			continue
		}
		if declared := typed.ColumnTypeDatabaseTypeName(i); declared != "" {
			types[i] = strings.ToLower(declared)
		}
	}
	return types
}

// checkTypes returns an error if a value is not of its column's type. Our tables are
// STRICT, so that this only is so in a damaged file, but there it is: read as
// nothing, a seq that is a text had Forget look for the next one for ever. It costs
// some nanoseconds a row.
func checkTypes(row []driver.Value, types []string) error {
	for i, v := range row {
		got := "real"
		switch v.(type) {
		case nil:
			continue // where it may not be, the statements do not find the row
		case int64:
			got = "integer"
		case string:
			got = "text"
		case []byte:
			got = "blob"
		}
		if want := types[i]; got != want {
			return fmt.Errorf("the file is damaged: column %d is %s, want %s", i+1, got, want)
		}
	}
	return nil
}
