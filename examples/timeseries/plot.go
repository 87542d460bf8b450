package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"os"
	"slices"

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

const (
	dayLong = 24 * hourLong
	plotted = 2 * dayLong // how much of the end of a stream is drawn
)

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
	to := (d.points[len(d.points)-1].hour() + 1) * hourLong
	from := max(d.points[0].hour()*hourLong, to-plotted)
	d.points = slices.DeleteFunc(d.points, func(p Point) bool { return p.T < from })
	d.minutes = endingAfter(from, d.minutes, minuteLong)
	d.hours = endingAfter(from, d.hours, hourLong)
	d.days = endingAfter(from, d.days, dayLong)
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
		addSteps(p, "days: mean", d.days, dayLong, dayColor, 2),
	); err != nil {
		return err
	}
	p.X.Min, p.X.Max = seconds(from), seconds(to) // and not all of a day
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

// endingAfter leaves out the spans that are over before a time.
func endingAfter(from int64, spans []span, long int64) []span {
	return slices.DeleteFunc(spans, func(s span) bool { return s.from+long <= from })
}

// addPoints draws lines from point to point, where one has a point before.
func (d *drawing) addPoints(p *plot.Plot) error {
	addLegend(p, "points", pointColor, 0.5)
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
func addSteps(p *plot.Plot, name string, spans []span, long int64, c color.Color, points float64) error {
	for _, s := range spans {
		if err := addLine(p, plotter.XYs{{X: seconds(s.from), Y: s.Mean}, {X: seconds(s.from + long), Y: s.Mean}}, c, points); err != nil {
			return err
		}
	}
	addLegend(p, name, c, points)
	return nil
}

func addLine(p *plot.Plot, xys plotter.XYs, c color.Color, points float64) error {
	line, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(points)
	p.Add(line)
	return nil
}

func addLegend(p *plot.Plot, name string, c color.Color, points float64) {
	line := new(plotter.Line)
	line.Color, line.Width = c, vg.Points(points)
	p.Legend.Add(name, line)
}

func seconds(t int64) float64 { return float64(t) / float64(secondLong) }
