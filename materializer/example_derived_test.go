package materializer_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

type order struct {
	Customer string
	Cents    int
}

func orders(m *materializer.Materializer) (*materializer.Collection[order, order], error) {
	return materializer.Register(m, materializer.Spec[order, order]{
		Name: "orders", Version: 1,
		Fold: func(_ order, op materializer.Operation[order]) (order, error) { return op.Body, nil },
	})
}

// What each customer has spent, of all orders.
func ExampleByContributions() {
	st := memory.New(nil)
	m, err := materializer.New(st, materializer.Config{})
	check(err)
	orders, err := orders(m)
	check(err)
	spent, err := materializer.ByContributions(m, materializer.Contributions[int, int]{
		Name: "spent", Version: 1,
		Sources: []materializer.Source[int]{
			materializer.From(orders, func(_ string, o order, emit func(string, int)) error {
				emit(o.Customer, o.Cents)
				return nil
			}),
		},
		Reduce: func(_ string, all iter.Seq2[materializer.Contributor, int]) (sum int, _ error) {
			for _, cents := range all {
				sum += cents
			}
			return sum, nil
		},
	})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()

	_, err = orders.Append(ctx, "1", order{"ann", 100})
	check(err)
	_, err = orders.Append(ctx, "2", order{"ann", 20})
	check(err)
	token, err := orders.Append(ctx, "1", order{"ann", 3}) // it was changed
	check(err)
	ann, err := spent.Get(ctx, "ann", materializer.AtLeast(token))
	check(err)
	fmt.Println("ann has spent", ann.State)

	stop()
	check(<-ended)
	check(st.Close())
	// Output: ann has spent 23
}

// A line of text for each order, with the name of its customer.
func ExampleByReads() {
	st := memory.New(nil)
	m, err := materializer.New(st, materializer.Config{})
	check(err)
	orders, err := orders(m)
	check(err)
	names, err := materializer.Register(m, materializer.Spec[string, string]{
		Name: "names", Version: 1,
		Fold: func(_ string, op materializer.Operation[string]) (string, error) { return op.Body, nil },
	})
	check(err)
	lines, err := materializer.ByReads(m, materializer.Reads[string]{
		Name: "lines", Version: 1,
		Sources: []materializer.Concern{
			materializer.Concerns(orders, func(id string, _ order) []string { return []string{id} }),
			materializer.Concerns[string](names, nil), // concerns those that have read it
		},
		Build: func(r *materializer.Reader, id string) (string, error) {
			o, err := materializer.Read(r, orders, id)
			if err != nil {
				return "", materializer.Deleted
			}
			name, err := materializer.Read(r, names, o.Customer)
			if err != nil {
				name = "somebody"
			}
			return fmt.Sprintf("%s pays %d", name, o.Cents), nil
		},
	})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()

	token, err := orders.Append(ctx, "1", order{"c7", 100})
	check(err)
	line, err := lines.Get(ctx, "1", materializer.AtLeast(token))
	check(err)
	fmt.Println(line.State)
	token, err = names.Append(ctx, "c7", "Ann")
	check(err)
	line, err = lines.Get(ctx, "1", materializer.AtLeast(token))
	check(err)
	fmt.Println(line.State)

	stop()
	check(<-ended)
	check(st.Close())
	// Output:
	// somebody pays 100
	// Ann pays 100
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
