package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Runner runs comparisons.
type Runner struct {
	Env    Env // Dir is the folder in which contestants get theirs
	Rounds int
	// Child returns the arguments with which this program, started again, calls
	// RunChild for a contestant in a folder.
	Child func(comparison, contestant, dir string) []string
}

// patience is how long one contestant may take for one round.
const patience = 2 * time.Minute

// Run lets each contestant do the work, Rounds times in turn. One that fails is
// out, and its figures do not count.
func (r Runner) Run(c Comparison) Result {
	result := Result{Comparison: c, Entries: make([]Entry, len(c.Contestants)), Rounds: r.Rounds}
	for i, who := range c.Contestants {
		if who.Skip != nil {
			result.Entries[i].Skipped = who.Skip(r.Env)
		}
	}
	for round := range r.Rounds {
		for i := range c.Contestants {
			i = (i + round) % len(c.Contestants) // nobody always comes first
			entry := &result.Entries[i]
			if entry.Skipped != "" || entry.Failed != "" {
				continue
			}
			got, err := r.start(c.Name, c.Contestants[i].Name)
			if err != nil {
				*entry = Entry{Failed: err.Error()}
				continue
			}
			entry.Rounds = append(entry.Rounds, got)
		}
	}
	return result
}

// start runs one contestant in a process and a folder of its own.
func (r Runner) start(comparison, contestant string) (Figures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.Env.Dir, "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("it took more than %v", patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, self, r.Child(comparison, contestant, dir)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, errors.New(firstLine(said.String(), err))
	}
	var got Figures
	return got, json.Unmarshal(out, &got)
}

// firstLine returns what a child said before it failed.
func firstLine(said string, err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	if line == "" {
		return err.Error()
	}
	return line
}

// RunChild runs one contestant in this process and prints its figures for the
// process that started it.
func RunChild(all []Comparison, comparison, contestant string, env Env) error {
	for _, c := range all {
		for _, who := range c.Contestants {
			if c.Name != comparison || who.Name != contestant {
				continue
			}
			got, err := who.Run(env)
			if err != nil {
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(got)
		}
	}
	return fmt.Errorf("no contestant %q in %q", contestant, comparison)
}
