//go:build unix

package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// event is a line of a log. What another process may see is logged before it is done,
// what is seen of others after.
type event struct {
	kind     string
	document string
	epoch    int64
	from, to int64 // nanoseconds: when the call began and ended
	loaded   int64
	applied  int64
}

// The kinds of events.
const (
	leased     = "leased"     // a lease was had
	lengthened = "lengthened" // and lasts for longer
	givingUp   = "giving-up"  // by a commit or a release, which begins now
	accepted   = "accepted"   // a commit was
	refused    = "refused"    // a commit was
	begun      = "begun"      // a run
	ended      = "ended"      // a run
)

// logger is a store, and a tracer, that logs what is done with leases. Each line is
// in the file when the call that wrote it returns, however the process ends then.
type logger struct {
	*sqlite.Store
	file *os.File
}

func newLogger(st *sqlite.Store, path string) (*logger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &logger{st, f}, err
}

func (l *logger) write(events ...event) {
	var b bytes.Buffer
	for _, e := range events {
		fmt.Fprintln(&b, e.kind, e.document, e.epoch, e.from, e.to, e.loaded, e.applied)
	}
	if _, err := l.file.Write(b.Bytes()); err != nil {
		panic(err)
	}
}

func now() int64 { return time.Now().UnixNano() }

func (l *logger) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) ([]store.Leased, error) {
	from := now()
	got, err := l.Store.Lease(ctx, holder, terms, keys, over)
	var events []event
	for i, a := range got {
		if a.Epoch > 0 {
			events = append(events, event{kind: leased, document: keys[i].ID, epoch: a.Epoch, from: from, to: now()})
		}
	}
	l.write(events...)
	return got, err
}

func (l *logger) Lengthen(ctx context.Context, holder string, terms store.LeaseTerms, held []store.Held) ([]bool, error) {
	from := now()
	had, err := l.Store.Lengthen(ctx, holder, terms, held)
	var events []event
	for i, ok := range had {
		if ok {
			events = append(events, event{kind: lengthened, document: held[i].Key.ID, epoch: held[i].Epoch, from: from, to: now()})
		}
	}
	l.write(events...)
	return had, err
}

func (l *logger) Release(ctx context.Context, holder string, held []store.Held) ([]bool, error) {
	events := make([]event, len(held))
	for i, h := range held {
		events[i] = event{kind: givingUp, document: h.Key.ID, epoch: h.Epoch, from: now()}
	}
	l.write(events...)
	return l.Store.Release(ctx, holder, held)
}

func (l *logger) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	var events []event
	for _, c := range commits {
		if c.Keep == nil {
			events = append(events, event{kind: givingUp, document: c.Key.ID, epoch: c.Epoch, from: now()})
		}
	}
	l.write(events...)
	from := now()
	outcomes, err := l.Store.Commit(ctx, commits)
	events = events[:0]
	for i, o := range outcomes {
		c := &commits[i]
		e := event{kind: accepted, document: c.Key.ID, epoch: c.Epoch, from: from, to: now(), loaded: c.Loaded, applied: c.Applied}
		if o == store.Stale {
			e.kind = refused
		} else if c.Keep != nil {
			l.write(event{kind: lengthened, document: c.Key.ID, epoch: c.Epoch, from: from, to: e.to})
		}
		events = append(events, e)
	}
	l.write(events...)
	return outcomes, err
}

func (l *logger) RunStart(ctx context.Context, r materializer.RunStart) context.Context {
	l.write(event{kind: begun, document: r.Document, epoch: r.Epoch, from: now(), loaded: r.Applied})
	return ctx
}

func (l *logger) RunEnd(_ context.Context, r materializer.RunEnd) {
	l.write(event{kind: ended, document: r.Document, epoch: r.Epoch, from: now(), applied: r.Applied})
}

// readLog returns the whole lines of a log.
func readLog(t *testing.T, path string) (events []event) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was killed before it came to that
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e event
		if _, err := fmt.Sscan(line, &e.kind, &e.document, &e.epoch, &e.from, &e.to, &e.loaded, &e.applied); err != nil {
			if strings.HasSuffix(line, "\n") {
				t.Fatalf("line %q: %v", line, err)
			}
			continue // it was cut by a kill
		}
		events = append(events, e)
	}
	return events
}
