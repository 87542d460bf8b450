// Githistory keeps a view of every file of a git repository: how many commits
// changed it, how many lines they added and deleted, how many people they are
// of. Each change of a file by a commit is an operation on the document of its
// path, with the commit as its id, appended by several goroutines at once. Two
// derived collections add that up by author and by folder of the top level.
//
//	go run ./examples/githistory -verify .
//	go run ./examples/githistory -db history.db -writers 8 -dump REPO
//
// Because the operations have ids, the second command can be killed at any
// moment and run again: what is stored is not stored twice, and the dump is the
// same in the end. The flag -help lists all flags.
//
// With -poison the fold of one file fails, as one with a mistake would:
//
//	go run ./examples/githistory -db history.db -poison README.md REPO
//
// The file's document is parked. What comes before the operation that failed is
// in its view, all other files go on, and the program tells what is parked and
// why. A run without -poison resumes it, and ends in the same dump as if nothing
// had been. -verify compares a parked file up to where its view is, and counts it
// so for its authors and its folder.
//
// The exit status is 0, also if what -poison names is parked; 1 if something
// else failed or -verify found a difference; 2
// if the command line or the repository that it names is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	// When the reader of the output leaves early, like head, that is an error of
	// writing and not the end of the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
