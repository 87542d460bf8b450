package durable

import (
	"context"

	"github.com/refold-go/refold/bench/internal/harness"
)

// A database holds the tables of the application that uses a queue: its
// operations and its views.
type database[Tx any] interface {
	inTx(ctx context.Context, do func(Tx) error) error
	// insert adds an operation to a document.
	insert(ctx context.Context, tx Tx, document string, body []byte) error
	// refresh is the job: it reads the document's operations, folds them and
	// writes the view, in one transaction. It returns the view.
	refresh(ctx context.Context, document string) (view, error)
	views(ctx context.Context) (map[string]view, error)
	count(ctx context.Context, table string) (int, error)
	close() error
}

// A queue keeps its jobs in the same database.
type queue[Tx any] interface {
	// add adds jobs in a transaction of the application.
	add(ctx context.Context, tx Tx, payloads ...string) error
	// added is called when that is committed.
	added()
	// start works on jobs until stop is called.
	start(handle func(ctx context.Context, payload string) error) (stop func() error, err error)
	// table has a row for each job that waits.
	table() string
}

// place is where a contestant may put things.
type place struct{ dir, postgres string }

// peer is one way to do it.
type peer[Tx any] struct {
	name, settings string
	open           func(place) (database[Tx], queue[Tx], error)
	skip           func(place) string
	size           sizes
}

// sizes are how much a peer does. Slow ones do less, so that a round takes
// seconds; smaller tables are in their favour.
type sizes struct {
	enqueue int     // jobs that are added; 0 keeps it out of that
	process int     // jobs that do nothing
	job     float64 // share of the real job, with as many operations a document
}

// contender is a peer, whatever its transactions are.
type contender interface {
	contestant(run func(harness.Env) (harness.Figures, error)) harness.Contestant
	sizes() sizes
	enqueue(appenders, perTransaction int) func(harness.Env) (harness.Figures, error)
	process(harness.Env) (harness.Figures, error)
	realJob(harness.Env) (harness.Figures, error)
}

func (p peer[Tx]) sizes() sizes { return p.size }

func (p peer[Tx]) contestant(run func(harness.Env) (harness.Figures, error)) harness.Contestant {
	c := harness.Contestant{Name: p.name, Settings: p.settings, Run: run}
	if p.skip != nil {
		c.Skip = func(env harness.Env) string { return p.skip(placeOf(env)) }
	}
	return c
}

func placeOf(env harness.Env) place { return place{dir: env.Dir, postgres: env.Postgres} }
