package materializer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/rs/zerolog"
)

// asynq #1140: one row of garbage among 100 dirty documents: 99 are done, and the
// one is reported. nats-server #7549: whether it is an operation or a view.
func TestAsynq1140_Nats7549_GarbageAmongAHundred(t *testing.T) {
	for what, statement := range map[string]string{
		"operation":         "UPDATE refold_operations SET body = CAST('{\"Te' AS BLOB) WHERE seq = 2 AND",
		"kind":              "UPDATE refold_operations SET kind = 'garbage' WHERE seq = 2 AND",
		"view":              "UPDATE refold_views SET body = CAST('{\"Words\":7' AS BLOB) WHERE",
		"missing operation": "DELETE FROM refold_operations WHERE seq = 2 AND",
	} {
		t.Run(what, func(t *testing.T) {
			s := spec()
			s.Retry = materializer.Retry{Attempts: 3, First: time.Millisecond}
			st := openSQLite(t)
			r := newDeleting(t, st, materializer.Config{}, s).start()
			ids := numbered("d", 100)
			for _, id := range ids {
				r.append(id, "x")
			}
			if err := r.m.Drain(within(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
			if err := r.halt(); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				r.append(id, "y", "z")
			}
			r.damage(ids[50], statement)
			var log logged
			r = newDeleting(t, st, materializer.Config{Logger: zerolog.New(&log)}, s).start()
			others := slices.Concat(ids[:50], ids[51:])
			if err := r.texts.Drain(within(t, time.Minute), others...); err != nil {
				t.Error(err)
			}
			for _, id := range others {
				r.wantView(id, "x y z", 3, 3)
			}
			wantErr(t, r.texts.Drain(within(t, time.Minute), ids[50]), materializer.ErrParked)
			if doc := r.load(ids[50]); !doc.Parked() || doc.Failure.Seq != 2 {
				t.Errorf("%s: failure %+v, want it parked at 2", ids[50], doc.Failure)
			}
		})
	}
}
