// Package faults has the tests with real faults: a disk that is full, files that
// cannot be written, a lock that another process holds, a process that is
// stopped. Each ends with everything acknowledged in the store once, nothing
// refused in it, and all views equal to their folds.
package faults
