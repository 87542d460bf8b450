package sqlite

import (
	"context"
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
)

// BenchmarkForget forgets a document of ten operations and a view of 1 KB. The
// first file is one whose tables are written anew, the second is too large for
// that.
func BenchmarkForget(b *testing.B) {
	for _, documents := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("documents=%d", documents), func(b *testing.B) {
			s := fresh(b, nil)
			var appends []store.Append
			for i := range documents {
				if appends = append(appends, store.Append{Key: benchKey(i), Entries: benchEntries(5)}); len(appends) == 1000 {
					mustAppend(b, s, appends)
					appends = appends[:0]
				}
			}
			ctx := context.Background()
			i := 0
			for b.Loop() {
				b.StopTimer()
				k := key(fmt.Sprint("forget-", i))
				i++
				mustAppend(b, s, []store.Append{{Key: k, Entries: benchEntries(10)}})
				if _, err := s.Commit(ctx, []store.Commit{{Key: k, Applied: 10, View: make([]byte, 1000)}}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := s.Forget(ctx, k); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLargeViews commits views of several pages whose length changes, so
// that pages are freed and used again each time.
func BenchmarkLargeViews(b *testing.B) {
	for _, size := range []int{20_000, 400_000} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			s := fresh(b, nil)
			ctx := context.Background()
			k := benchKey(0)
			view := make([]byte, size+size/4)
			loaded := int64(0)
			for b.Loop() {
				mustAppend(b, s, []store.Append{{Key: k, Entries: benchEntries(1)}})
				v := view[:size+int(loaded*7919)%(size/4)]
				if _, err := s.Commit(ctx, []store.Commit{{Key: k, Loaded: loaded, Applied: loaded + 1, View: v}}); err != nil {
					b.Fatal(err)
				}
				loaded++
			}
		})
	}
}
