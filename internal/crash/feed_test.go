package crash

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

var errDone = errors.New("the test has seen enough")

// killFor is for how long processes are killed, one each second: REFOLD_KILL_FOR,
// or else a few seconds.
func killFor(t *testing.T) time.Duration {
	if testing.Short() {
		return 2 * time.Second
	}
	text := os.Getenv("REFOLD_KILL_FOR")
	if text == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("REFOLD_KILL_FOR: %v", err)
	}
	return d
}

// Four processes append to one file, one of them makes the views, and each second
// one is killed and another takes its place. Meanwhile the log is read from token to
// token, changes are followed, and views are waited for.
func TestFourProcessesWhileOneIsKilledEachSecond(t *testing.T) {
	c := checker{path: filepath.Join(t.TempDir(), "chains.db"), applied: make(map[string]int64)}
	roles := []string{"both", "append", "append", "append"}
	running := make([]*process, len(roles))
	for i, role := range roles {
		running[i] = start(t, role, c.path, i)
		<-running[i].first
	}
	st, m, chains, err := open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, st)

	ctx, stop := context.WithCancelCause(t.Context())
	log, feed := newLogReader(m), newFollower(chains)
	var waits atomic.Int64
	var readers sync.WaitGroup
	readers.Go(func() {
		for ctx.Err() == nil {
			log.read(t, ctx)
		}
	})
	readers.Go(func() {
		for ctx.Err() == nil {
			feed.follow(t, ctx)
		}
	})
	readers.Go(func() {
		for ctx.Err() == nil {
			waits.Add(waitAndLook(t, ctx, st, m))
		}
	})

	life := len(roles)
	begun := time.Now()
	// On a slow machine until there was something to see.
	more := func(end time.Time) bool {
		return time.Now().Before(end) || (waits.Load() == 0 || feed.changes.Load() == 0) && time.Now().Before(end.Add(time.Minute))
	}
	for end := begun.Add(killFor(t)); more(end); life++ {
		i := rand.IntN(len(roles))
		running[i].kill(t, time.Second)
		c.acked = append(c.acked, running[i].acks...)
		running[i] = start(t, roles[i], c.path, life)
	}
	for _, p := range running {
		p.kill(t, 0)
		c.acked = append(c.acked, p.acks...)
	}
	stop(errDone)
	readers.Wait()

	c.check(t)
	c.finish(t)
	c.check(t)
	log.read(t, t.Context())
	for _, a := range c.acked {
		if log.seen[a] != 1 {
			t.Errorf("%v was acknowledged and read %d times", a, log.seen[a])
		}
	}
	feed.until(t, t.Context(), log.heads)
	if !maps.Equal(feed.applied, log.heads) {
		t.Errorf("the follower ends with %v, the log with %v", feed.applied, log.heads)
	}
	if waits.Load() == 0 || feed.changes.Load() == 0 {
		t.Errorf("%d waits came to an end, %d changes were followed", waits.Load(), feed.changes.Load())
	}
	t.Logf("%d kills in %v: %d operations, %d acknowledged, %d changes followed in %d streams, %d waits",
		life, time.Since(begun).Round(time.Second), log.operations, len(c.acked), feed.changes.Load(), feed.streams, waits.Load())
}

// logReader reads the log from token to token.
type logReader struct {
	m          *materializer.Materializer
	from       materializer.Token
	position   store.Position
	operations int
	heads      map[string]int64
	seen       map[ack]int
}

func newLogReader(m *materializer.Materializer) *logReader {
	return &logReader{m: m, heads: make(map[string]int64), seen: make(map[ack]int)}
}

// read reads up to the end that the log has now: positions follow each other, and
// so do the seqs of each document.
func (l *logReader) read(t *testing.T, ctx context.Context) {
	to, err := l.m.End(ctx)
	if err == nil {
		for op, e := range l.m.Operations(ctx, l.from, to) {
			if err = e; err != nil {
				break
			}
			if op.Position != l.position+1 || op.Seq != l.heads[op.Key.ID]+1 {
				t.Errorf("operation %d of %s is at %d and comes after seq %d and position %d", op.Seq, op.Key, op.Position, l.heads[op.Key.ID], l.position)
			}
			l.position, l.heads[op.Key.ID] = op.Position, op.Seq
			l.operations++
			if op.ID != "" {
				l.seen[ack{op.Key.ID, op.ID}]++
			}
			l.from = op.Token // whether the loop comes to its end or not
		}
	}
	if err != nil && !errors.Is(err, errDone) {
		t.Errorf("reading the log: %v", err)
	}
}

// follower follows the changes, and begins again now and then.
type follower struct {
	chains  *materializer.Collection[state, link]
	last    materializer.Cursor
	applied map[string]int64
	streams int
	changes atomic.Int64
}

func newFollower(chains *materializer.Collection[state, link]) *follower {
	return &follower{chains: chains, applied: make(map[string]int64)}
}

// follow reads one stream, for a while.
func (f *follower) follow(t *testing.T, ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, 300*time.Millisecond, errDone)
	defer cancel()
	f.until(t, ctx, nil)
}

// until reads a stream until ctx ends, or the views have these operations.
func (f *follower) until(t *testing.T, ctx context.Context, heads map[string]int64) {
	f.streams++
	if heads != nil && maps.Equal(f.applied, heads) {
		return
	}
	for v, err := range f.chains.Changes(ctx, f.last) {
		if err != nil {
			if !errors.Is(err, errDone) {
				t.Errorf("following changes: %v", err)
			}
			return
		}
		if !f.last.Before(v.Cursor) {
			t.Errorf("the change %s comes after %s", v.Cursor, f.last)
		}
		if v.Applied < f.applied[v.ID] || v.State.N != v.Applied {
			t.Errorf("%s changed to %+v at %d, and was at %d", v.ID, v.State, v.Applied, f.applied[v.ID])
		}
		f.last, f.applied[v.ID] = v.Cursor, v.Applied
		f.changes.Add(1)
		if heads != nil && maps.Equal(f.applied, heads) {
			return
		}
	}
}

// waitAndLook waits for all that is in the log, and looks whether it is in the
// views then. It returns how many waits came to an end.
func waitAndLook(t *testing.T, ctx context.Context, st store.Backend, m *materializer.Materializer) int64 {
	end, err := m.End(ctx)
	if err == nil {
		err = m.Wait(ctx, end)
	}
	if err != nil {
		if !errors.Is(err, errDone) {
			t.Errorf("waiting: %v", err)
		}
		return 0
	}
	var keys []store.Key
	for doc, err := range st.Scan(t.Context(), "chains", "", store.WithoutViews) {
		if err != nil {
			t.Error(err)
			return 0
		}
		keys = append(keys, doc.Key)
	}
	docs, err := st.Load(t.Context(), keys, store.WithoutViews)
	if err != nil {
		t.Error(err)
		return 0
	}
	seqs, err := st.Resolve(t.Context(), end, keys)
	if err != nil {
		t.Error(err)
		return 0
	}
	for i, doc := range docs {
		if doc.Applied < seqs[i] {
			t.Errorf("waiting for %s ended, and %s has applied %d of %d", end, doc.Key, doc.Applied, seqs[i])
		}
	}
	return 1
}
