package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// status is how far the program is.
type status struct {
	commits    int64 // read
	operations int64 // appended or found there already
	folded     int64
	runs       int64
}

// showProgress tells how far the program is until ctx ends: with a bar on a
// terminal, elsewhere with a line every few seconds. total is how many commits
// there are, 0 if that is unknown.
func showProgress(ctx context.Context, w io.Writer, total int, now func() status) {
	if isTerminal(w) {
		showBar(ctx, w, total, now)
		return
	}
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s := now()
			fmt.Fprintf(w, "%s read, %s stored, %d folded in %s\n",
				count(s.commits, "commit"), count(s.operations, "operation"), s.folded, count(s.runs, "run"))
		}
	}
}

func showBar(ctx context.Context, w io.Writer, total int, now func() status) {
	most := total
	if total == 0 {
		most = -1 // the bar's way to say unknown
	}
	bar := progressbar.NewOptions(most,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own
	)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			bar.Finish()
			return
		case <-tick.C:
			s := now()
			bar.Describe(fmt.Sprintf("commits (%s stored, %d folded)", count(s.operations, "operation"), s.folded))
			n := int(s.commits)
			if total > 0 {
				n = min(n, total-1) // it is full when all is folded, not when all is read
			}
			bar.Set(n)
		}
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
