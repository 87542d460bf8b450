package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mattn/go-sqlite3"
)

// background is the context of every statement. A statement must not see a
// caller's: cancelling one rolls back the transaction of all, and a cancellable
// context costs a goroutine a statement.
var background = context.Background()

// A conn is a connection with its prepared statements. One goroutine uses it at
// a time.
type conn struct {
	raw   *sqlite3.SQLiteConn
	stmts [statementCount]*prepared
}

// prepared is a statement that is kept, with the memory for its arguments and
// for a row.
type prepared struct {
	stmt  *sqlite3.SQLiteStmt
	args  []driver.NamedValue
	row   []driver.Value
	types []string // of the columns of row
}

// openConn opens a connection. Nothing has been read or changed in the file
// when it returns, but for what the DSN says.
func openConn(dsn string) (*conn, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	return &conn{raw: c.(*sqlite3.SQLiteConn)}, nil
}

func (c *conn) close() error {
	for i, p := range c.stmts {
		if p != nil {
			p.stmt.Close()
			c.stmts[i] = nil
		}
	}
	return c.raw.Close()
}

// run executes SQL that is not kept, without arguments.
func (c *conn) run(sql string) error {
	_, err := c.raw.ExecContext(background, sql, nil)
	return err
}

// pragma returns the one value of a PRAGMA.
func (c *conn) pragma(name string) (driver.Value, error) {
	rows, err := c.raw.QueryContext(background, "PRAGMA "+name, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return nil, fmt.Errorf("PRAGMA %s: %w", name, err)
	}
	return row[0], nil
}

// verify reads settings back: the driver and SQLite let some go wrong in
// silence.
func (c *conn) verify(want map[string]driver.Value) error {
	for name, value := range want {
		got, err := c.pragma(name)
		if err != nil {
			return fmt.Errorf("refold: sqlite: setting %s cannot be read: %w", name, err)
		}
		if got != value {
			return fmt.Errorf("refold: sqlite: setting %s is %v, although %v was asked for", name, got, value)
		}
	}
	return nil
}

// keep returns the prepared statement, preparing it at its first use.
func (c *conn) keep(s statement) (*prepared, error) {
	if p := c.stmts[s]; p != nil {
		return p, nil
	}
	st, err := c.raw.PrepareContext(background, s.sql())
	if err != nil {
		return nil, &statementError{"preparing " + s.what(), err}
	}
	p := &prepared{stmt: st.(*sqlite3.SQLiteStmt), args: make([]driver.NamedValue, st.NumInput())}
	for i := range p.args {
		p.args[i].Ordinal = i + 1
	}
	c.stmts[s] = p
	return p, nil
}

// release forgets the arguments, which are their callers'. After big ones it
// forgets the statement too, because the driver keeps a copy as large as the
// largest ever bound.
func (c *conn) release(s statement, p *prepared, big bool) {
	for i := range p.args {
		p.args[i].Value = nil
	}
	if big {
		p.stmt.Close()
		c.stmts[s] = nil
	}
}

// bigArgument is how many bytes of arguments a statement may keep.
const bigArgument = 1 << 20

// start binds and takes the first step, which is one crossing into C: Query
// fuses them, Exec crosses once for each argument.
func (c *conn) start(s statement, args []driver.Value) (p *prepared, rows driver.Rows, big bool, err error) {
	if p, err = c.keep(s); err != nil {
		return nil, nil, false, err
	}
	size := 0
	for i, arg := range args {
		p.args[i].Value = arg
		if b, ok := arg.([]byte); ok {
			size += len(b)
		}
	}
	big = size > bigArgument
	rows, err = p.stmt.QueryContext(background, p.args)
	if err != nil {
		c.release(s, p, big)
		return nil, nil, false, &statementError{s.what(), err}
	}
	return p, rows, big, nil
}

// exec implements runner.
func (c *conn) exec(s statement, args ...driver.Value) error {
	p, rows, big, err := c.start(s, args)
	if err != nil {
		return err
	}
	err = rows.Close()
	c.release(s, p, big)
	if err != nil {
		return &statementError{s.what(), err}
	}
	return nil
}

// one implements runner.
func (c *conn) one(s statement, args ...driver.Value) (row []driver.Value, err error) {
	err = c.each(s, func(r []driver.Value) bool {
		row = r
		return false
	}, args...)
	if err == nil && row == nil && s.counts() {
		err = &statementError{s.what(), errMissing}
	}
	return row, err
}

// each calls row for each row, until it returns false. The slice is used again
// for the next row and the next run of the statement; its elements are the
// caller's.
func (c *conn) each(s statement, row func([]driver.Value) bool, args ...driver.Value) (err error) {
	p, rows, big, err := c.start(s, args)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := rows.Close(); err == nil && cerr != nil {
			err = &statementError{s.what(), cerr}
		}
		c.release(s, p, big)
	}()
	if p.row == nil {
		p.types = typesOf(rows)
		p.row = make([]driver.Value, len(p.types))
	}
	for {
		err := rows.Next(p.row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = checkTypes(p.row, p.types)
		}
		if err != nil {
			return &statementError{s.what(), err}
		}
		if !row(p.row) {
			return nil
		}
	}
}

// tables returns the names of the tables that start with refold_, sorted.
func (c *conn) tables() ([]string, error) {
	rows, err := c.raw.QueryContext(background, `SELECT name FROM sqlite_schema
		WHERE type = 'table' AND substr(name, 1, 7) = 'refold_' ORDER BY name`, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	row := make([]driver.Value, 1)
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			slices.Sort(names)
			return names, nil
		case err != nil:
			return nil, err
		}
		name, _ := row[0].(string)
		names = append(names, name)
	}
}
