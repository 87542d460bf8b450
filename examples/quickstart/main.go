// Command quickstart keeps a shopping list and reads its own writes.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

func fold(list []string, op materializer.Operation[string]) ([]string, error) {
	return append(list, op.Body), nil
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	st := must(sqlite.Open("shopping.db", nil))
	m := must(materializer.New(st, materializer.Config{}))
	lists := must(materializer.Register(m, materializer.Spec[[]string, string]{Name: "lists", Version: 1, Fold: fold}))
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()

	token := must(lists.Append(ctx, "monday", "bread", "milk"))         // durable when it returns
	list := must(lists.Get(ctx, "monday", materializer.AtLeast(token))) // read your writes
	fmt.Println(list.State, "after", list.Applied, "operations")

	stop()
	fmt.Println("stopped:", <-ended, st.Close())
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
