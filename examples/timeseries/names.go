package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The name of a stream says what it is, so that nothing else has to.
//
//	d1.uptime         how long device d1 is up: a decrease is a reset of its counters
//	d1.rx.counter16   a counter of d1 that goes on from 0 after 2^16-1
//	d1.rx.counter     a counter of which that is not known: it was reset where it decreases
//	d1.load           anything else: a gauge
//
// Names of derived streams have parentheses, which those of others cannot have.
var streamName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

const mostNameLetters = 64

func checkStream(name string) error {
	if len(name) > mostNameLetters || !streamName.MatchString(name) {
		return fmt.Errorf("want 1 to %d of a-z, A-Z, 0-9, _ and -, in parts with one . between", mostNameLetters)
	}
	return nil
}

type kind string

const (
	gauge   kind = "gauge"
	counter kind = "counter"
	uptime  kind = "uptime"
)

const mostBits = 52 // a float64 has all integers up to 2^53

// kindOf returns what a stream is, and of a counter how many values it has, 0 if
// that is not known.
func kindOf(stream string) (kind, float64) {
	last := stream[strings.LastIndexByte(stream, '.')+1:]
	if stream == uptimeOf(stream) {
		return uptime, 0
	}
	width, ok := strings.CutPrefix(last, string(counter))
	if !ok || last == stream {
		return gauge, 0
	}
	if width == "" {
		return counter, 0
	}
	bits, err := strconv.Atoi(width)
	if err != nil || bits < 1 || bits > mostBits || strconv.Itoa(bits) != width {
		return gauge, 0
	}
	return counter, float64(int64(1) << bits)
}

// uptimeOf is the stream of the uptime of the device that a stream is of.
func uptimeOf(stream string) string {
	device, _, _ := strings.Cut(stream, ".")
	return device + ".uptime"
}

// derivedName is the name of a derived stream: rate(d1.load).
func derivedName(operator, of string) string { return operator + "(" + of + ")" }

// operand is the opposite.
func operand(operator, stream string) (string, error) {
	rest, ok := strings.CutPrefix(stream, operator+"(")
	of, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		return "", fmt.Errorf("%q is no %s of a stream", stream, operator)
	}
	return of, nil
}

// Operators in the names of derived streams.
const (
	resetOf = "reset"
	rateOf  = "rate"
	sumOf   = "sum"
)
