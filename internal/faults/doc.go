// Package faults has the tests with real faults: a disk that is full or fails at
// any call, memory and descriptors that run out, files that cannot be written or
// are damaged, a lock that another process holds, a process that is stopped, power
// that is cut. Each ends with everything acknowledged in the store once, nothing
// refused in it, and all views equal to their folds.
//
// By itself a part is tried, in about a minute. The environment says how much:
//
//	REFOLD_FAULTS=all    what is due before a change lands, some minutes
//	REFOLD_FAULT_STRIDE  fail every n-th call and allocation; 1 is all of them
//	REFOLD_CUTS          how often the power of a file system is cut
//	REFOLD_FLIPS         how many bits are flipped, one at a time
//	REFOLD_SEED          the seed of what is chosen by chance
//	REFOLD_FAULT         one point only, as a failure prints it
package faults
