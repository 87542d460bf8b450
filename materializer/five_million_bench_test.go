package materializer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// burstDocuments is how many documents the large burst is for.
const burstDocuments = 5_000_000

// BenchmarkBurstOfFiveMillionDocuments appends an operation to each of 5,000,000
// documents on SQLite, a thousand an append, while the materializer folds with its
// default bounds, and waits for all views. It prints the peak of the resident
// memory of the process, and what it has at the end. Measured: 85,000 documents a
// second appended, with 4.2 million of them waiting at the end of that; 32,000 a
// second until all have their views; 110 MiB after the appends, 115 MiB at most,
// SQLite's caches among them; with a burst of 300,000 it is 75 MiB.
func BenchmarkBurstOfFiveMillionDocuments(b *testing.B) {
	if os.Getenv("REFOLD_LARGE") == "" {
		b.Skip("set REFOLD_LARGE=1: it takes minutes, and 2 GB of disk")
	}
	for b.Loop() {
		st, err := sqlite.Open(filepath.Join(b.TempDir(), "app.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		m, err := materializer.New(st, materializer.Config{})
		if err != nil {
			b.Fatal(err)
		}
		tallies := registerTally(b, m)
		r := (&rig{m: m}).start()
		start := time.Now()
		changes := make([]materializer.Change, 1000)
		var token materializer.Token
		for i := 0; i < burstDocuments; {
			for j := range changes {
				changes[j] = tallies.Change(fmt.Sprintf("%07d", i), struct{}{})
				i++
			}
			appended, err := m.Append(b.Context(), changes...)
			if err != nil {
				b.Fatal(err)
			}
			token = appended.Token
		}
		appended := time.Since(start)
		behind := burstDocuments - m.Stats().Operations
		b.ReportMetric(residentMiB(b, "VmHWM:"), "MiB-peak-appending")
		if err := m.Wait(b.Context(), token); err != nil {
			b.Fatal(err)
		}
		took := time.Since(start)
		b.ReportMetric(burstDocuments/appended.Seconds(), "appended/s")
		b.ReportMetric(float64(behind), "behind-when-appended")
		b.ReportMetric(burstDocuments/took.Seconds(), "documents/s")
		b.ReportMetric(residentMiB(b, "VmHWM:"), "MiB-peak")
		b.ReportMetric(residentMiB(b, "VmRSS:"), "MiB-at-the-end")
		if got := m.Stats(); got.Operations != burstDocuments || got.Failed != 0 {
			b.Errorf("%d documents folded, %d failures", got.Operations, got.Failed)
		}
		n := 0
		for v, err := range tallies.All(b.Context()) {
			if n++; err != nil || v.State != 1 || v.Applied != 1 {
				b.Fatalf("document %d: %+v, %v", n, v, err)
			}
		}
		if n != burstDocuments {
			b.Errorf("%d views, want %d", n, burstDocuments)
		}
		if err := r.halt(); err != nil {
			b.Error(err)
		}
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	}
}
