// Command vulns judges what govulncheck found. It reads the output of
//
//	govulncheck -format json
//
// and fails if code that is reached has a known vulnerability. Those of the
// standard library that a newer Go mends are only named: which Go is used is not
// the library's to say.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// message is what is read of govulncheck's output, a stream of such objects.
type message struct {
	Config  *struct{} `json:"config"`
	Finding *struct {
		OSV          string  `json:"osv"`
		FixedVersion string  `json:"fixed_version"`
		Trace        []frame `json:"trace"`
	} `json:"finding"`
}

// frame is a place on the way to a vulnerability, which comes first. Without a
// function, nothing is known to call it.
type frame struct {
	Module, Version, Package, Function string
}

// verdict is what becomes of one vulnerability.
type verdict struct {
	where     frame
	fixed     string
	exception bool
}

func main() {
	if err := judge(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vulns:", err)
		os.Exit(1)
	}
}

// judge prints what was found, and returns an error if anything of it is no
// exception, or if the input is not what govulncheck says.
func judge(r io.Reader, w io.Writer) error {
	found, err := read(r)
	if err != nil {
		return err
	}
	bad := 0
	for _, id := range slices.Sorted(maps.Keys(found)) {
		v := found[id]
		what := "found"
		if v.exception {
			what = "exception: a newer Go mends"
		} else {
			bad++
		}
		fixed := v.fixed
		if fixed == "" {
			fixed = "nowhere yet"
		}
		fmt.Fprintf(w, "%s %s in %s of %s@%s, mended in %s\n", what, id, v.where.Package, v.where.Module, v.where.Version, fixed)
	}
	if bad > 0 {
		return fmt.Errorf("%d vulnerabilities are reached", bad)
	}
	fmt.Fprintf(w, "vulns: clean, with %d exceptions\n", len(found))
	return nil
}

// read returns the vulnerabilities that are reached, by their ids.
func read(r io.Reader) (map[string]verdict, error) {
	found := make(map[string]verdict)
	begun := false
	for d := json.NewDecoder(r); ; {
		var m message
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF) && !begun:
			return nil, errors.New("there is no output of govulncheck")
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("reading the output of govulncheck: %w", err)
		}
		begun = begun || m.Config != nil
		if m.Finding == nil || len(m.Finding.Trace) == 0 || m.Finding.Trace[0].Function == "" {
			continue
		}
		at, fixed := m.Finding.Trace[0], m.Finding.FixedVersion
		found[m.Finding.OSV] = verdict{where: at, fixed: fixed, exception: at.Module == "stdlib" && fixed != ""}
	}
}
