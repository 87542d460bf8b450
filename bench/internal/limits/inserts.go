package limits

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/bench/internal/harness"
)

const operationsTable = `CREATE TABLE operations (document INTEGER, seq INTEGER, position INTEGER, body BLOB,
	PRIMARY KEY (document, seq)) WITHOUT ROWID`

const documents = 10_000

// Inserts are operations written by SQLite alone: by one goroutine, or one
// connection that several share.
type Inserts struct {
	Rows           int // in all
	PerStatement   int
	PerTransaction int
	PerDocument    int // so many operations of one document come together
	Writers        int // who share the connection
	Synchronous    string
}

// Body is an operation of about 100 bytes.
var Body = []byte(`{"By":12345,"Note":"seventy-two bytes of text that nobody reads, so that the size is a usual one"}`)

// Run does the inserts.
func (in Inserts) Run(env harness.Env) (harness.Figures, error) {
	db, err := OpenSQLite(env.Dir, in.Synchronous, operationsTable)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	insert, err := db.Prepare("INSERT INTO operations VALUES (?,?,?,?)" + strings.Repeat(",(?,?,?,?)", in.PerStatement-1))
	if err != nil {
		return nil, err
	}
	defer insert.Close()
	transactions := env.Size.Of(in.Rows, 10*in.PerTransaction) / in.PerTransaction
	var next atomic.Int64
	var writing sync.WaitGroup
	failed := make(chan error, in.Writers)
	source := &operations{perDocument: in.PerDocument, random: rand.New(rand.NewPCG(1, 1)), heads: make([]int, documents)}

	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	for range in.Writers {
		writing.Go(func() {
			for next.Add(1) <= int64(transactions) {
				if err := in.transaction(db, insert, source); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	writing.Wait()
	used, err := meter.Stop()
	if err != nil {
		return nil, err
	}
	select {
	case err := <-failed:
		return nil, err
	default:
	}
	rows := transactions * in.PerTransaction
	return harness.Figures{
		"rows/s":     float64(rows) / used.Elapsed.Seconds(),
		"CPU µs/row": float64(used.CPU.Nanoseconds()) / 1e3 / float64(rows),
	}, wantRows(db, "operations", rows)
}

func (in Inserts) transaction(db *sql.DB, insert *sql.Stmt, source *operations) error {
	ctx := context.Background()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	stmt := tx.StmtContext(ctx, insert)
	for range in.PerTransaction / in.PerStatement {
		if _, err := stmt.ExecContext(ctx, source.next(in.PerStatement)...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// operations makes rows. It is used inside of a transaction, so by one goroutine
// at a time.
type operations struct {
	perDocument, made, document int
	random                      *rand.Rand
	heads                       []int
	args                        []any
}

func (o *operations) next(rows int) []any {
	o.args = o.args[:0]
	for range rows {
		if o.made%o.perDocument == 0 {
			o.document = o.random.IntN(len(o.heads))
		}
		o.heads[o.document]++
		o.made++
		o.args = append(o.args, o.document, o.heads[o.document], o.made, Body)
	}
	return o.args
}

// upserts write views, each of a random document that has one or gets one.
func upserts(rows, perTransaction int, synchronous string) func(harness.Env) (harness.Figures, error) {
	return func(env harness.Env) (harness.Figures, error) {
		db, err := OpenSQLite(env.Dir, synchronous, "CREATE TABLE views (document INTEGER PRIMARY KEY, applied INTEGER, body BLOB)")
		if err != nil {
			return nil, err
		}
		defer db.Close()
		upsert, err := db.Prepare("INSERT INTO views VALUES (?,?,?) ON CONFLICT DO UPDATE SET applied = excluded.applied, body = excluded.body")
		if err != nil {
			return nil, err
		}
		defer upsert.Close()
		random, seen, ctx := rand.New(rand.NewPCG(1, 1)), make(map[int]bool), context.Background()
		n := env.Size.Of(rows, perTransaction)
		began := time.Now()
		for i := 0; i < n; {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return nil, err
			}
			for range min(perTransaction, n-i) {
				document := random.IntN(documents)
				seen[document] = true
				i++
				if _, err := tx.StmtContext(ctx, upsert).ExecContext(ctx, document, i, Body); err != nil {
					tx.Rollback()
					return nil, err
				}
			}
			if err := tx.Commit(); err != nil {
				return nil, err
			}
		}
		elapsed := time.Since(began)
		return harness.Figures{"rows/s": float64(n) / elapsed.Seconds()}, wantRows(db, "views", len(seen))
	}
}
