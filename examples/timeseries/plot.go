package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"os"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// drawing is what a plot shows of a stream: its points and roll-ups, in order of time.
type drawing struct {
	stream               string
	points               []Point
	minutes, hours, days []span
}

// span is a roll-up and when it begins, in milliseconds.
type span struct {
	from int64
	Rollup
}

// plotted is how much of the end of a stream is drawn.
const plotted = 48 * hourLong

var (
	pointColor  = color.NRGBA{0x99, 0x99, 0x99, 0xff}
	minuteColor = color.NRGBA{0x1f, 0x77, 0xb4, 0xff}
	hourColor   = color.NRGBA{0xd6, 0x27, 0x28, 0xff}
	bandColor   = color.NRGBA{0xd6, 0x27, 0x28, 0x22}
	dayColor    = color.NRGBA{0x2c, 0xa0, 0x2c, 0xff}
)

// write draws into an SVG file.
func (d *drawing) write(file string) error {
	if len(d.points) == 0 {
		return fmt.Errorf("nothing to plot: %s has no point", d.stream)
	}
	p := plot.New()
	p.Title.Text = d.stream
	p.X.Tick.Marker = timeTicks{}
	p.X.Label.Text = "UTC"
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	if err := errors.Join(
		d.addBands(p),
		d.addPoints(p),
		addSteps(p, "minutes: mean", d.minutes, minuteLong, minuteColor, 1),
		addSteps(p, "hours: mean, min to max", d.hours, hourLong, hourColor, 2),
		addSteps(p, "days: mean", d.days, 24*hourLong, dayColor, 2),
	); err != nil {
		return err
	}
	p.X.Min, p.X.Max = seconds(d.points[0].T), seconds(d.points[len(d.points)-1].T) // and not all of a day
	drawn, err := p.WriterTo(30*vg.Centimeter, 15*vg.Centimeter, "svg")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := drawn.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o666) // #nosec G306 -- like any picture
}

// addPoints draws lines from point to point, where one has a point before.
func (d *drawing) addPoints(p *plot.Plot) error {
	var line plotter.XYs
	for i, at := range d.points {
		line = append(line, plotter.XY{X: seconds(at.T), Y: at.V})
		if i+1 < len(d.points) && d.points[i+1].hour()-at.hour() <= 1 {
			continue
		}
		if err := addLine(p, line, pointColor, 0.5); err != nil {
			return err
		}
		line = nil
	}
	return nil
}

// addBands draws the lowest to the highest value of each hour.
func (d *drawing) addBands(p *plot.Plot) error {
	for _, h := range d.hours {
		from, to := seconds(h.from), seconds(h.from+hourLong)
		band, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: h.Min}, {X: to, Y: h.Min}, {X: to, Y: h.Max}, {X: from, Y: h.Max}})
		if err != nil {
			return err
		}
		band.Color, band.LineStyle.Width = bandColor, 0
		p.Add(band)
	}
	return nil
}

// addSteps draws the mean of each span over its length.
func addSteps(p *plot.Plot, name string, spans []span, long int64, c color.Color, points vg.Length) error {
	for _, s := range spans {
		if err := addLine(p, plotter.XYs{{X: seconds(s.from), Y: s.Mean}, {X: seconds(s.from + long), Y: s.Mean}}, c, points); err != nil {
			return err
		}
	}
	sample := new(plotter.Line)
	sample.Color, sample.Width = c, vg.Points(float64(points))
	p.Legend.Add(name, sample)
	return nil
}

func addLine(p *plot.Plot, xys plotter.XYs, c color.Color, points vg.Length) error {
	line, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(float64(points))
	p.Add(line)
	return nil
}

func seconds(t int64) float64 { return float64(t) / float64(secondLong) }

// timeTicks has marks at full minutes, hours or days, at most nine.
type timeTicks struct{}

func (timeTicks) Ticks(least, most float64) []plot.Tick {
	const marks = 8
	steps := []time.Duration{time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour}
	for len(steps) > 1 && (most-least)/steps[0].Seconds() > marks {
		steps = steps[1:]
	}
	layout := "15:04"
	if steps[0] < time.Minute {
		layout = "15:04:05"
	}
	if most-least > (24 * time.Hour).Seconds() {
		layout = "Jan 2 15:04"
	}
	var ticks []plot.Tick
	from := time.UnixMilli(int64(least * 1000)).UTC()
	for at := from.Truncate(steps[0]); float64(at.Unix()) <= most; at = at.Add(steps[0]) {
		if !at.Before(from) {
			ticks = append(ticks, plot.Tick{Value: float64(at.Unix()), Label: at.Format(layout)})
		}
	}
	return ticks
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
