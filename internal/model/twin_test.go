package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/dispatcher"
)

// twin is what a store knows of one document.
type twin struct {
	head, applied int
	synced        int  // how much of applied a power cut leaves
	dirty         bool // the mark that the readings look at
	parked        bool
	notBefore     time.Time
}

// run is what a worker has loaded.
type run struct{ loaded, seen int }

// load returns what there is to fold, or else the result of the run.
func (d *twin) load(now time.Time, slice int) (run, *dispatcher.Result) {
	switch {
	case d.parked:
		return run{}, &dispatcher.Result{Verdict: dispatcher.Done}
	case d.head == d.applied:
		return run{}, &dispatcher.Result{Verdict: dispatcher.Done}
	case d.notBefore.After(now):
		return run{}, &dispatcher.Result{Verdict: dispatcher.Delay, Until: d.notBefore}
	}
	return run{loaded: d.applied, seen: min(d.head, d.applied+slice)}, nil
}

func (d *twin) stale(r run) bool { return d.parked || d.applied != r.loaded }

// commit stores a view under its guard.
func (d *twin) commit(r run, mutant string) (dispatcher.Result, error) {
	if d.stale(r) {
		return dispatcher.Result{Verdict: dispatcher.Again}, nil
	}
	if r.seen < d.applied {
		return dispatcher.Result{}, fmt.Errorf("a view of %d operations over one of %d", r.seen, d.applied)
	}
	d.applied = r.seen
	d.dirty = d.head > d.applied && mutant != dirtyCleared
	if d.dirty {
		return dispatcher.Result{Verdict: dispatcher.Again}, nil
	}
	return dispatcher.Result{Verdict: dispatcher.Done}, nil
}

// atRest returns what is left undone.
func (d *twin) atRest() error {
	var err error
	if d.applied != d.head {
		err = fmt.Errorf("%d of %d operations are in its view", d.applied, d.head)
	}
	if d.dirty {
		err = errors.Join(err, errors.New("it is marked dirty"))
	}
	return err
}
