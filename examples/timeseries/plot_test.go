package main

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlot(t *testing.T) {
	points := map[string][]Point{}
	for _, s := range generate(1, 1000, 1) {
		points[s.Stream] = append(points[s.Stream], s.Point)
	}
	d := drawing{stream: "d1.load", points: points["d1.load"]}
	s := compute(points)
	d.minutes = spansOf(d.stream, s.minutes, minuteLayout)
	d.hours = spansOf(d.stream, s.hours, hourLayout)
	d.days = spansOf(d.stream, s.days, time.DateOnly)
	file := filepath.Join(t.TempDir(), "load.svg")
	if err := d.write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	paths, labels := 0, ""
	for x := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := x.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "path" {
				paths++
			}
		case xml.CharData:
			labels += string(token)
		}
	}
	if spans := len(d.minutes) + len(d.hours) + len(d.days); paths < spans {
		t.Errorf("%d lines for %d roll-ups", paths, spans)
	}
	for _, want := range []string{"d1.load", "minutes: mean", "hours: mean, min to max", "days: mean", "22:00", "UTC"} {
		if !strings.Contains(labels, want) {
			t.Errorf("%q is not in it", want)
		}
	}
}

// spansOf picks those of a stream, in order of time. layout is that of their ids
// behind the name.
func spansOf(stream string, rollups map[string]Rollup, layout string) []span {
	var spans []span
	for id, r := range rollups {
		name, text, _ := strings.Cut(id, "/")
		at, err := time.Parse(layout, text)
		if name == stream && err == nil {
			spans = append(spans, span{at.UnixMilli(), r})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return spans
}

func TestPlotOfFewPoints(t *testing.T) {
	folder := t.TempDir()
	one := drawing{stream: "s1", points: series(7)}
	if err := one.write(filepath.Join(folder, "one.svg")); err != nil {
		t.Errorf("one point: %v", err)
	}
	none := drawing{stream: "s1"}
	if err := none.write(filepath.Join(folder, "none.svg")); err == nil {
		t.Error("no point is plotted")
	}
	if err := one.write(filepath.Join(folder, "missing", "one.svg")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestTimeTicks(t *testing.T) {
	for _, long := range []time.Duration{time.Second, time.Minute, time.Hour, 7 * time.Hour, 48 * time.Hour} {
		from := seconds(firstStep) + 0.5
		ticks := timeTicks{}.Ticks(from, from+long.Seconds())
		if len(ticks) == 0 || len(ticks) > 9 {
			t.Errorf("%d ticks in %v", len(ticks), long)
		}
		for _, tick := range ticks {
			if tick.Value < from || tick.Value > from+long.Seconds() || tick.Label == "" {
				t.Errorf("a tick at %f, %q, of %v", tick.Value-from, tick.Label, long)
			}
		}
	}
}
