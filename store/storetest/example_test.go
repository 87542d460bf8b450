package storetest_test

import (
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/storetest"
)

// A backend's test file has one test, TestContract in this example.
func ExampleRun() {
	TestContract := func(t *testing.T) {
		storetest.Run(t, func(testing.TB) store.Backend { return memory.New(nil) }, nil)
	}
	_ = TestContract
}
