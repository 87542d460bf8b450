package materializer_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// On SQLite a generation is built, served, and what was served is swept up if it is not to
// be kept.
func TestRebuildAndSweepOnSQLite(t *testing.T) {
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "texts.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	p := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
	for i := range 600 {
		p.append(fmt.Sprint("d", i), "a", "b")
	}
	if err := p.m.Drain(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	p.halt()
	q := newProcess(t, st, materializer.Config{}, nil)
	spec := versioned(2, upper)
	spec.KeepFor = -1
	if q.texts, err = materializer.Register(q.m, spec); err != nil {
		t.Fatal(err)
	}
	q.start()
	deadline := time.Now().Add(time.Minute)
	for {
		all, err := q.m.Generations(t.Context(), "texts")
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 1 && all[0].Version == 2 && all[0].State == materializer.Serving {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the generations are %+v", all)
		}
		time.Sleep(10 * time.Millisecond)
	}
	q.mustEqualFromScratch(2, upper)
	q.halt()
}
