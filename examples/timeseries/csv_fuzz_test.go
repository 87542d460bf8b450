package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// FuzzCSV reads any text: what is taken can be stored and read again, and what is not
// taken has its line named.
func FuzzCSV(f *testing.F) {
	f.Add("time,stream,value\n2026-01-02T03:04:05Z,d1.load,0.5\n")
	f.Add("time,stream,value\r\n1970-01-01T00:00:00.001+00:00,\"d1.counter8\",-3e2\r\n\r\n")
	f.Add("time,stream,value\n1969-12-31T23:59:59-01:00,a,0x1p-2\n")
	f.Add("time,stream,value\n2199-12-31T23:59:59.999Z,a,1e-320\nx,\"")
	f.Fuzz(func(t *testing.T, text string) {
		samples, err := parseCSV(strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") || samples != nil {
				t.Fatalf("%v, with %v", err, samples)
			}
			return
		}
		var again strings.Builder
		again.WriteString("time,stream,value\n")
		for _, s := range samples {
			stream, hour, err := parseChunkID(chunkID(s.Stream, s.hour()))
			if err != nil || stream != s.Stream || hour != s.hour() || math.Abs(s.V) > mostValue {
				t.Fatalf("%v is taken", s)
			}
			fmt.Fprintf(&again, "%s,%s,%v\n", timeText(s.T), s.Stream, s.V)
		}
		same, err := parseCSV(strings.NewReader(again.String()))
		if err != nil || fmt.Sprint(same) != fmt.Sprint(samples) {
			t.Fatalf("read again: %v, %v", same, err)
		}
	})
}
