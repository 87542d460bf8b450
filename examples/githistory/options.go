package main

import (
	"flag"
	"fmt"
	"io"
)

// options is what the command line says.
type options struct {
	repository string // a folder; "" if log is given
	log        string // a file or "-"; "" if repository is given
	db         string // "" for a temporary file
	writers    int
	workers    int    // 0 for as many as there are processors
	limit      int    // commits; 0 for all
	poison     string // a path in the repository; "" for none
	json       bool
	dump       bool
	verify     bool
	quiet      bool
}

// parseOptions reads the command line. On an error it has told the user.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("githistory", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.log, "log", "", "read `FILE` instead of a repository: saved output of git log,\nplain or gzip, - for standard input")
	f.StringVar(&o.db, "db", "", "keep operations and views in `FILE`\n(default a temporary file, removed at the end)")
	f.IntVar(&o.writers, "writers", 4, "how many goroutines append at once, 1 to 256")
	f.IntVar(&o.workers, "workers", 0, "how many goroutines fold at once, 1 to 256\n(default as many as there are processors)")
	f.IntVar(&o.limit, "limit", 0, "stop after so many commits (default all)")
	f.StringVar(&o.poison, "poison", "", "have the fold of the file `PATH` fail, to see it parked and all else go on;\nPATH is as in the repository, from its top. A run without it resumes the file")
	f.BoolVar(&o.json, "json", false, "write an object with the figures to standard output")
	f.BoolVar(&o.dump, "dump", false, "write an object for each file to standard output, a line each, in order of path")
	f.BoolVar(&o.verify, "verify", false, "fold all again in memory and compare every file, author and folder;\nexit 1 if one differs")
	f.BoolVar(&o.quiet, "quiet", false, "write nothing to standard error but warnings and errors")
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: githistory [flags] [REPO]\n\nREPO is a folder in a git repository, by default the current one. Flags:\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(f); err != nil {
		fmt.Fprintf(stderr, "githistory: %v (-help shows the usage)\n", err)
		return o, err
	}
	return o, nil
}

func (o *options) check(f *flag.FlagSet) error {
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	const most = 256
	switch {
	case f.NArg() > 1:
		return fmt.Errorf("one repository at most, got %q (flags come before it)", f.Args())
	case set["log"] && f.NArg() == 1:
		return fmt.Errorf("either -log or a repository, not both")
	case set["log"] && o.log == "":
		return fmt.Errorf("-log is empty, want a file")
	case set["db"] && o.db == "":
		return fmt.Errorf("-db is empty, want a file")
	case set["poison"] && o.poison == "":
		return fmt.Errorf("-poison is empty, want the path of a file in the repository")
	case o.writers < 1 || o.writers > most:
		return fmt.Errorf("-writers is %d, want 1 to %d", o.writers, most)
	case o.workers < 0 || o.workers > most || set["workers"] && o.workers == 0:
		return fmt.Errorf("-workers is %d, want 1 to %d", o.workers, most)
	case o.limit < 0 || set["limit"] && o.limit == 0:
		return fmt.Errorf("-limit is %d, want 1 or more", o.limit)
	}
	if o.log == "" {
		o.repository = "."
		if f.NArg() == 1 {
			o.repository = f.Arg(0)
		}
	}
	return nil
}
