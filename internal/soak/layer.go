package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// layer is one kind of trying.
type layer struct {
	name  string
	share int // of the time

	// next returns what to run, or nil when there is nothing more, or no time for it.
	next func(s *state) (*job, error)

	rules []rule // what is read of its output
	unit  string // what each test that passes is counted as, if it is
}

// job is a child process. Its output is that of go test -json, or plain lines.
type job struct {
	env   []string
	args  []string
	plain bool
	size  int // how much of it there is, in whatever next counts
}

// state is how far a layer has got.
type state struct {
	ctx   context.Context
	root  string
	seed  int64
	until time.Time // no job is begun later, but for the first one
	end   time.Time // the same for all layers together

	round int // how many jobs have been run
	size  int // how much the last one was
	total int // how much all of them were
	took  time.Duration

	targets []target // of fuzzing, those that are left
	skipped string   // why nothing was run
}

func (s *state) left() time.Duration { return max(0, time.Until(s.until)) }

// longest is about how long a job may take, so that what it has found is not long in
// coming.
const longest = 3 * time.Minute

// grow returns how large the next job may be, judged by the last one, or 0 if there
// is no time for the least.
func (s *state) grow(least int) int {
	if s.round == 0 {
		return least
	}
	time := min(s.left(), longest)
	n := int(float64(s.size) * 0.9 * float64(time) / float64(max(s.took, 1)))
	if n < least {
		return 0
	}
	return min(n, 20*s.size)
}

// soak runs jobs of the layer until its time is over.
func (l layer) soak(s *state, w io.Writer) *result {
	r := &result{layer: l.name, skipped: make(map[string]string)}
	begun := time.Now()
	defer func() { r.took = time.Since(begun) }()
	for s.ctx.Err() == nil {
		j, err := l.next(s)
		if err != nil {
			r.failures++
			fmt.Fprintf(w, "\nFAIL %s: %v\n", l.name, err)
			return r
		}
		if j == nil {
			if s.skipped != "" {
				r.skipped["all"] = s.skipped
			}
			return r
		}
		start := time.Now()
		fmt.Fprintf(w, "%s %s: %s\n", start.Format(time.TimeOnly), l.name, j)
		j.run(s, l, r, w)
		s.took, s.size = time.Since(start), j.size
		s.total += j.size
		s.round++
	}
	return r
}
