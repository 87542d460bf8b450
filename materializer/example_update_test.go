package materializer_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// A row of a table of the application and an operation are stored together, or
// not at all.
func ExampleMaterializer_Update() {
	dir, err := os.MkdirTemp("", "refold")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(filepath.Join(dir, "app.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	accounts, err := materializer.Register(m, accounts)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })

	var token materializer.Token
	err = m.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE owners (account TEXT PRIMARY KEY, owner TEXT)"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO owners VALUES ('a1', 'Ann')"); err != nil {
			return err
		}
		appended, err := m.AppendTx(ctx, tx, accounts.Change("a1", deposit{100}))
		token = appended.Token
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	v, err := accounts.Get(ctx, "a1", materializer.AtLeast(token))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.ID, v.State.Balance)

	stop()
	running.Wait()
	// Output: a1 100
}
