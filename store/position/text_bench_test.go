package position

import (
	"fmt"
	"testing"
)

// BenchmarkToken reads, writes and asks tokens of 1, 10 and 1,000 writers. The
// text of 1,000 writers is longer than MaxText, so here the limit is left out.
func BenchmarkToken(b *testing.B) {
	for _, writers := range []int{0, 1, 10, 1000} {
		var ps []Position
		for w := range writers {
			ps = append(ps, Position{Writer: Writer(w + 1), Number: 1_000_000 + Number(w)})
		}
		token, err := NewToken(999_999, ps...)
		if err != nil {
			b.Fatal(err)
		}
		text := token.String()
		b.Run(fmt.Sprintf("parse/writers=%d", writers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := parse(text, nil); err != nil || got.min != token.min {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("string/writers=%d", writers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(token.String()) != len(text) {
					b.Fatal("wrong length")
				}
			}
		})
		b.Run(fmt.Sprintf("append/writers=%d", writers), func(b *testing.B) {
			b.ReportAllocs()
			room := make([]byte, 0, len(text))
			for b.Loop() {
				if len(token.append(room)) != len(text) {
					b.Fatal("wrong length")
				}
			}
		})
		b.Run(fmt.Sprintf("includes/writers=%d", writers), func(b *testing.B) {
			p := Position{Writer: Writer(writers/2 + 1), Number: 1_000_000}
			for b.Loop() {
				_ = token.Includes(p)
			}
		})
	}
}
