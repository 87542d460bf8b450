package materializer_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

type deposit struct{ Amount int }

type account struct{ Balance int }

// accounts is the collection of the examples: operations of one type need no
// codec.
var accounts = materializer.Spec[account, deposit]{
	Name:    "accounts",
	Version: 1,
	Fold: func(a account, op materializer.Operation[deposit]) (account, error) {
		a.Balance += op.Body.Amount
		return a, nil
	},
}

func Example() {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	accounts, err := materializer.Register(m, accounts)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			log.Print(err)
		}
	})

	token, err := accounts.Append(ctx, "ann", deposit{100}, deposit{-30})
	if err != nil {
		log.Fatal(err)
	}
	v, err := accounts.Get(ctx, "ann", materializer.AtLeast(token))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.ID, v.State.Balance, "after", v.Applied, "operations")

	stop()
	running.Wait()
	// Output: ann 70 after 2 operations
}

// A token can travel with a request to where the reading is done: it has a text
// form.
func ExampleAtLeast() {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
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

	token, err := accounts.Append(ctx, "bob", deposit{5})
	if err != nil {
		log.Fatal(err)
	}
	header := token.String()

	token, err = materializer.ParseToken(header)
	if err != nil {
		log.Fatal(err)
	}
	v, err := accounts.Get(ctx, "bob", materializer.AtLeast(token))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.State.Balance)

	stop()
	running.Wait()
	// Output: 5
}

// A page is created once, and renamed any number of times.
type (
	pageEvent   interface{ pageEvent() }
	pageCreated struct{ Title string }
	pageRenamed struct{ Title string }
	page        struct {
		Title   string
		Renames int
	}
)

func (pageCreated) pageEvent() {}
func (pageRenamed) pageEvent() {}

func ExampleKinds() {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	pages, err := materializer.Register(m, materializer.Spec[page, pageEvent]{
		Name:    "pages",
		Version: 1,
		Operations: materializer.Kinds(map[string]pageEvent{
			"created": pageCreated{},
			"renamed": pageRenamed{},
		}),
		Fold: func(p page, op materializer.Operation[pageEvent]) (page, error) {
			switch e := op.Body.(type) {
			case pageCreated:
				p.Title = e.Title
			case pageRenamed:
				p.Title = e.Title
				p.Renames++
			}
			return p, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := pages.Append(ctx, "p1", pageCreated{"Draft"}, pageRenamed{"Plan"}); err != nil {
		log.Fatal(err)
	}

	// Latest needs no worker: it folds what the stored view lacks.
	v, err := pages.Latest(ctx, "p1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", v.State)
	for op, err := range pages.Operations(ctx, "p1", 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(op.Seq, op.Kind)
	}
	// Output:
	// {Title:Plan Renames:1}
	// 1 created
	// 2 renamed
}

// A decision reads the latest state and appends on the condition that nothing
// came in between.
func ExampleCollection_Latest() {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	accounts, err := materializer.Register(m, accounts)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := accounts.Append(ctx, "ann", deposit{50}); err != nil {
		log.Fatal(err)
	}
	v, err := accounts.Latest(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := accounts.Append(ctx, "ann", deposit{-40}); err != nil { // somebody was faster
		log.Fatal(err)
	}
	if v.State.Balance >= 30 {
		_, err = m.Append(ctx, accounts.Change("ann", deposit{-30}).ExpectHead(v.Head))
	}
	fmt.Println(err)
	// Output: refold: head of accounts/ann is 2, expected 1
}
