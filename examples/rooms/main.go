// Rooms is a chat: each room is a document, each message an operation on it, and
// any number of processes append to the one file.
//
//	go run ./examples/rooms
//	go run ./examples/rooms -addr 127.0.0.1:9000 -db chat.db -writers 4 -rooms lobby,kitchen
//
// It prints the address of a page that shows the rooms live. The flag -help lists
// all flags.
//
// The server is the process that makes the views, and the only one that talks
// HTTP. It starts the writers, which are this program in another role, and hands
// each message to one of them through a pipe. A writer opens the file by itself and
// appends; each message tells which process that was. A writer that dies is
// started again, and what it had in hand is given to another one with the same
// operation id: if it was stored already it is not stored twice. Kill some with
// kill -9 and see.
//
// A client says where it is in the log with one opaque string:
//
//	GET  /sync?since=…&timeout=25000   what came after since, when there is something
//	POST /rooms/lobby/messages         {"id": "…", "name": "Ada", "text": "Hello"}
//	GET  /rooms/lobby?atleast=…        the room's view
//
// That string is a token, a cut through the log, and no cursor of the feed of
// changes: a client wants each message once and in order, and messages are in the
// log; how often and in which order rooms were folded is nothing to it. It survives
// a restart of the server. Who asks without it gets the latest messages of each room.
// Who has missed many gets them all, at most 500 in an answer. The feed of changes
// wakes those who wait, and its cursors stay in the server. At most 1,000 wait at once;
// one more is told with status 503 when to come again.
//
// The answer to a POST has a token too, to be given as atleast: whoever passes it
// reads the own message at once, in the log behind what was missed, and in the view
// of its room. It must not be given as since, because it also covers messages of
// others that the client has not got yet.
//
// The exit status is 0 after a signal; 1 if something failed; 2 if the command line
// is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == writerRole {
		// What a terminal sends to all is meant for the server, which then closes the pipe.
		signal.Ignore(os.Interrupt, syscall.SIGHUP)
		os.Exit(runWriter(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
