// Bench compares Refold with others that could do the same work, and with what
// the machine gives if nothing else is done. It is a module of its own, so that
// none of them reaches an application that uses Refold.
//
//	go -C bench run . [-quick] [-only NAME] [-rounds N] [-json FILE] [-svg FILE]
//	                  [-dir FOLDER] [-postgres URL]
//
// Each contestant does each comparison in a process of its own, once a round,
// one after the other. The figures are medians; a ratio, in brackets, is the
// median of the ratios of each round: Refold's figure divided by that of the
// contestant. A result that is wrong does not count, and one of Refold makes the
// whole run fail.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/bench/internal/durable"
	"github.com/refold-go/refold/bench/internal/harness"
	"github.com/refold-go/refold/bench/internal/inmemory"
	"github.com/refold-go/refold/bench/internal/limits"
)

func comparisons() []harness.Comparison {
	return slices.Concat(limits.Comparisons(), inmemory.Comparisons(), durable.Comparisons())
}

// peers are the modules whose versions are part of a result.
var peers = []string{
	"github.com/ThreeDotsLabs/watermill",
	"github.com/jackc/pgx/v5",
	"github.com/mattn/go-sqlite3",
	"github.com/mikestefanello/backlite",
	"github.com/riverqueue/river",
	"k8s.io/client-go",
	"maragu.dev/goqite",
	"sigs.k8s.io/controller-runtime",
}

type options struct {
	quick, list   bool
	only, child   string
	rounds        int
	json, svg     string
	dir, postgres string
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "do a tenth of the work, once: shows that it works, the figures mean little")
	flag.BoolVar(&o.list, "list", false, "print the names of the comparisons and end")
	flag.StringVar(&o.only, "only", "", "only comparisons with `NAME` in their name")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each contestant does each comparison")
	flag.StringVar(&o.json, "json", "", "write the results to `FILE` as JSON")
	flag.StringVar(&o.svg, "svg", "", "write a chart of the results to `FILE`")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "put the databases into `FOLDER`, which should be on a disk")
	flag.StringVar(&o.postgres, "postgres", os.Getenv("BENCH_POSTGRES"), "`URL` of a PostgreSQL server where the schema refold_bench may be made and dropped; by default $BENCH_POSTGRES")
	flag.StringVar(&o.child, "child", "", "used by bench to start itself")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	env := harness.Env{Size: harness.Full, Dir: o.dir, Postgres: o.postgres}
	if o.quick {
		env.Size, o.rounds = harness.Quick, 1
	}
	if comparison, contestant, ok := strings.Cut(o.child, "/"); ok {
		return harness.RunChild(comparisons(), comparison, contestant, env)
	}
	var chosen []harness.Comparison
	for _, c := range comparisons() {
		if strings.Contains(c.Name, o.only) {
			chosen = append(chosen, c)
		}
	}
	if o.list {
		for _, c := range chosen {
			fmt.Printf("%s: %s\n", c.Name, c.About)
		}
		return nil
	}
	return compare(o, env, chosen)
}

// compare runs the chosen comparisons and reports each when it is done.
func compare(o options, env harness.Env, chosen []harness.Comparison) error {
	began, machine := time.Now(), harness.ThisMachine(o.dir, peers)
	fmt.Println(machine)
	runner := harness.Runner{Env: env, Rounds: o.rounds, Child: func(comparison, contestant, dir string) []string {
		return []string{"-child=" + comparison + "/" + contestant, fmt.Sprintf("-quick=%v", o.quick), "-dir=" + dir, "-postgres=" + o.postgres}
	}}
	var results []harness.Result
	var failed error
	for _, c := range chosen {
		r := runner.Run(c)
		harness.Table(os.Stdout, r, o.quick)
		results = append(results, r)
		for i, who := range c.Contestants {
			if e := r.Entries[i]; who.Kind == harness.Ours && e.Failed != "" {
				failed = errors.Join(failed, fmt.Errorf("%s: %s", c.Name, e.Failed))
			}
		}
	}
	harness.Settings(os.Stdout, results)
	fmt.Printf("\n%d comparisons in %v\n", len(results), time.Since(began).Round(time.Second))
	write := func(path string, to func(io.Writer) error) error {
		if path == "" {
			return nil
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		return errors.Join(to(f), f.Close())
	}
	return errors.Join(failed,
		write(o.json, func(w io.Writer) error { return harness.JSON(w, machine, o.quick, results) }),
		write(o.svg, func(w io.Writer) error { return harness.SVG(w, results) }))
}
