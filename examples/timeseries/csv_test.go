package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	got, err := parseCSV(strings.NewReader("time,stream,value\n" +
		"2026-01-02T03:04:05Z,d1.load,0.5\n\n" +
		"2026-01-02T04:04:05.25+01:00,\"d1.counter8\",-3e2\n"))
	want := []sample{{"d1.load", Point{1767323045000, 0.5}}, {"d1.counter8", Point{1767323045250, -300}}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCSVErrorsNameTheLineAndWhatIsExpected(t *testing.T) {
	const head, line = "time,stream,value\n", "2026-01-02T03:04:05Z,s1,1\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", `line 1: the file is empty, want time,stream,value`},
		{"no header", line, `line 1: got ["2026-01-02T03:04:05Z" "s1" "1"], want time,stream,value`},
		{"no points", head, `line 2: there is no point, want one a line`},
		{"a field is missing", head + line + "2026-01-02T03:04:05Z,s1\n", `line 3: want three fields: time,stream,value`},
		{"a field too many", head + "2026-01-02T03:04:05Z,s1,1,2\n", `line 2: want three fields: time,stream,value`},
		{"a quote", head + "2026-01-02T03:04:05Z,s\"1,1\n", `line 2: bare " in non-quoted-field, want time,stream,value`},
		{"no time", head + line + "yesterday,s1,1\n", `line 3: time is "yesterday", want one like 2026-01-02T03:04:05Z, from 1970 to 2199`},
		{"too early", head + "1969-12-31T23:59:59Z,s1,1\n", `line 2: time is "1969-12-31T23:59:59Z", want one like`},
		{"too late", head + "2200-01-01T00:00:00Z,s1,1\n", `line 2: time is "2200-01-01T00:00:00Z", want one like`},
		{"too exact", head + "2026-01-02T03:04:05.0001Z,s1,1\n", `line 2: time is "2026-01-02T03:04:05.0001Z", want whole milliseconds`},
		{"a name", head + "2026-01-02T03:04:05Z,a/b,1\n", `line 2: stream is "a/b", want 1 to 64 of`},
		{"a derived name", head + "2026-01-02T03:04:05Z,rate(a),1\n", `line 2: stream is "rate(a)", want 1 to 64 of`},
		{"no value", head + "2026-01-02T03:04:05Z,s1,\n", `line 2: value is "", want a number from -1e12 to 1e12`},
		{"not a number", head + "2026-01-02T03:04:05Z,s1,NaN\n", `line 2: value is "NaN", want a number`},
		{"a large value", head + "2026-01-02T03:04:05Z,s1,1e13\n", `line 2: value is "1e13", want a number`},
		{"twice", head + line + "2026-01-02T04:04:05+01:00,s1,2\n", `line 3: s1 has a point at 2026-01-02T03:04:05Z on line 2 already, want one for each time`},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "points.csv")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := readCSV(file)
			if err == nil || !strings.HasPrefix(err.Error(), file+": "+test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
