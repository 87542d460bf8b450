package faults

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/faultvfs"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// A history is a life that was recorded: what its file must hold after each step.
type history struct {
	*faultvfs.Recording
	worlds []world // before the first step, and after each
	synced []bool  // whether the step that led there is one that a power cut spares

	// doubtful has what else the file may hold after a step that is in doubt.
	doubtful map[int][]world
}

// record runs the script, with a fault or none. Two marks go into the recording for
// each step: its number when it begins, and minus that when it was acknowledged.
func record(o *sqlite.Options, root string, fault faultvfs.Fault) (h *history, fired bool, err error) {
	l, err := newLife(root, 0)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, l.end()) }()
	l.disk.Record()
	l.disk.Arm(fault)
	broken := func() bool { return l.disk.Fired() > 0 }
	h = &history{worlds: []world{newWorld()}, synced: []bool{true}}
	for _, part := range scriptOfDerived(l.path) {
		st, err := sqlite.Open(l.path, o)
		if err != nil && broken() {
			st, err = sqlite.Open(l.path, o)
		}
		if err != nil {
			return nil, true, err
		}
		l.disk.FolderSynced() // by Open
		for _, s := range part {
			if err := h.step(l, st, s, broken); err != nil {
				return nil, true, errors.Join(fmt.Errorf("%s: %w", s.name, err), st.Close())
			}
		}
		if err := st.Close(); err != nil && !broken() {
			return nil, true, err
		}
	}
	h.Recording = l.disk.Recorded()
	return h, broken(), nil
}

// step does a step. If it is in doubt, what is there then is what counts.
func (h *history) step(l *life, st *sqlite.Store, s step, broken func() bool) error {
	ctx := context.Background()
	n := int64(len(h.worlds))
	l.disk.Mark(n)
	limit := time.Minute
	if broken() {
		limit = 100 * time.Millisecond // writers wait for a reader that is in the way of mending
	}
	within, cancel := context.WithTimeout(ctx, limit)
	e, err := s.do(within, st)
	cancel()
	if err == nil || expected(s, err) {
		l.disk.Mark(-n)
	} else if !broken() || errors.Is(err, errWrong) {
		return err
	}
	l.ledger.judge(s, e, err)
	if err != nil {
		if h.doubtful == nil {
			h.doubtful = make(map[int][]world)
		}
		h.doubtful[int(n)] = slices.Clone(l.ledger.possible)
		if err := l.ledger.check(ctx, st); err != nil {
			return err
		}
	}
	h.worlds = append(h.worlds, l.ledger.possible[0].clone())
	h.synced = append(h.synced, e != nil && err == nil && !s.views())
	return nil
}

// bounds returns between which steps a file may be after a cut: nothing that was
// acknowledged and synced is missing, and nothing is there that was not begun.
func (h *history) bounds(n int) (least, most int) {
	for _, m := range h.Marks(n) {
		switch {
		case m > 0:
			most = int(m)
		case h.synced[-m]:
			least = int(-m)
		}
	}
	return least, most
}

// cuts is what became of the images of a history.
type cuts struct {
	images, distinct, older int
	lost                    int // images in which something acknowledged is missing
	example                 string
	broken                  []error
}

// seen is what is in an image: since the same one follows from many cuts, it is
// looked at once.
type seen struct {
	text string
	err  error
}

// each cuts the power after every step-th event, so many times, and looks at what is left.
func (h *history) each(t *testing.T, seed uint64, times, step int) (c cuts) {
	root := memoryFolder(t)
	only := os.Getenv(envPoint)
	var mu sync.Mutex // guards c and known
	known := make(map[[sha256.Size]byte]seen)
	moments := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for n := range moments {
				for i := range times {
					if name := fmt.Sprintf("%d/%d/%d", seed, n, i); only != "" && only != name {
						continue
					}
					image := h.image(seed, n, i)
					sum := image.Sum()
					mu.Lock()
					s, again := known[sum]
					mu.Unlock()
					if !again {
						s = lookAtImage(root, image)
					}
					mu.Lock()
					known[sum] = s
					c.images, c.distinct = c.images+1, len(known)
					if err := h.judge(n, s, &c); err != nil {
						c.broken = append(c.broken, fmt.Errorf("%s=%d/%d/%d repeats this: %w", envPoint, seed, n, i, err))
					}
					mu.Unlock()
				}
			}
		})
	}
	first := int(seed % uint64(step)) // #nosec G115 -- it is small
	if only != "" {
		first, step = 0, 1
	}
	for n := first; n <= h.Len(); n += step {
		moments <- n
	}
	close(moments)
	workers.Wait()
	return c
}

// image returns one of the images after a cut: everything kept, everything lost,
// then by chance.
func (h *history) image(seed uint64, n, i int) faultvfs.Image {
	loss := [...]faultvfs.Loss{faultvfs.Kept, faultvfs.Lost, faultvfs.Mixed, faultvfs.TornAll}[min(i, 2+i%2)]
	return h.Cut(n, loss, rand.New(rand.NewPCG(seed, uint64(n)<<16|uint64(i))))
}

// judge compares what was seen in an image with what may be there.
func (h *history) judge(n int, s seen, c *cuts) error {
	if s.err != nil {
		return s.err
	}
	least, most := h.bounds(n)
	found := -1
	for i := most; i >= 0; i-- {
		is := func(w world) bool { return w.String() == s.text }
		if is(h.worlds[i]) || slices.ContainsFunc(h.doubtful[i], is) {
			found = i
			break
		}
	}
	switch {
	case found < 0:
		return fmt.Errorf("%w: after a cut at event %d, in steps %d to %d, it holds\n%s", errWrong, n, least, most, s.text)
	case found < least:
		c.lost++
		c.example = fmt.Sprintf("after a cut at event %d step %d is the last that is there, step %d was acknowledged", n, found, least)
	case found < most:
		c.older++
	}
	return nil
}

// lookAtImage opens what a power cut has left, reads it, and lets it go on: what is
// dirty is folded, and the file is intact.
func lookAtImage(root string, image faultvfs.Image) (s seen) {
	l, err := newLife(root, 0)
	if err != nil {
		return seen{err: err}
	}
	defer func() { s.err = errors.Join(s.err, l.end()) }()
	if err := image.Write(l.folder); err != nil {
		return seen{err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if l.st, err = sqlite.Open(l.path, l.options); err != nil {
		return seen{err: err}
	}
	text, err := look(ctx, l.st)
	if err == nil {
		err = foldAll(ctx, l.st)
	}
	return seen{text, errors.Join(err, l.st.Close(), intact(l.path))}
}

// foldAll folds what is dirty, after which nothing is.
func foldAll(ctx context.Context, st *sqlite.Store) error {
	for range 2 {
		var dirty []string
		for r, err := range st.Runnable(ctx, []string{"notes"}) {
			if err != nil {
				return err
			}
			dirty = append(dirty, r.Key.ID)
		}
		if len(dirty) == 0 {
			break
		}
		if _, err := committing(all, false, dirty...).do(ctx, st); err != nil {
			return err
		}
	}
	if n, err := st.Count(ctx, "notes"); err != nil || n.Dirty > 0 {
		if c, _ := st.Collections(ctx); slices.ContainsFunc(c, func(c store.Collection) bool { return c.Name == "notes" && c.Paused }) {
			return nil
		}
		return fmt.Errorf("%w: %d documents are dirty after folding, %v", errWrong, n.Dirty, err)
	}
	_, err := look(ctx, st)
	return err
}

// seedOf returns the seed of a test, which REFOLD_FAULT or REFOLD_SEED repeats.
func seedOf(t *testing.T) uint64 {
	var seed uint64
	if n, _ := fmt.Sscanf(os.Getenv(envPoint), "%d/", &seed); n == 1 {
		return seed
	}
	if s, err := strconv.ParseUint(os.Getenv("REFOLD_SEED"), 10, 64); err == nil {
		return s
	}
	return uint64(time.Now().UnixNano())
}

// The power is cut after each write, sync and removal, and what was not synced is
// kept, lost or torn. At SyncFull nothing acknowledged is lost, nothing is corrupt,
// and views that are older are dirty and are folded again. At SyncNormal appends
// are lost, which shows that the test sees it.
func TestPowerCutImages(t *testing.T) {
	seed := seedOf(t)
	for _, test := range []struct {
		name  string
		sync  sqlite.Sync
		times int
	}{{"full", sqlite.SyncFull, 3}, {"normal", sqlite.SyncNormal, 2}} {
		t.Run(test.name, func(t *testing.T) {
			h, _, err := record(&sqlite.Options{Readers: 1, Sync: test.sync}, memoryFolder(t), faultvfs.Fault{})
			if err != nil {
				t.Fatal(err)
			}
			times, step := test.times, 1
			if brief() {
				times, step = 2, 5
			}
			c := h.each(t, seed, times, step)
			t.Logf("seed %d: %d events, %d images, %d distinct, %d older than what was begun, %d without something acknowledged",
				seed, h.Len(), c.images, c.distinct, c.older, c.lost)
			for _, err := range c.broken[:min(5, len(c.broken))] {
				t.Error(err)
			}
			if test.sync == sqlite.SyncFull && c.lost > 0 {
				t.Errorf("%d images have lost something acknowledged: %s", c.lost, c.example)
			}
			if test.sync == sqlite.SyncNormal && c.lost == 0 && os.Getenv(envPoint) == "" {
				t.Error("no image has lost anything: the test is blind")
			}
		})
	}
}

// afterFailure returns the moments at which something more was acknowledged after a
// failed sync, the first ones, and the end. In between the log has a hole, and the
// file is made good from what the system still remembers: no database survives a
// cut then.
func (h *history) afterFailure() (moments []int) {
	failed := h.FailedSync()
	if failed > h.Len() {
		return []int{h.Len()}
	}
	last, _ := h.bounds(failed)
	for at := failed; at <= h.Len(); at++ {
		if now, _ := h.bounds(at); now > last && (len(moments) < 4 || at == h.Len()) {
			moments, last = append(moments, at), now
		}
	}
	return moments
}

// A sync fails once, and the power is cut some time later: what the system could
// not write then is lost, although later syncs succeed. Nothing that was
// acknowledged is.
func TestPowerCutAfterAFailedSync(t *testing.T) {
	seed, root := seedOf(t), memoryFolder(t)
	var images atomic.Int64
	points := eachPoint(t, "sync", runtime.GOMAXPROCS(0), stride(1, 5), func(n int64) (bool, error) {
		fault := faultvfs.Fault{Kinds: faultvfs.Sync, At: n}
		h, fired, err := record(&sqlite.Options{Readers: 1}, root, fault)
		if err != nil {
			return fired, err
		}
		var c cuts
		for _, at := range h.afterFailure() {
			for i := range 3 {
				err := h.judge(at, lookAtImage(root, h.image(seed, at, i)), &c)
				if err == nil && c.lost > 0 {
					err = errors.New("something acknowledged is lost: " + c.example)
				}
				if err != nil {
					return fired, fmt.Errorf("image %d after event %d of %d with REFOLD_SEED=%d: %w", i, at, h.Len(), seed, err)
				}
				images.Add(1)
			}
		}
		// At once after the failure, if nothing is lost: what was refused is not there.
		at := min(h.FailedSync(), h.Len())
		if err := h.judge(at, lookAtImage(root, h.Cut(at, faultvfs.Kept, nil)), &c); err != nil {
			return fired, fmt.Errorf("everything kept at event %d of %d: %w", at, h.Len(), err)
		}
		return fired, nil
	})
	t.Logf("%d syncs failed, %d images", points, images.Load())
}

// A sync fails in a checkpoint that SQLite makes by itself, which it tells nobody.
// What an append acknowledged later does not depend on what that sync was to write.
func TestPowerCutAfterAFailedSyncOfACheckpoint(t *testing.T) {
	if brief() {
		t.Skip("it writes 100 MB")
	}
	root := memoryFolder(t)
	for n := int64(1); n <= 3; n++ { // the checkpoint's is the first or the second
		c, syncs, err := checkpointFails(root, n)
		if err != nil {
			t.Fatalf("sync %d: %v", n, err)
		}
		if c.lost > 0 {
			t.Fatalf("sync %d of those after the log is long: %s", n, c.example)
		}
		if n > syncs {
			return
		}
	}
}

// checkpointFails writes nearly as much as makes SQLite copy the log into the file,
// then views and appends while the n-th sync fails, cuts the power, and looks. It
// returns how many syncs there were.
func checkpointFails(root string, n int64) (c cuts, syncs int64, err error) {
	l, err := newLife(root, 0)
	if err != nil {
		return c, 0, err
	}
	defer func() { err = errors.Join(err, l.end()) }()
	l.disk.Record()
	st, err := sqlite.Open(l.path, l.options)
	if err != nil {
		return c, 0, err
	}
	l.disk.FolderSynced()
	h := &history{worlds: []world{newWorld()}, synced: []bool{true}}
	broken := func() bool { return l.disk.Fired() > 0 }
	do := func(s step) {
		if err == nil {
			err = h.step(l, st, s, broken)
		}
	}
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprint("v", i))
	}
	do(appendingTo(10, ids...))
	const automatic = 10_000 * (4096 + 24) // SQLite copies a log that is as long as this
	for i, left := 0, int64(automatic); err == nil && left > 60_000; i++ {
		do(appending(int(min(left-50_000, 15<<20))*98/100, of("b"), fmt.Sprint("b", i)))
		info, serr := os.Stat(l.path + "-wal")
		if err = errors.Join(err, serr); err == nil {
			left = automatic - info.Size()
		}
	}
	// Somebody reads, so that the log is not begun anew when it has been copied.
	reader, rerr := sql.Open("sqlite3", "file:"+l.path+"?mode=rw")
	if err = errors.Join(err, rerr); err == nil {
		reader.SetMaxOpenConns(1)
		_, err = reader.Exec("BEGIN; SELECT count(*) FROM refold_meta")
		defer reader.Close()
	}
	l.disk.Arm(faultvfs.Fault{Kinds: faultvfs.Sync, At: n})
	for i := 0; i < len(ids); i += 50 {
		do(committing(all, false, ids[i:i+50]...))
	}
	do(appending(10, of("c"), "c1"))
	do(appending(10, of("c"), "c2"))
	if err != nil {
		return c, 0, errors.Join(err, st.Close())
	}
	syncs = l.disk.Counted()
	h.Recording = l.disk.Recorded()
	image := h.Cut(h.Len(), faultvfs.Lost, nil)
	if err := errors.Join(reader.Close(), st.Close()); err != nil {
		return c, syncs, err
	}
	return c, syncs, h.judge(h.Len(), lookAtImage(root, image), &c)
}
