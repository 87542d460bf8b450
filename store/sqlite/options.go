package sqlite

import (
	"fmt"
	"math"
	"runtime"

	"github.com/rs/zerolog"

	"github.com/refold-go/refold/store"
)

// Options are the choices of [Open]. The zero value is a good one.
type Options struct {
	// Sync says what an acknowledged append survives.
	Sync Sync
	// MaxBody is the most bytes that an operation's body may have, at most
	// [store.MaxBody]; 0 means that.
	MaxBody int
	// Readers is the number of reading connections; 0 means GOMAXPROCS, and at
	// least 4. Each has a cache of up to 2 MB.
	Readers int
	// Rewrite is up to how many bytes of the file Forget writes all of Refold's
	// tables anew, in one transaction, which keeps others from writing meanwhile:
	// some seconds for each 100 MB. Only that removes every trace. In a larger file
	// a fragment of an erased row may be left in the unused middle of a page until
	// that is used again, because SQLite leaves copies there when it rebalances
	// pages. 0 means 16 MiB, negative means whatever the size.
	Rewrite int64
	// Logger is told, at level info, of steps of opening that take long, and at
	// level warn of failures that the store recovers from. The zero Logger is
	// silent.
	Logger zerolog.Logger
}

// Sync says when an append is acknowledged.
type Sync uint8

const (
	// SyncFull acknowledges an append when it is on the disk. It survives a power
	// cut.
	SyncFull Sync = iota
	// SyncNormal acknowledges an append when it is in the write-ahead log, which
	// the system writes to the disk later. It survives the end of the process; a
	// power cut or a crash of the system may lose the last appends, always a
	// suffix of them, and never damages the file. Their positions are given again
	// then, so that a token from before the cut means other operations: who reads the
	// log from token to token, or waits for such a token, can miss some of them. After
	// a cut call [Renew]. One appender that waits for
	// each append is about 6 times as fast so; from 64 appenders on there is no
	// difference.
	SyncNormal
)

// String returns the name of SQLite's setting.
func (s Sync) String() string {
	if s == SyncNormal {
		return "NORMAL"
	}
	return "FULL"
}

// level is the value of PRAGMA synchronous.
func (s Sync) level() int64 {
	if s == SyncNormal {
		return 1
	}
	return 2
}

// withDefaults returns a copy in which every field has its effective value.
func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	invalid := func(field string, got any, want string) (Options, error) {
		return Options{}, &store.InvalidError{Field: "options: " + field, Got: fmt.Sprint(got), Want: want}
	}
	switch {
	case full.Sync > SyncNormal:
		return invalid("Sync", uint8(full.Sync), "SyncFull or SyncNormal")
	case full.MaxBody < 0 || full.MaxBody > store.MaxBody:
		return invalid("MaxBody", full.MaxBody, fmt.Sprintf("0 to %d", store.MaxBody))
	case full.Readers < 0 || full.Readers > 1024:
		return invalid("Readers", full.Readers, "0 to 1024")
	}
	switch {
	case full.Rewrite == 0:
		full.Rewrite = defaultRewrite
	case full.Rewrite < 0:
		full.Rewrite = math.MaxInt64
	}
	if full.MaxBody == 0 {
		full.MaxBody = store.MaxBody
	}
	if full.Readers == 0 {
		full.Readers = max(4, runtime.GOMAXPROCS(0))
	}
	return full, nil
}
