package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// plainWord is an argument that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w./=,:+-]+$`)

// String is the command that runs it by hand.
func (j *job) String() string {
	var words []string
	for _, word := range append(append([]string{}, j.env...), j.args...) {
		switch {
		case word == "-json":
			word = "-v"
		case !plainWord.MatchString(word):
			word = "'" + word + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// run runs it, counts what it did, and prints what failed.
func (j *job) run(s *state, l layer, r *result, w io.Writer) {
	cmd := exec.CommandContext(s.ctx, j.args[0], j.args[1:]...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), j.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ownGroup(cmd)
	cmd.WaitDelay = 10 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	before := r.failures
	r.soFar = 0
	if err == nil {
		reader := reader{layer: l, result: r, w: w, outputs: make(map[string][]string)}
		if j.plain {
			reader.lines(stdout)
		} else {
			reader.events(stdout)
		}
		err = cmd.Wait()
		if reader.timeUp && r.failures == before {
			err = nil
		}
		if err != nil && s.ctx.Err() == nil && r.failures == before {
			fmt.Fprintf(w, "\nFAIL %s\n%s", l.name, strings.Join(reader.outputs[""], ""))
			r.failures++
		}
	} else {
		r.failures++
	}
	if s.ctx.Err() != nil { // what failed has failed for being stopped
		r.failures = before
		return
	}
	if err != nil {
		fmt.Fprintf(w, "%s%s: %v\nagain: %s\n\n", stderr.Bytes(), l.name, err, j)
	}
}

// event is one of go test -json: see go doc cmd/test2json.
type event struct {
	Action, Package, Test, Output string
}

// reader reads the output of a job.
type reader struct {
	layer   layer
	result  *result
	w       io.Writer
	outputs map[string][]string // of each test that runs; "" has the rest
	// timeUp tells that the go command failed a fuzz target for nothing but that its time was up in
	// the middle of an input.
	timeUp bool
}

// lines reads plain ones.
func (r *reader) lines(in io.Reader) {
	for line := range allLines(in) {
		r.outputs[""] = append(r.outputs[""], line)
		r.result.read(r.layer.rules, "", line)
		if what, why, ok := strings.Cut(line, ": skipped: "); ok {
			r.result.skipped[what] = strings.TrimSpace(why)
		}
	}
}

// events reads those of go test -json. What is none of them is kept with the rest.
func (r *reader) events(in io.Reader) {
	for line := range allLines(in) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			e = event{Action: "output", Output: line}
		}
		r.event(e)
	}
}

func (r *reader) event(e event) {
	name := ""
	if e.Test != "" {
		name = e.Package + " " + e.Test
	}
	whole := e.Test != "" && !strings.Contains(e.Test, "/")
	switch e.Action {
	case "output", "build-output":
		r.outputs[name] = append(r.outputs[name], e.Output)
		r.result.read(r.layer.rules, e.Test, e.Output)
		return
	case "fail":
		if e.Test == "" {
			return // its tests have said it, or the job will
		}
		if strings.HasPrefix(e.Test, "Fuzz") && timeUp(strings.Join(r.outputs[name], "")) {
			r.timeUp = true
			fmt.Fprintf(r.w, "%s found nothing: its time was up in the middle of an input\n", name)
			break
		}
		fmt.Fprintf(r.w, "\nFAIL %s: %s\n%s", r.layer.name, name, strings.Join(r.outputs[name], ""))
		if whole {
			r.result.failures++
		}
	case "pass":
		if whole && r.layer.unit != "" {
			r.result.add(r.layer.unit, 1)
		}
	case "skip":
		if e.Test != "" {
			r.result.skipped[e.Test] = reason(r.outputs[name])
		}
	default:
		return
	}
	if name != "" {
		delete(r.outputs, name)
	}
}

// timeUp reports whether the output of a target that failed tells of no input.
func timeUp(output string) bool {
	return strings.Contains(output, "\n    context deadline exceeded\n") && !strings.Contains(output, "Failing input written")
}

// reason returns what a test said when it skipped itself.
func reason(output []string) string {
	for _, line := range output {
		if _, said, ok := strings.Cut(line, "_test.go:"); ok {
			_, said, _ = strings.Cut(said, ": ")
			return strings.TrimSpace(said)
		}
	}
	return ""
}

// allLines returns the lines of in, whatever their length, to its end.
func allLines(in io.Reader) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		b := bufio.NewReader(in)
		for {
			line, err := b.ReadString('\n')
			if line != "" && !yield(line) || err != nil {
				return
			}
		}
	}
}
