// Package harness runs comparisons: each contestant in a process of its own, in
// rounds, one after the other; and reports what came out.
package harness

// Comparison is one piece of work that several contestants do.
type Comparison struct {
	Name  string
	About string
	// Figures are the columns of the report, the first of which is drawn.
	Figures []string
	// Contestants are in the order of the report. Ratios are those of the one
	// that is Ours to each other one; without one there are none.
	Contestants []Contestant
	Goals       []Goal
}

// Contestant does the work of a comparison and measures it.
type Contestant struct {
	Name string
	Kind Kind
	// Settings says what was set, and what about it is unlike the others.
	Settings string
	// Skip returns why the contestant cannot run here, or nothing. nil means that
	// it always can.
	Skip func(Env) string
	// Run does the work and returns the figures. It checks the result first: an
	// error means that the figures would not count.
	Run func(Env) (Figures, error)
}

// Kind says what a contestant is there for.
type Kind int

const (
	Peer    Kind = iota // what could be used instead
	Ours                // Refold
	Variant             // Refold, set otherwise
	Limit               // what the machine gives if nothing else is done
)

// Figures are what was measured, by name.
type Figures map[string]float64

// Env is what a contestant gets.
type Env struct {
	Size     Size
	Dir      string // empty, and removed afterwards
	Postgres string // URL of a server in which a schema may be made, or empty
}

// Size is the share of the whole work that is done.
type Size float64

const (
	Full  Size = 1
	Quick Size = 0.1
	Tiny  Size = 0.002
)

// Of returns the share of n, and at least least.
func (s Size) Of(n, least int) int { return max(int(float64(n)*float64(s)), least) }

// Goal is a bound that the project wants to keep.
type Goal struct {
	Figure string
	// Against names the contestant to which the ratio is taken. [BestPeer] is the
	// fastest peer of each round; nothing means that the figure itself is bound.
	Against string
	Bound   float64
	AtMost  bool // the bound is an upper one
}

// BestPeer stands for the peer with the highest figure.
const BestPeer = "the best peer"

func (c Comparison) ours() int {
	for i, who := range c.Contestants {
		if who.Kind == Ours {
			return i
		}
	}
	return -1
}
