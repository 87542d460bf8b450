// Timeseries keeps streams of points, what is derived of them, and roll-ups of all
// of that by minute, hour and day, with several processes on one file.
//
//	go run ./examples/timeseries
//	go run ./examples/timeseries -db points.db -streams 30 -processes 4 -plot load.svg
//	go run ./examples/timeseries -csv points.csv
//
// It generates points, or reads them, shuffles them, so that many come late, and hands
// them in batches to processes, which are this program in another role. Each
// appends what it is given and takes its share of the folding. One is killed with a
// batch in hand: nobody knows then whether that is stored. It is started again and
// given the batch again. Points have operation ids, so that none is stored twice. When
// everything is derived, each document is compared with what a straight computation
// makes of all points at once.
//
//	points  ──▶ resets                 where a device restarted
//	points, resets ──▶ rates           the derivative of a gauge, of a counter with its overflows
//	sets, points, rates ──▶ sums       of all gauges, and of the rates of all counters
//	points, resets, rates, sums ──▶ minutes ──▶ hours ──▶ days
//
// A document of the first four is an hour of a stream. What a stream is, its name
// says: d1.uptime, d1.rx.counter16, d1.rx.counter, or any other for a gauge. A
// CSV file has lines like 2026-01-02T03:04:05Z,d1.load,0.5 below the line time,stream,value.
//
// The same command goes on where it was interrupted, and another one on the same file adds to
// what is there. The flag -help lists all flags.
//
// The exit status is 0 if every document is what it must be; 1 if one differs, or
// something failed; 2 if the command line, or what it names, is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == childRole {
		// What a terminal sends to all is meant for the parent, which then closes the pipe.
		signal.Ignore(os.Interrupt, syscall.SIGHUP)
		os.Exit(runChild(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
