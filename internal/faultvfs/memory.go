//go:build cgo

package faultvfs

// #include "vfs.h"
import "C"

// FailAllocation lets the n-th allocation of SQLite in this process fail, counted
// from now on, whichever connection makes it; lasting lets all later ones fail
// too. 0 lets all succeed and counts them.
func FailAllocation(n int64, lasting bool) {
	l := C.int(0)
	if lasting {
		l = 1
	}
	C.memory_arm(C.int64_t(n), l)
}

// Allocations returns how many allocations there were since the last call of
// FailAllocation, and how many of them failed.
func Allocations() (counted, failed int64) {
	return int64(C.memory_counted()), int64(C.memory_fired())
}

// LimitMemory bounds what all of SQLite in this process may hold to what it holds
// now and so many bytes more. A negative number takes the bound away.
func LimitMemory(more int64) { C.memory_limit(C.int64_t(more)) }
