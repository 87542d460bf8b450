package position_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/refold-go/refold/store/position"
)

// script runs a scenario of one stream with one counter and any number of
// trackers, each a process. A line is <tracker>: <command>; a tracker is made
// where it first appears. Numbers are stored ones. The commands:
//
//	admit <writer> <number> …     live, complete up to there; <number>< has left
//	join <writer>                 in its next epoch
//	open <writer> = <number> …    reserves as many, and these; behind "while" come
//	                              commands, divided by ; for before they are known
//	finish <writer> <number> …
//	leave <writer>
//	fence <writer> <number> = <first>-<last> …
//	hear <writer> <number>        reported, and its own number
//	claim <writer> <number>       reported, perhaps a number of others
//	saw <writer> <number> …
//	counter <number>              sets the counter, also back
//	P <writer>=<number> …         WrittenBy        T …  CompletedBy
//	U <number>                    Completed
//	token <text>
//
// Behind ! comes a part of the error that is expected.
type script struct {
	t         *testing.T
	direction position.Direction
	origin    position.Stored
	counter   position.Stored
	writers   map[string]position.Writer
	epochs    map[string]position.Epoch
	trackers  map[string]*position.Tracker
	members   map[string]*position.Member // by tracker and writer
	while     func()
}

func runScript(t *testing.T, direction position.Direction, origin position.Stored, text string) {
	s := &script{
		t: t, direction: direction, origin: origin, counter: origin,
		writers: map[string]position.Writer{}, epochs: map[string]position.Epoch{},
		trackers: map[string]*position.Tracker{}, members: map[string]*position.Member{},
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			s.line(line)
		}
	}
}

func (s *script) line(line string) {
	s.t.Helper()
	name, command, ok := strings.Cut(line, ": ")
	if !ok {
		s.t.Fatalf("no tracker in %q", line)
	}
	tr := s.trackers[name]
	if tr == nil {
		tr = position.NewTracker(position.Options{
			Direction: s.direction, Origin: s.direction.Number(s.origin), Allocate: s.allocate,
		})
		s.trackers[name] = tr
	}
	command, wantErr, fails := strings.Cut(command, " ! ")
	command, while, _ := strings.Cut(command, " while ")
	err := s.command(name, tr, strings.Fields(command), while)
	switch {
	case fails && (err == nil || !strings.Contains(err.Error(), wantErr)):
		s.t.Fatalf("%s: error is %v", line, err)
	case !fails && err != nil:
		s.t.Fatalf("%s: %v", line, err)
	}
	if top := tr.Stats(); top.Seen < top.Completed {
		s.t.Fatalf("%s: completed %d is beyond what was seen, %d", line, top.Completed, top.Seen)
	}
}

// allocate is the stream's counter. It moves beyond what the tracker knows, as it
// is asked to.
func (s *script) allocate(_ context.Context, n int, after position.Stored) ([]position.Stored, error) {
	d := s.direction
	s.counter = d.Stored(max(d.Number(s.counter), d.Number(after)))
	var drawn []position.Stored
	for range n {
		s.counter = d.Stored(d.Number(s.counter) + 1)
		drawn = append(drawn, s.counter)
	}
	if while := s.while; while != nil {
		s.while = nil
		while()
	}
	return drawn, nil
}

func (s *script) writer(name string) position.Writer {
	if s.writers[name] == 0 {
		s.writers[name] = position.Writer(len(s.writers) + 1)
	}
	return s.writers[name]
}

func (s *script) epoch(name string) position.Epoch {
	s.epochs[name] = max(s.epochs[name], 1)
	return s.epochs[name]
}

func (s *script) number(text string) position.Stored {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return position.Stored(n)
}

func (s *script) standing(name, number string) position.Standing {
	number, left := strings.CutSuffix(number, "<")
	n := s.direction.Number(s.number(number))
	standing := position.Standing{Writer: s.writer(name), Epoch: s.epoch(name), Completed: n, Written: n}
	if left {
		standing.State = position.Left
	}
	return standing
}

func (s *script) positions(name string, numbers []string) []position.Position {
	var ps []position.Position
	for _, n := range numbers {
		ps = append(ps, s.direction.At(s.writer(name), s.number(n)))
	}
	return ps
}

func (s *script) command(name string, tr *position.Tracker, words []string, while string) error {
	s.t.Helper()
	verb, args := words[0], words[1:]
	switch verb {
	case "U":
		return s.same("U", s.direction.Stored(tr.Completed()), s.number(args[0]))
	case "P", "T":
		of := map[string]func(position.Writer) position.Position{"P": tr.WrittenBy, "T": tr.CompletedBy}[verb]
		for _, arg := range args {
			w, n, _ := strings.Cut(arg, "=")
			if err := s.same(verb+" of "+w, s.direction.Stored(of(s.writer(w)).Number), s.number(n)); err != nil {
				return err
			}
		}
		return nil
	case "token":
		if got := tr.Token().String(); got != args[0] {
			return fmt.Errorf("token is %s", got)
		}
		return nil
	case "counter":
		s.counter = s.number(args[0])
		return nil
	case "admit":
		var all []position.Standing
		for pair := range slices.Chunk(args, 2) {
			all = append(all, s.standing(pair[0], pair[1]))
		}
		return tr.Admit(all...)
	}
	w := args[0]
	member := s.members[name+" "+w]
	switch verb {
	case "join":
		if e := s.epochs[w]; e == 0 || tr.Knows(s.writer(w)) {
			s.epochs[w]++
		}
		m, err := tr.Join(s.writer(w), s.epochs[w])
		if err == nil {
			s.members[name+" "+w] = m
		}
		return err
	case "leave":
		return member.Leave()
	case "fence":
		holes, err := tr.Fence(s.writer(w), s.epoch(w), s.direction.Number(s.number(args[1])))
		var got []string
		for _, h := range holes {
			got = append(got, fmt.Sprintf("%d-%d", h.First, h.Last))
		}
		if want := args[min(3, len(args)):]; err == nil && !slices.Equal(got, want) {
			return fmt.Errorf("holes are %v", got)
		}
		return err
	case "hear":
		return tr.Hear(s.standing(w, args[1]))
	case "claim":
		standing := s.standing(w, args[1])
		standing.Written = 0
		return tr.Hear(standing)
	case "saw":
		for _, p := range s.positions(w, args[1:]) {
			tr.Saw(p)
		}
		return nil
	case "open":
		if while != "" {
			s.while = func() {
				for command := range strings.SplitSeq(while, "; ") {
					s.line(name + ": " + command)
				}
			}
		}
		ps, err := member.ReserveMany(s.t.Context(), len(args)-2)
		if want := s.positions(w, args[2:]); err == nil && !slices.Equal(ps, want) {
			return fmt.Errorf("reserved %v", ps)
		}
		return err
	case "finish":
		return member.Finish(s.positions(w, args[1:])...)
	}
	return errors.New("no such command")
}

func (s *script) same(what string, got, want position.Stored) error {
	if got != want {
		return fmt.Errorf("%s is %d; trackers %v", what, got, slices.Collect(maps.Keys(s.trackers)))
	}
	return nil
}
