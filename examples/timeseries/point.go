package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Point is what a stream says at one moment. It is also the operation: a stream has
// one point at a time.
type Point struct {
	T int64   `json:"t"` // Unix time in milliseconds
	V float64 `json:"v"`
}

// Chunk is the view of an hour of a stream, whether it was appended or derived:
// its points in order of time.
type Chunk struct {
	Points []Point `json:"points"`
}

const (
	secondLong = int64(time.Second / time.Millisecond)
	minuteLong = int64(time.Minute / time.Millisecond)
	hourLong   = int64(time.Hour / time.Millisecond)
)

const (
	hourLayout   = "2006-01-02T15"
	minuteLayout = "2006-01-02T15:04"
)

// hour is the hour of a point, counted from 1970.
func (p Point) hour() int64 { return p.T / hourLong }

// chunkID is the id of an hour of a stream: s1/2026-01-02T03.
func chunkID(stream string, hour int64) string {
	return stream + "/" + time.UnixMilli(hour*hourLong).UTC().Format(hourLayout)
}

// parseChunkID is the opposite of chunkID.
func parseChunkID(id string) (stream string, hour int64, err error) {
	slash := strings.LastIndexByte(id, '/')
	if slash < 1 {
		return "", 0, fmt.Errorf("document %q is no hour of a stream", id)
	}
	at, err := time.Parse(hourLayout, id[slash+1:])
	if err != nil {
		return "", 0, fmt.Errorf("document %q is no hour of a stream: %w", id, err)
	}
	return id[:slash], at.UnixMilli() / hourLong, nil
}

// insert puts a point where it belongs, whenever it comes.
func (c *Chunk) insert(p Point) error {
	i, there := slices.BinarySearchFunc(c.Points, p.T, func(q Point, t int64) int { return cmp.Compare(q.T, t) })
	if there {
		return fmt.Errorf("a second point at %s", timeText(p.T))
	}
	c.Points = slices.Insert(c.Points, i, p)
	return nil
}

// within returns the points of an hour, of points in order of time.
func within(hour int64, points []Point) []Point {
	at := func(hour int64) int {
		i, _ := slices.BinarySearchFunc(points, hour*hourLong, func(p Point, t int64) int { return cmp.Compare(p.T, t) })
		return i
	}
	return points[at(hour):at(hour+1)]
}

func timeText(t int64) string { return time.UnixMilli(t).UTC().Format(time.RFC3339Nano) }
