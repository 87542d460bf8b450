package sqlite

import (
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
)

// BenchmarkLog reads a page of 256 operations of a log of a million, at its
// beginning, in the middle and at its end: that must cost the same. The operations
// are appended one by one and ten at a time, to 10,000 documents.
func BenchmarkLog(b *testing.B) {
	const all = 1_000_000
	for _, ten := range []int{1, 10} {
		s := fresh(b, &Options{Sync: SyncNormal})
		for n := 0; n < all; {
			var appends []store.Append
			for range 5_000 {
				appends = append(appends, store.Append{Key: benchKey(n / ten * 7919 % benchDocuments), Entries: benchEntries(ten)})
				n += ten
			}
			mustAppend(b, s, appends)
		}
		for _, percent := range []int{0, 50, 99} {
			b.Run(fmt.Sprintf("an-append=%d/from=%d%%", ten, percent), func(b *testing.B) {
				from := store.NewToken(s.incarnation, store.Position(all/100*percent))
				b.ReportAllocs()
				for b.Loop() {
					n := 0
					for _, err := range s.Log(b.Context(), from, store.Token{}) {
						if err != nil {
							b.Fatal(err)
						}
						if n++; n == pageRows {
							break
						}
					}
					if n != pageRows {
						b.Fatalf("%d operations", n)
					}
				}
			})
		}
	}
}
