package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// options is what the command line says.
type options struct {
	db        string // "" for a temporary file
	streams   int
	points    int // of each stream
	seed      uint64
	csv       string // "" to generate points
	processes int
	plot      string // "" for none
}

// parseOptions reads the command line. On an error it has told the user.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("timeseries", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.db, "db", "", "keep points and views in `FILE`\n(default a temporary file, removed at the end)")
	f.IntVar(&o.streams, "streams", 6, "how many streams are generated, 1 to 1000")
	f.IntVar(&o.points, "points", 1000, "how many points each of them has, 1 to 1000000,\nten seconds apart and with a gap after each 500; some are missed")
	f.Uint64Var(&o.seed, "seed", 1, "the same seed generates the same points, in the same order of arrival")
	f.StringVar(&o.csv, "csv", "", "read points from `FILE` instead, with lines of time,stream,value")
	f.IntVar(&o.processes, "processes", 2, "how many processes append and fold, 1 to 16")
	f.StringVar(&o.plot, "plot", "", "draw the first gauge and its roll-ups, the last two days, into `FILE.svg`")
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: timeseries [flags]\n\nFlags:\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(f); err != nil {
		fmt.Fprintf(stderr, "timeseries: %v (-help shows the usage)\n", err)
		return o, err
	}
	return o, nil
}

func (o *options) check(f *flag.FlagSet) error {
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	const mostStreams, mostPoints, mostProcesses = 1000, 1_000_000, 16
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected %q, want flags only", f.Args())
	case set["db"] && o.db == "":
		return errors.New("-db is empty, want a file")
	case set["csv"] && o.csv == "":
		return errors.New("-csv is empty, want a file")
	case set["plot"] && o.plot == "":
		return errors.New("-plot is empty, want a file")
	case set["csv"] && (set["streams"] || set["points"]):
		return errors.New("-streams and -points are for points that are generated, -csv reads them; want either")
	case o.streams < 1 || o.streams > mostStreams:
		return fmt.Errorf("-streams is %d, want 1 to %d", o.streams, mostStreams)
	case o.points < 1 || o.points > mostPoints:
		return fmt.Errorf("-points is %d, want 1 to %d", o.points, mostPoints)
	case o.processes < 1 || o.processes > mostProcesses:
		return fmt.Errorf("-processes is %d, want 1 to %d", o.processes, mostProcesses)
	}
	return nil
}
