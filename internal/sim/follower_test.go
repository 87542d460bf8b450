package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// follower is who copies views elsewhere. What it has and its cursor are stored
// together and outlive every process, power cuts too.
type follower struct {
	name   string
	by     *process // in which it runs; nil if it looks for one
	cursor store.Cursor
	has    map[string]copied
}

// copied is what a follower has of a document.
type copied struct {
	applied, epoch int64
	version        int
	changed        int64 // the number of the last change that it was told, counted by the model
}

func newFollowers(n int) []*follower {
	fs := make([]*follower, n)
	for i := range fs {
		fs[i] = &follower{name: fmt.Sprintf("follower%d", i+1), has: make(map[string]copied)}
	}
	return fs
}

// host lets the followers that have no process run in this one.
func (p *process) host() {
	for _, f := range p.w.followers {
		if f.by != nil && !f.by.dead.Load() {
			continue
		}
		if f.by != nil {
			p.w.rare.FollowersLeft++
		}
		f.by = p
		p.spawn(f.name, func(ctx context.Context, pl place) { f.follow(ctx, pl) })
	}
}

// hostAgain finds a process for those that have none.
func (w *world) hostAgain() {
	for _, p := range w.procs {
		if p.up && !p.dead.Load() && !p.stopping {
			p.host()
			return
		}
	}
}

// follow goes on from the cursor, for as long as the process runs.
func (f *follower) follow(_ context.Context, pl place) {
	p, w := pl.p, pl.p.w
	ctx := within(p.follows, p, pl.name)
	w.park(pl, "begins", nil)
	for first := true; !p.dead.Load(); first = false {
		if !first {
			w.rare.FollowedAgain++
		}
		var ended error
		for change, err := range p.docs.Changes(ctx, f.cursor) {
			if p.dead.Load() {
				return
			}
			if err != nil {
				ended = err
				break
			}
			if f.stored(w, change); w.err != nil {
				return
			}
			w.park(pl, "has stored a change", nil)
			if p.dead.Load() || w.faults && w.c.oneIn(20) {
				break
			}
		}
		switch {
		case p.dead.Load():
			return
		case p.left.Load() || errors.Is(ended, materializer.ErrNotRunning):
			f.by = nil
			w.rare.FollowersLeft++
			w.hostAgain()
			return
		case ended != nil && !errors.Is(ended, errInjected):
			w.fail("%s of %s: %v", f.name, p.name, ended)
			return
		}
		w.sleep(pl, of(w.c, 10*time.Millisecond, 2*time.Second), "follows again")
	}
}

// stored is one transaction of a follower: the view and the cursor.
func (f *follower) stored(w *world, change materializer.Changed[state]) {
	id, has := change.ID, f.has[change.ID]
	d := w.sh.model.doc(key(id))
	switch {
	case !f.cursor.Before(change.Cursor):
		w.fail("%s gets %s at %s, and was at %s", f.name, id, change.Cursor, f.cursor)
	case change.Applied < has.applied:
		w.fail("%s gets %s at %d, and has %d", f.name, id, change.Applied, has.applied)
	case change.Epoch < has.epoch && change.Version == has.version:
		w.fail("%s gets %s with epoch %d, and has one with %d", f.name, id, change.Epoch, has.epoch)
	case !d.forgotten && change.State != d.content.state(max(change.Version, 1), change.Applied):
		w.fail("%s gets %s as %+v, which it never was", f.name, id, change)
	}
	w.rare.Followed++
	if change.Parked {
		w.rare.ParksTold++
	}
	f.cursor = change.Cursor
	f.has[id] = copied{change.Applied, change.Epoch, change.Version, w.sh.told[told{f.name, id}]}
}

// told is which change of a document a follower was told, counted by the model.
type told struct{ follower, id string }

// upToDate reports whether the followers have the last change of every document.
func (w *world) upToDate() bool {
	for _, f := range w.followers {
		for _, d := range w.sh.model.served() {
			if !d.forgotten && d.changed > f.has[d.key.ID].changed {
				return false
			}
		}
	}
	return true
}

// followersCut is after a power cut: views may be older than what followers have.
func (w *world) followersCut() {
	for _, f := range w.followers {
		for id, has := range f.has {
			d := w.sh.model.doc(key(id))
			has.applied, has.epoch = min(has.applied, d.applied), min(has.epoch, d.epoch)
			f.has[id] = has
		}
	}
}
