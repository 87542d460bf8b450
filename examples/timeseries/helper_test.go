package main

import (
	"slices"
	"testing"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// open registers the collections over a store, for somebody who only reads.
func open(t *testing.T, st store.Backend) (*materializer.Materializer, collections) {
	t.Helper()
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := register(m)
	if err != nil {
		t.Fatal(err)
	}
	return m, c
}

func openFile(t *testing.T, db string) (*materializer.Materializer, collections) {
	t.Helper()
	st, err := sqlite.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return open(t, st)
}

// storedIn returns the points that a file has.
func storedIn(t *testing.T, db string) map[string][]Point {
	t.Helper()
	m, c := openFile(t, db)
	v := new(verifier)
	stored, err := readPoints(t.Context(), m, &c, v)
	if err != nil || v.differences > 0 {
		t.Fatalf("%v, %v", err, v.wrong)
	}
	return stored
}

// derive appends samples over the memory store while it is folded, some in each append, and
// returns what came of them.
func derive(t *testing.T, samples []sample, atOnce int) collections {
	t.Helper()
	m, c := open(t, memory.New(nil))
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context()) }()
	w := &writer{m: m, c: c}
	for some := range slices.Chunk(samples, atOnce) {
		if err := w.append(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := new(verifier)
	stored, err := readPoints(t.Context(), m, &c, v)
	if err != nil {
		t.Fatal(err)
	}
	v.given(samples, stored)
	if err := v.verify(t.Context(), &c, stored); err != nil {
		t.Fatal(err)
	}
	for _, w := range v.wrong {
		t.Error(w)
	}
	return c
}

func samplesOf(stream string, points []Point) []sample {
	samples := make([]sample, len(points))
	for i, p := range points {
		samples[i] = sample{stream, p}
	}
	return samples
}
