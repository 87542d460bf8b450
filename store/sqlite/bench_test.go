package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// The benchmarks measure one thing against another of the same rows in the same
// run: compare their ns/op. The number of rows is fixed, because a table costs
// more the larger it is.
//
//	go test -run '^$' -bench 'Append|Commit' -benchtime 20000x -count 5 ./store/sqlite

const benchDocuments = 10_000

func benchKey(n int) store.Key {
	return store.Key{Collection: "notes", ID: fmt.Sprintf("document-%06d", n)}
}

func benchEntries(n int) []store.Entry {
	entries := make([]store.Entry, n)
	for i := range entries {
		entries[i] = store.Entry{Kind: "created", Body: make([]byte, 100)}
	}
	return entries
}

// together has n goroutines call f, b.N times in all.
func together(b *testing.B, n int, f func(r *rand.Rand) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range n {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for left.Add(-1) >= 0 {
				if err := f(r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkAppend is one operation an append, each to a random document, at FULL.
// transaction-each writes the same rows, a transaction for each append, by one
// goroutine that does nothing else.
func BenchmarkAppend(b *testing.B) {
	b.Run("transaction-each", func(b *testing.B) {
		w := newRaw(b)
		r := rand.New(rand.NewPCG(1, 0))
		entries := benchEntries(1)
		for b.Loop() {
			w.begin(b)
			w.append(b, r.IntN(benchDocuments), entries)
			w.commit(b)
		}
	})
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("appenders=%d", n), func(b *testing.B) {
			s := fresh(b, nil)
			entries := benchEntries(1)
			together(b, n, func(r *rand.Rand) error {
				_, err := s.Append(context.Background(), []store.Append{{Key: benchKey(r.IntN(benchDocuments)), Entries: entries}})
				return err
			})
		})
	}
}

// BenchmarkAppendTen is ten operations an append to one document, by 64
// appenders. raw is the same rows of operations and nothing else, 16 a
// statement and 1,000 a transaction, in the same order of documents.
func BenchmarkAppendTen(b *testing.B) {
	const ten = 10
	b.Run("raw", func(b *testing.B) {
		w := newRaw(b)
		r := rand.New(rand.NewPCG(1, 0))
		w.begin(b)
		for i := 1; b.Loop(); i++ {
			w.tens(b, r.IntN(benchDocuments))
			if i%100 == 0 {
				w.commit(b)
				w.begin(b)
			}
		}
		w.flush(b)
		w.commit(b)
	})
	b.Run("appenders=64", func(b *testing.B) {
		s := fresh(b, nil)
		entries := benchEntries(ten)
		together(b, 64, func(r *rand.Rand) error {
			_, err := s.Append(context.Background(), []store.Append{{Key: benchKey(r.IntN(benchDocuments)), Entries: entries}})
			return err
		})
	})
}

// BenchmarkLoadCommit is one run of a document without the fold: load, read one
// operation, commit a view of 200 bytes, by two workers.
func BenchmarkLoadCommit(b *testing.B) {
	for _, batch := range []int{1, 16} {
		b.Run(fmt.Sprintf("documents=%d", batch), func(b *testing.B) {
			s := fresh(b, nil)
			var appends []store.Append
			for i := range benchDocuments {
				appends = append(appends, store.Append{Key: benchKey(i), Entries: benchEntries(1)})
			}
			mustAppend(b, s, appends)
			var next atomic.Int64
			view := make([]byte, 200)
			together(b, 2, func(*rand.Rand) error {
				ctx := context.Background()
				first := int(next.Add(int64(batch))) - batch
				keys := make([]store.Key, batch)
				for i := range keys {
					keys[i] = benchKey((first + i) % benchDocuments)
				}
				docs, err := s.Load(ctx, keys, store.WithViews)
				if err != nil {
					return err
				}
				ranges := make([]store.Range, batch)
				commits := make([]store.Commit, batch)
				for i, d := range docs {
					ranges[i] = store.Range{Key: d.Key, From: d.Applied}
					commits[i] = store.Commit{Key: d.Key, Loaded: d.Applied, Applied: d.Head, View: view}
					if d.Applied == d.Head {
						commits[i].View = nil
					}
				}
				if _, err := s.Operations(ctx, ranges, store.Budget{}); err != nil {
					return err
				}
				_, err = s.Commit(ctx, commits)
				return err
			})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/document")
		})
	}
}

// raw is a connection with our settings that inserts operations without a store.
type raw struct {
	c    *writerConn
	seqs [benchDocuments]int64
	last int64
	args []driver.NamedValue
	many driver.StmtQueryContext
}

const rawRows = 16

func newRaw(b *testing.B) *raw {
	path := filepath.Join(b.TempDir(), "raw.db")
	s := open(b, path, nil)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	c, err := openWriter(path, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.shut() })
	w := &raw{c: c}
	sql := insertInto + "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	for range rawRows - 1 {
		sql += ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	}
	many, err := c.raw.PrepareContext(background, sql)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { many.Close() })
	w.many = many.(driver.StmtQueryContext)
	return w
}

func (w *raw) begin(b *testing.B) {
	if err := w.c.begin(); err != nil {
		b.Fatal(err)
	}
}

func (w *raw) commit(b *testing.B) {
	if err := w.c.commit(); err != nil {
		b.Fatal(err)
	}
}

// append writes the rows of one append, with the same statements as the store.
func (w *raw) append(b *testing.B, document int, entries []store.Entry) {
	t := newTransaction(&w.c.conn, 1, 1, time.Now())
	work := appendWork{appends: []store.Append{{Key: benchKey(document), Entries: entries}}}
	if err := work.do(t); err != nil {
		b.Fatal(err)
	}
	if err := t.finish(); err != nil {
		b.Fatal(err)
	}
}

// tens writes ten rows of one document, as part of statements of 16 rows.
func (w *raw) tens(b *testing.B, document int) {
	body := make([]byte, 100)
	for range 10 {
		w.seqs[document]++
		w.last++
		for _, v := range []driver.Value{int64(document), w.seqs[document], w.last, nil, "created", int64(1), nil, nil, body, nil} {
			w.args = append(w.args, driver.NamedValue{Ordinal: len(w.args) + 1, Value: v})
		}
		if len(w.args) == rawRows*columns {
			rows, err := w.many.QueryContext(background, w.args)
			if err != nil {
				b.Fatal(err)
			}
			rows.Close()
			w.args = w.args[:0]
		}
	}
}

// flush writes what is left of a statement.
func (w *raw) flush(b *testing.B) {
	for len(w.args) > 0 {
		row := make([]driver.Value, columns)
		for i := range row {
			row[i] = w.args[i].Value
		}
		if err := w.c.exec(insertOne, row...); err != nil {
			b.Fatal(err)
		}
		w.args = w.args[columns:]
	}
}
