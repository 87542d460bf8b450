// Command soak runs all that tries to break Refold, with fresh seeds, for as long as
// it is told, and prints a table of what it did:
//
//	go run ./internal/soak -for 10m
//	go run ./internal/soak -for 8h -only sim,faults
//
// Each layer is given its share of the time, and what one leaves over goes to those
// after it. It runs jobs, which are child processes, until that is over: at least one
// (but for the models, which have one size and are left out if they do not fit), and
// the last one is let finish. What fails is printed at once, with the command that repeats it. The exit status is
// 1 if anything failed, and 2 for arguments that make no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the arguments.
type options struct {
	length time.Duration
	seed   int64
	layers []layer
}

// maxSeed leaves room for millions of seeds of the simulation after each.
const maxSeed = 1_000_000_000_000

func parseArguments(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.length, "for", 10*time.Minute, "for how long")
	flags.Int64Var(&o.seed, "seed", time.Now().Unix(), "what all seeds are made from")
	only := flags.String("only", names(layers), "which layers")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	wanted := strings.Split(*only, ",")
	for _, name := range wanted {
		if !slices.Contains(strings.Split(names(layers), ","), name) {
			err = fmt.Errorf("there is no layer %q among %s", name, names(layers))
		}
	}
	for _, l := range layers {
		if slices.Contains(wanted, l.name) {
			o.layers = append(o.layers, l)
		}
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.length <= 0:
		err = fmt.Errorf("-for %v: it must be above 0", o.length)
	case o.seed < 1 || o.seed > maxSeed:
		err = fmt.Errorf("-seed %d: it must be from 1 to %d", o.seed, int64(maxSeed))
	}
	if err != nil {
		fmt.Fprintln(stderr, "soak:", err)
	}
	return o, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArguments(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "soak:", err)
		return 1
	}
	var results []*result
	failures, end, shares := 0, time.Now().Add(o.length), 0
	for _, l := range o.layers {
		shares += l.share
	}
	for _, l := range o.layers {
		left := max(0, time.Until(end))
		s := state{ctx: ctx, root: root, seed: o.seed, until: time.Now().Add(left * time.Duration(l.share) / time.Duration(shares)), end: end}
		shares -= l.share
		r := l.soak(&s, stdout)
		failures += r.failures
		results = append(results, r)
	}
	printTable(stdout, results)
	fmt.Fprintf(stdout, "\nseed %d: go run ./internal/soak -for %v -only %s -seed %d begins with the same\n", o.seed, o.length, names(o.layers), o.seed)
	if ctx.Err() != nil {
		fmt.Fprintln(stdout, "it was stopped before the time was over")
	}
	if failures > 0 {
		return 1
	}
	return 0
}

// names lists layers as -only takes them.
func names(layers []layer) string {
	var names []string
	for _, l := range layers {
		names = append(names, l.name)
	}
	return strings.Join(names, ",")
}

// moduleRoot returns the folder of go.mod.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("this is not inside of the module")
	}
	return filepath.Dir(file), nil
}
