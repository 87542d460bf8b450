package worker_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/refold-go/refold/worker"
)

// words is a source that hands out its words and prints what becomes of them.
type words []string

func (w *words) Take(_ context.Context, buf []string) (int, error) {
	if len(*w) == 0 {
		return 0, io.EOF
	}
	n := copy(buf, *w)
	*w = (*w)[n:]
	return n, nil
}

func (w *words) Done(items []string, results []error) {
	for i := range items {
		fmt.Println(items[i], "→", results[i])
	}
}

func Example() {
	p := &worker.Pool[string, error]{
		Workers: 1, // words has no lock
		Work: func(_ context.Context, items []string) []error {
			fmt.Println(strings.Repeat("*", 24/len(items[0])))
			return []error{nil}
		},
		Failed: func(_ []string, err error) []error { return []error{err} },
	}
	err := p.Run(context.Background(), &words{"abc", "", "abcdef"})
	fmt.Println("Run:", err)
	// Output:
	// ********
	// abc → <nil>
	//  → panic: runtime error: integer divide by zero
	// ****
	// abcdef → <nil>
	// Run: <nil>
}
