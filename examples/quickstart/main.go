// Command quickstart keeps a shopping list and reads its own writes.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

type Change struct {
	Item string
	Add  int
}

func fold(list map[string]int, op materializer.Operation[Change]) (map[string]int, error) {
	if list == nil {
		list = map[string]int{}
	}
	list[op.Body.Item] += op.Body.Add
	return list, nil
}

func main() {
	st, err := sqlite.Open("shopping.db", nil)
	check(err)
	m, err := materializer.New(st, materializer.Config{})
	check(err)
	lists, err := materializer.Register(m, materializer.Spec[map[string]int, Change]{Name: "lists", Version: 1, Fold: fold})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()

	token, err := lists.Append(ctx, "monday", Change{"bread", 2}, Change{"milk", 1}) // durable when it returns
	check(err)
	list, err := lists.Get(ctx, "monday", materializer.AtLeast(token)) // read your writes
	check(err)
	fmt.Println(list.State, "after", list.Applied, "operations")

	stop()
	check(<-ended)
	check(st.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
