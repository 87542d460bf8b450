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

// A follower keeps a copy of each view elsewhere. It stores the cursor with what it
// has copied, and goes on from there the next time.
func ExampleCollection_Changes() {
	ctx, stop := context.WithCancel(context.Background())
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	lists, err := materializer.Register(m, materializer.Spec[[]string, string]{
		Name: "lists", Version: 1,
		Fold: func(list []string, op materializer.Operation[string]) ([]string, error) {
			return append(list, op.Body), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			log.Print(err)
		}
	})
	if _, err := lists.Append(ctx, "monday", "bread", "milk"); err != nil {
		log.Fatal(err)
	}
	// An import of old lists is no news to anybody.
	if _, err := m.Append(ctx, lists.Change("last year", "candles").AsHistory()); err != nil {
		log.Fatal(err)
	}

	var stored string // with the copies, in one transaction
	copies := make(map[string][]string)
	follow := func(until int) {
		from, err := materializer.ParseCursor(stored)
		if err != nil {
			log.Fatal(err)
		}
		for v, err := range lists.Changes(ctx, from) {
			if err != nil {
				log.Fatal(err)
			}
			copies[v.ID], stored = v.State, v.Cursor.String()
			if v.ID == "last year" && !v.History {
				log.Fatal("an import made a noise")
			}
			if len(copies) == until {
				return // as a process that ends
			}
		}
	}
	follow(1)
	follow(2)
	fmt.Println(copies["monday"], copies["last year"])

	stop()
	running.Wait()
	// Output: [bread milk] [candles]
}

// The whole log can be read from one token to another, and on from there.
func ExampleMaterializer_Operations() {
	ctx := context.Background()
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	lists, err := materializer.Register(m, materializer.Spec[[]string, string]{
		Name: "lists", Version: 1,
		Fold: func(list []string, op materializer.Operation[string]) ([]string, error) {
			return append(list, op.Body), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := lists.Append(ctx, "monday", "bread", "milk"); err != nil {
		log.Fatal(err)
	}
	var reached materializer.Token // where the reader is, to be kept
	read := func() {
		for op, err := range m.Operations(ctx, reached, materializer.Token{}) {
			if err != nil {
				log.Fatal(err)
			}
			decoded, err := lists.Decode(op)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(op.Position, op.Key, decoded.Body)
			reached = op.Token
		}
	}
	read()
	if _, err := lists.Append(ctx, "tuesday", "eggs"); err != nil {
		log.Fatal(err)
	}
	read()
	// Output:
	// 1 lists/monday bread
	// 2 lists/monday milk
	// 3 lists/tuesday eggs
}
