package sqlite

import (
	"database/sql/driver"
	"time"
)

// integer reads a column that is an integer by the schema; NULL gives 0.
func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func blob(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

func truth(v driver.Value) bool { return integer(v) != 0 }

// nullText, nullTime and nullBlob give NULL for nothing.
func nullText(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func nullTime(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func nullBlob(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return b
}

// notNull gives an empty blob for nil, which the driver would make NULL.
func notNull(b []byte) driver.Value {
	if b == nil {
		return []byte{}
	}
	return b
}

// number gives 1 for true.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// moment reads nanoseconds since 1970.
func moment(v driver.Value) time.Time { return time.Unix(0, integer(v)).UTC() }
