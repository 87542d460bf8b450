// Package materializertest helps an application to test its folds.
//
//   - [New] gives a materializer that [Materializer.Settle] runs until nothing is
//     left to do: no sleeping, no polling. Inside of a bubble of testing/synctest,
//     backoffs and intervals take no time.
//   - [CheckFold] folds documents in many ways, and tells at which operation a fold
//     that is not pure, or a codec that loses something, gives another view.
//   - [CheckCrashes] ends a run at each of its calls of the store, starts again on
//     what is left, and compares with a fold from the beginning.
//
// A backend of one's own has package storetest.
package materializertest

import "context"

// TB is what this package needs of a test. [*testing.T] is one, and so is each
// [testing.TB].
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}
