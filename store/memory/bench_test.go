package memory_test

import (
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// Taking the oldest of many dirty documents must not cost more because they are
// many.
func BenchmarkRunnableFirst(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("dirty=%d", n), func(b *testing.B) {
			s := dirty(b, n)
			for b.Loop() {
				for _, err := range s.Runnable(b.Context(), []string{"notes"}) {
					if err != nil {
						b.Fatal(err)
					}
					break
				}
			}
		})
	}
}

// One operation appended to the oldest document, and the document folded.
func BenchmarkAppendCommit(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("dirty=%d", n), func(b *testing.B) {
			s := dirty(b, n)
			i := 0
			view := []byte("view")
			for b.Loop() {
				k := store.Key{Collection: "notes", ID: fmt.Sprintf("%x", uint32(i%n)*2654435761)}
				applied := int64(i/n + 1)
				if _, err := s.Commit(b.Context(), []store.Commit{{Key: k, Loaded: applied - 1, Applied: applied, View: view}}); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Append(b.Context(), []store.Append{{Key: k, Entries: make([]store.Entry, 1)}}); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// dirty returns a store with n dirty documents, whose ids are in no order.
func dirty(b *testing.B, n int) *memory.Store {
	b.Helper()
	s := memory.New(nil)
	for i := range n {
		k := store.Key{Collection: "notes", ID: fmt.Sprintf("%x", uint32(i)*2654435761)}
		if _, err := s.Append(b.Context(), []store.Append{{Key: k, Entries: make([]store.Entry, 1)}}); err != nil {
			b.Fatal(err)
		}
	}
	return s
}
