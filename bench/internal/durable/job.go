// Package durable compares ways to get operations into the views of their
// documents through a database, and their in-memory relatives.
package durable

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/refold-go/refold/bench/internal/harness"
)

// operation is about 100 bytes as JSON.
type operation struct {
	By   int64
	Note string
}

// view is as small as a useful one gets.
type view struct{ N, Total int64 }

const note = "seventy-two bytes of text that nobody reads, so that the size is a usual one"

func (v view) add(op operation) view {
	return view{N: v.N + 1, Total: v.Total + op.By}
}

// foldAll makes a view of the bodies of operations.
func foldAll(bodies [][]byte) (v view, err error) {
	for _, b := range bodies {
		var op operation
		if err := json.Unmarshal(b, &op); err != nil {
			return view{}, err
		}
		v = v.add(op)
	}
	return v, nil
}

const (
	jobOperations = 100_000
	jobDocuments  = 10_000
	appenders     = 64
	handlers      = 16
)

// work is the real job: operations over documents, so many an append.
type work struct {
	documents []string
	appends   []change // each of one document
	want      map[string]view
}

type change struct {
	document   string
	operations []operation
}

// newWork draws the whole job or a share of it, with as many operations a
// document.
func newWork(size harness.Size, share float64, perAppend int) work {
	n := size.Of(int(jobOperations*share), 10*perAppend) / perAppend
	documents := max(n*perAppend*jobDocuments/jobOperations, 2)
	w := work{want: make(map[string]view)}
	for i := range documents {
		w.documents = append(w.documents, fmt.Sprintf("document-%06d", i))
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		c := change{document: w.documents[random.IntN(documents)]}
		for j := range perAppend {
			op := operation{By: int64(i + j), Note: note}
			c.operations = append(c.operations, op)
			w.want[c.document] = w.want[c.document].add(op)
		}
		w.appends = append(w.appends, c)
	}
	return w
}

// operations returns how many there are in all.
func (w work) operations() int { return len(w.appends) * len(w.appends[0].operations) }

// check compares the views with what they should be.
func (w work) check(got map[string]view) error {
	if len(got) != len(w.want) {
		return fmt.Errorf("%d documents have views, want %d", len(got), len(w.want))
	}
	for document, want := range w.want {
		if got[document] != want {
			return fmt.Errorf("the view of %s is %v, want %v", document, got[document], want)
		}
	}
	return nil
}
