package materializer_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// sum is the state of the benchmarks: as small as a useful one gets.
type sum struct{ N, Total int64 }

// delta is an operation of 100 bytes, give or take.
type delta struct {
	By   int64
	Note string
}

const note = "seventy-two bytes of text that nobody reads, so that the size is a usual one"

func foldSum(s sum, op materializer.Operation[delta]) (sum, error) {
	s.N++
	s.Total += op.Body.By
	return s, nil
}

type sums struct {
	st  *sqlite.Store
	m   *materializer.Materializer
	col *materializer.Collection[sum, delta]
}

func openSums(b *testing.B, path string) *sums {
	b.Helper()
	st, err := sqlite.Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		b.Fatal(err)
	}
	col, err := materializer.Register(m, materializer.Spec[sum, delta]{Name: "sums", Version: 1, Fold: foldSum})
	if err != nil {
		b.Fatal(err)
	}
	return &sums{st, m, col}
}

// run starts Run; the function it returns stops it and closes the store.
func (s *sums) run(b *testing.B) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.m.Run(ctx) }()
	return func() {
		b.Helper()
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := s.st.Close(); err != nil {
			b.Error(err)
		}
	}
}

// appendAll appends n operations, each call one document's, from so many
// goroutines.
func (s *sums) appendAll(b *testing.B, n, perAppend, documents, appenders int) {
	b.Helper()
	var g sync.WaitGroup
	for a := range appenders {
		g.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(a)))
			ops := make([]delta, perAppend)
			for i := a * perAppend; i < n; i += appenders * perAppend {
				for j := range ops {
					ops[j] = delta{By: int64(i + j), Note: note}
				}
				if _, err := s.col.Append(context.Background(), fmt.Sprintf("document-%06d", random.IntN(documents)), ops...); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
}

// wantAll waits for all views and checks that they contain n operations.
func (s *sums) wantAll(b *testing.B, n int) {
	b.Helper()
	end, err := s.m.End(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if err := s.m.Wait(context.Background(), end); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	var got int64
	for v, err := range s.col.All(context.Background()) {
		if err != nil {
			b.Fatal(err)
		}
		got += v.State.N
	}
	if got != int64(n) {
		b.Fatalf("the views contain %d operations, want %d", got, n)
	}
	b.StartTimer()
}

// BenchmarkAppendToView is the whole way at FULL: 100,000 operations over 10,000
// documents from 64 appenders, until all are in their views. raw is the floor:
// the same rows inserted by a single loop with 16 rows a statement and 1,000 a
// transaction, and nothing else.
func BenchmarkAppendToView(b *testing.B) {
	const n, documents, appenders = 100_000, 10_000, 64
	for _, perAppend := range []int{1, 10} {
		b.Run(fmt.Sprintf("refold/perAppend=%d", perAppend), func(b *testing.B) {
			for b.Loop() {
				s := openSums(b, filepath.Join(b.TempDir(), "sums.db"))
				stop := s.run(b)
				s.appendAll(b, n, perAppend, documents, appenders)
				s.wantAll(b, n)
				stop()
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "operations/s")
		})
	}
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			insertRaw(b, filepath.Join(b.TempDir(), "raw.db"), n, documents)
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "operations/s")
	})
}

// insertRaw inserts the operations of n/10 documents, 10 each at a time as the
// appenders do.
func insertRaw(b *testing.B, path string, n, documents int) {
	const rows, perTransaction, perAppend = 16, 1008, 10
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_cache_size=-65536")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(ctx context.Context, on interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, q string, args ...any) {
		if _, err := on.ExecContext(ctx, q, args...); err != nil {
			b.Fatal(err)
		}
	}
	ctx := context.Background()
	exec(ctx, db, `PRAGMA wal_autocheckpoint = 10000`)
	exec(ctx, db, `CREATE TABLE operations (document INTEGER, seq INTEGER, position INTEGER, body BLOB, PRIMARY KEY (document, seq)) WITHOUT ROWID`)
	q := `INSERT INTO operations VALUES (?,?,?,?)`
	for range rows - 1 {
		q += `,(?,?,?,?)`
	}
	insert, err := db.Prepare(q)
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	random := rand.New(rand.NewPCG(1, 1))
	heads := make([]int, documents)
	body := []byte(`{"By":12345,"Note":"` + note + `"}`)
	args := make([]any, 0, 4*rows)
	document := 0
	for i := 0; i < n; {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			b.Fatal(err)
		}
		stmt := tx.Stmt(insert)
		for range perTransaction / rows {
			args = args[:0]
			for range rows {
				if i%perAppend == 0 {
					document = random.IntN(documents)
				}
				heads[document]++
				i++
				args = append(args, document, heads[document], i, body)
			}
			if _, err := stmt.ExecContext(ctx, args...); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOneMore is one more operation on a document that has so many, until
// it is in the view. It should not matter how many.
func BenchmarkOneMore(b *testing.B) {
	for _, length := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			s := openSums(b, filepath.Join(b.TempDir(), "sums.db"))
			stop := s.run(b)
			defer stop()
			s.appendAll(b, length, min(length, 1000), 1, 1)
			s.wantAll(b, length)
			for b.Loop() {
				s.oneMore(b, "document-000000")
			}
		})
	}
}

func (s *sums) oneMore(b *testing.B, id string) {
	token, err := s.col.Append(context.Background(), id, delta{By: 1, Note: note})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.col.Get(context.Background(), id, materializer.AtLeast(token)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIdle has so many documents stored and nothing dirty: what opening and
// starting costs, and what one more operation costs then. 5,000,000 documents
// take some minutes to make, and are left out with -short.
func BenchmarkIdle(b *testing.B) {
	for _, documents := range []int{10_000, 1_000_000, 5_000_000} {
		if testing.Short() && documents > 1_000_000 {
			continue
		}
		path := filepath.Join(b.TempDir(), "sums.db")
		s := openSums(b, path)
		makeDocuments(b, s.st, documents)
		if err := s.st.Close(); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("start/%d", documents), func(b *testing.B) {
			for b.Loop() {
				s := openSums(b, path)
				stop := s.run(b)
				s.oneMore(b, "document-000000")
				stop()
			}
		})
		b.Run(fmt.Sprintf("more/%d", documents), func(b *testing.B) {
			s := openSums(b, path)
			stop := s.run(b)
			defer stop()
			for i := 0; b.Loop(); i++ {
				s.oneMore(b, fmt.Sprintf("document-%06d", i*7919%documents))
			}
		})
	}
}

// makeDocuments appends one operation to each document, with its view.
func makeDocuments(b *testing.B, st *sqlite.Store, documents int) {
	b.Helper()
	const batch = 20_000
	body := []byte(`{"By":1,"Note":"` + note + `"}`)
	for from := 0; from < documents; from += batch {
		var appends []store.Append
		var commits []store.Commit
		for i := from; i < min(from+batch, documents); i++ {
			key := store.Key{Collection: "sums", ID: fmt.Sprintf("document-%06d", i)}
			appends = append(appends, store.Append{Key: key, Entries: []store.Entry{{Body: body}}})
			commits = append(commits, store.Commit{Key: key, Applied: 1, View: []byte(`{"N":1,"Total":1}`)})
		}
		if _, err := st.Append(context.Background(), appends); err != nil {
			b.Fatal(err)
		}
		if _, err := st.Commit(context.Background(), commits); err != nil {
			b.Fatal(err)
		}
	}
}
