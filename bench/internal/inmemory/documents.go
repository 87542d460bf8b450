package inmemory

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

const idLength = 24

// newIDs makes ids of 24 bytes, all in one piece.
func newIDs(n int) []string {
	var b strings.Builder
	b.Grow(n * idLength)
	for i := range n {
		fmt.Fprintf(&b, "document-%015d", i)
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = b.String()[i*idLength : (i+1)*idLength]
	}
	return ids
}

// number reads the document's number from the last seven digits of its id.
func number(id string) (n int) {
	for _, digit := range []byte(id[len(id)-7:]) {
		n = 10*n + int(digit-'0')
	}
	return n
}

// document is the work: a run notes how many signals of its document it has
// seen, which in the end must be all of them.
type document struct {
	signalled, seen atomic.Uint32
}

// patience is how long waitForAll waits for one document.
const patience = 30 * time.Second

// waitForAll returns when each document has been run after its last signal.
// Nobody may signal any more.
func waitForAll(all []document) error {
	for i := range all {
		d := &all[i]
		if d.seen.Load() == d.signalled.Load() {
			continue
		}
		for since := time.Now(); d.seen.Load() != d.signalled.Load(); time.Sleep(50 * time.Microsecond) {
			if time.Since(since) > patience {
				return fmt.Errorf("document %d has seen %d of %d signals", i, d.seen.Load(), d.signalled.Load())
			}
		}
	}
	return nil
}
