package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions(nil, &bytes.Buffer{})
	if want := (options{streams: 6, points: 1000, seed: 1, processes: 2}); err != nil || o != want {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = parseOptions(strings.Fields("-db a.db -csv p.csv -seed 3 -processes 4 -plot p.svg"), &bytes.Buffer{})
	if want := (options{db: "a.db", streams: 6, points: 1000, seed: 3, csv: "p.csv", processes: 4, plot: "p.svg"}); err != nil || o != want {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, test := range []struct{ args, want string }{
		{"x", `unexpected ["x"], want flags only`},
		{"-db=", "-db is empty, want a file"},
		{"-csv=", "-csv is empty, want a file"},
		{"-plot=", "-plot is empty, want a file"},
		{"-csv a -streams 3", "-streams and -points are for points that are generated"},
		{"-csv a -points 3", "-streams and -points are for points that are generated"},
		{"-streams 0", "-streams is 0, want 1 to 1000"},
		{"-streams 1001", "-streams is 1001, want 1 to 1000"},
		{"-points 0", "-points is 0, want 1 to 1000000"},
		{"-processes 17", "-processes is 17, want 1 to 16"},
		{"-seed -1", `invalid value "-1" for flag -seed`},
	} {
		var told bytes.Buffer
		if _, err := parseOptions(strings.Fields(test.args), &told); err == nil || !strings.Contains(told.String(), test.want) {
			t.Errorf("%s: %v, told %q, want %q", test.args, err, told.String(), test.want)
		}
	}
}
