package main

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// options is what the command line says.
type options struct {
	addr    string
	db      string
	writers int
	rooms   []string
}

var roomName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// parseOptions reads the command line. On an error it has told the user.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var rooms string
	f := flag.NewFlagSet("rooms", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen on `HOST:PORT`; port 0 takes a free one.\nWhoever reaches it can read and write")
	f.StringVar(&o.db, "db", "rooms.db", "keep messages and views in `FILE`")
	f.IntVar(&o.writers, "writers", 3, "how many processes append, 1 to 64")
	f.StringVar(&rooms, "rooms", "lobby,workshop", "the rooms, 1 to 16 `NAMES` with commas between")
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: rooms [flags]\n\nFlags:\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.rooms = strings.Split(rooms, ",")
	if err := o.check(f.Args()); err != nil {
		fmt.Fprintf(stderr, "rooms: %v (-help shows the usage)\n", err)
		return o, err
	}
	return o, nil
}

func (o *options) check(args []string) error {
	const mostWriters, mostRooms = 64, 16
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected %q, want flags only", args)
	case o.db == "":
		return fmt.Errorf("-db is empty, want a file")
	case o.writers < 1 || o.writers > mostWriters:
		return fmt.Errorf("-writers is %d, want 1 to %d", o.writers, mostWriters)
	case len(o.rooms) > mostRooms:
		return fmt.Errorf("-rooms has %d names, want 1 to %d", len(o.rooms), mostRooms)
	}
	for i, name := range o.rooms {
		if !roomName.MatchString(name) {
			return fmt.Errorf("-rooms has %q, want 1 to 32 of a-z, 0-9 and -, the first no -", name)
		}
		if slices.Contains(o.rooms[:i], name) {
			return fmt.Errorf("-rooms has %q twice", name)
		}
	}
	return nil
}
