package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// Each call that SQLite makes to the file system fails, one at a time, while a
// materializer claims the store, is appended to, and folds. When the fault is gone
// it goes on by itself, and everything that was acknowledged is folded.
func TestMaterializerOverFaultAtEachCall(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			root, step := memoryFolder(t), stride(3, 29)
			only, n := os.Getenv(envPoint), int64(1)
			if in, number, ok := strings.Cut(only, "/"); ok && in == m.name {
				n, _ = strconv.ParseInt(number, 10, 64)
			} else if only != "" {
				t.Skip("another one is repeated")
			}
			points, again := 0, 0
			for fired := true; fired && !t.Failed(); n += step {
				synctest.Test(t, func(t *testing.T) {
					e := &engine{}
					fired = e.live(t, root, m, n)
					again += e.claims
				})
				if t.Failed() {
					t.Logf("%s=%s/%d go test -run '^%s$' repeats this", envPoint, m.name, n, t.Name())
				}
				points++
				if only != "" {
					return
				}
			}
			t.Logf("%d faults, %d runs that could not claim the store and were begun again", points-1, again)
			if points < 5 {
				t.Errorf("only %d faults", points)
			}
		})
	}
}

// engine is a materializer on a disk with faults.
type engine struct {
	fired          atomic.Bool // before the disk was healed
	claims         int
	acked, refused []ack
	doubtful       []materializer.Change
}

// live runs an engine while the n-th call fails.
func (e *engine) live(t *testing.T, root string, md mode, n int64) (fired bool) {
	l, err := newLife(root, n)
	if err != nil {
		t.Fatal(err)
	}
	st, m, chains, err := open(l.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := md.Fault
	f.At = n
	l.disk.Arm(f)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.run(ctx, m, l) }()
	for i := range 12 {
		e.append(m, chains, ack{fmt.Sprint("d", i%3), fmt.Sprint("op", i)})
		if i%4 == 3 {
			time.Sleep(time.Second) // for folds in between
		}
	}
	time.Sleep(10 * time.Second)
	fired = l.disk.Fired() > 0
	e.fired.Store(fired) // healing sets the disk's count back, and a claim may still be failing
	l.disk.Heal()
	within, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for _, change := range e.doubtful {
		if _, err := m.Append(within, change); err != nil {
			t.Errorf("again, after an error that was in doubt: %v", err)
		}
	}
	e.append(m, chains, ack{"d0", "last"})
	if n := len(e.acked); n == 0 || e.acked[n-1].id != "last" {
		t.Error("an append to a disk that was healed is refused or in doubt")
	}
	if err := m.Drain(within); err != nil {
		t.Errorf("Drain: %v", err)
	}
	if h, err := m.Health(within); err != nil || h.Dirty+h.Parked != 0 {
		t.Errorf("Health: %d dirty, %d parked, %v", h.Dirty, h.Parked, err)
	}
	compareStored(t, chains, e.acked, e.refused)
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := errors.Join(st.Close(), intact(l.path), l.end()); err != nil {
		t.Error(err)
	}
	return fired
}

// run runs the materializer, again when the fault kept it from its claim.
func (e *engine) run(ctx context.Context, m *materializer.Materializer, l *life) error {
	for {
		err := m.Run(ctx)
		if err == nil || ctx.Err() != nil || l.disk.Fired() == 0 && !e.fired.Load() {
			return err
		}
		e.claims++
		time.Sleep(time.Second)
	}
}

func (e *engine) append(m *materializer.Materializer, chains *materializer.Collection[chain, text], op ack) {
	change := chains.ChangeWith(op.document, link(op, "x"))
	switch _, err := m.Append(context.Background(), change); {
	case err == nil:
		e.acked = append(e.acked, op)
	case errors.Is(err, store.ErrInDoubt):
		e.doubtful = append(e.doubtful, change)
		e.acked = append(e.acked, op) // when it is sent again
	default:
		e.refused = append(e.refused, op)
	}
}
