package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"
)

var csvHeader = []string{"time", "stream", "value"}

const (
	leastYear, mostYear = 1970, 2199
	mostValue           = 1e12 // sums and rates of such are far from any bound
)

// readCSV reads points: a line with the names of the fields, and then a point on each, with its
// time as in RFC 3339. An error names the line and what was expected there.
func readCSV(path string) ([]sample, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	samples, err := parseCSV(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return samples, nil
}

func parseCSV(r io.Reader) ([]sample, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = len(csvHeader)
	lines.ReuseRecord = true
	header, err := lines.Read()
	switch {
	case err == io.EOF:
		return nil, errors.New("line 1: the file is empty, want time,stream,value")
	case err != nil:
		return nil, csvError(err)
	case !slices.Equal(header, csvHeader):
		return nil, fmt.Errorf("line 1: got %q, want time,stream,value", header)
	}
	var samples []sample
	type place struct {
		stream string
		t      int64
	}
	seen := map[place]int{} // the line
	names := map[string]string{}
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, csvError(err)
		}
		line, _ := lines.FieldPos(0)
		s, err := parseSample(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if name, ok := names[s.Stream]; ok {
			s.Stream = name // and not a part of each line in memory
		} else {
			names[s.Stream] = s.Stream
		}
		at := place{s.Stream, s.T}
		if before, twice := seen[at]; twice {
			return nil, fmt.Errorf("line %d: %s has a point at %s on line %d already, want one for each time", line, s.Stream, timeText(s.T), before)
		}
		seen[at] = line
		samples = append(samples, s)
	}
	if len(samples) == 0 {
		return nil, errors.New("line 2: there is no point, want one a line")
	}
	return samples, nil
}

func parseSample(fields []string) (sample, error) {
	at, err := time.Parse(time.RFC3339Nano, fields[0])
	if err != nil || at.UTC().Year() < leastYear || at.UTC().Year() > mostYear {
		return sample{}, fmt.Errorf("time is %q, want one like 2026-01-02T03:04:05Z, from %d to %d", fields[0], leastYear, mostYear)
	}
	if at.Nanosecond()%int(time.Millisecond) != 0 {
		return sample{}, fmt.Errorf("time is %q, want whole milliseconds", fields[0])
	}
	if err := checkStream(fields[1]); err != nil {
		return sample{}, fmt.Errorf("stream is %q, %w", fields[1], err)
	}
	v, err := strconv.ParseFloat(fields[2], 64)
	if err != nil || !(math.Abs(v) <= mostValue) {
		return sample{}, fmt.Errorf("value is %q, want a number from -1e12 to 1e12", fields[2])
	}
	return sample{fields[1], Point{at.UnixMilli(), v}}, nil
}

// csvError says what package csv found, in our words.
func csvError(err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return fmt.Errorf("line %d: want three fields: time,stream,value", parse.Line)
	}
	return fmt.Errorf("line %d: %w, want time,stream,value", parse.Line, parse.Err)
}
