package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

var discardChecks = []check{
	{"a discarded operation stays in the log and is marked", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		f.append(key("b"), "1", "2")
		f.discard(key("a"), 2)
		for _, op := range f.operations(key("a")) {
			if op.Discarded != (op.Seq == 2) || string(op.Body) != fmt.Sprint(op.Seq) {
				f.Errorf("operation is %+v", op)
			}
		}
		for _, op := range f.operations(key("b")) {
			if op.Discarded {
				f.Errorf("operation of another document is %+v", op)
			}
		}
		if d := f.load(key("a")); d.Head != 3 || d.Applied != 0 || d.Since.Position != 1 || d.Failure != nil {
			f.Errorf("document is %+v", d)
		}
		f.mustRun("a", "b")
	}},
	{"a commit passes over it", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.discard(key("a"), 1)
		f.discard(key("a"), 2)
		if got := f.fold(key("a"), 2); got != store.Done {
			f.Errorf("commit is %s", got)
		}
		f.append(key("a"), "3")
		f.fold(key("a"), 3)
		f.mustRun()
	}},
	{"it resumes a document that is parked there", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		f.fold(key("a"), 1)
		f.park(key("a")) // at 2
		f.discard(key("a"), 3)
		if !f.load(key("a")).Parked() {
			f.Errorf("resumed by a discard of another operation")
		}
		f.discard(key("a"), 2)
		d := f.load(key("a"))
		if d.Parked() || d.Failure != nil && d.Failure.Attempts != 0 {
			f.Errorf("document is %+v, failure %+v", d, d.Failure)
		}
		f.mustRun("a")
		if wait := f.runnable()[0].Wait; wait != 0 {
			f.Errorf("it has to wait for %s", wait)
		}
		if got := f.fold(key("a"), 3); got != store.Done {
			f.Errorf("commit is %s", got)
		}
	}},
	{"runs in hand are stale", func(f *fixture) {
		f.append(key("a"), "1", "2")
		d := f.load(key("a"))
		run := store.Commit{Key: key("a"), Loaded: d.Applied, Epoch: d.Epoch, Applied: 2, View: []byte("both")}
		f.discard(key("a"), 2)
		f.mustCommit(store.Stale, run)
		run.Applied, run.Failure = 0, &store.Failure{Seq: 2, Attempts: 9, Error: "late", Park: true}
		f.mustCommit(store.Stale, run)
		if d := f.load(key("a")); d.Applied != 0 || d.Parked() {
			f.Errorf("document is %+v", d)
		}
		f.fold(key("a"), 2)
	}},
	{"discarding again changes nothing", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.discard(key("a"), 1)
		f.park(key("a"))
		again := discardOf(key("a"), 1)
		again.By, again.Why = "bob", "other"
		for range 2 {
			f.unchangedBy(nil, func() error { return f.b.Discard(background, again) })
			if f.load(key("a")).Parked() {
				mustResume(f, 1, key("a"))
				f.fold(key("a"), 1) // and when the view has passed over it
			}
		}
	}},
	{"what cannot be discarded changes nothing", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.fold(key("a"), 1)
		long := strings.Repeat("x", store.MaxDiscardText+1)
		change := func(do func(*store.Discard)) store.Discard {
			d := discardOf(key("a"), 2)
			do(&d)
			return d
		}
		for name, c := range map[string]struct {
			want error
			bad  store.Discard
		}{
			"no operation":         {store.ErrNotFound, discardOf(key("a"), 3)},
			"operation 0":          {store.ErrNotFound, discardOf(key("a"), 0)},
			"operation -1":         {store.ErrNotFound, discardOf(key("a"), -1)},
			"no document":          {store.ErrNotFound, discardOf(key("b"), 1)},
			"no collection":        {store.ErrNotFound, discardOf(store.Key{Collection: "unknown", ID: "a"}, 1)},
			"in the view":          {store.ErrInvalid, discardOf(key("a"), 1)},
			"by nobody":            {store.ErrInvalid, change(func(d *store.Discard) { d.By = "" })},
			"for no reason":        {store.ErrInvalid, change(func(d *store.Discard) { d.Why = "" })},
			"name too long":        {store.ErrInvalid, change(func(d *store.Discard) { d.By = long })},
			"reason too long":      {store.ErrInvalid, change(func(d *store.Discard) { d.Why = long })},
			"reason is not UTF-8":  {store.ErrInvalid, change(func(d *store.Discard) { d.Why = "\xff" })},
			"name with a NUL byte": {store.ErrInvalid, change(func(d *store.Discard) { d.By = "a\x00" })},
		} {
			if err := f.unchangedBy(c.want, func() error { return f.b.Discard(background, c.bad) }); errors.Is(err, store.ErrInDoubt) {
				f.Errorf("%s: %v is in doubt", name, err)
			}
		}
		fine := change(func(d *store.Discard) { d.By, d.Why = long[1:], long[1:] })
		if err := f.b.Discard(background, fine); err != nil {
			f.Errorf("the longest texts: %v", err)
		}
	}},
	{"the record is in order of id and seq", func(f *fixture) {
		begin := time.Now()
		n := small(30, 400)
		var want []string
		for i := range n {
			k := key(number(i * 7 % n))
			f.append(k, "1", "2", "3")
			f.discard(k, 3)
			f.discard(k, 1)
			want = append(want, fmt.Sprint(key(number(i)), 1), fmt.Sprint(key(number(i)), 3))
		}
		other := store.Key{Collection: "tasks", ID: "a"}
		f.append(other, "1")
		f.discard(other, 1)
		var got []string
		for _, d := range collect(f.T, f.b.Discards(background, "notes")) {
			got = append(got, fmt.Sprint(d.Key, d.Seq))
			if w := discardOf(d.Key, d.Seq); d.By != w.By || d.Why != w.Why || d.At.Before(begin.Add(-time.Second)) || d.At.After(time.Now()) {
				f.Errorf("the record is %+v", d)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			f.Errorf("discards are %q, want %q", got, want)
		}
		for range f.b.Discards(background, "unknown") {
			f.Errorf("an unknown collection has a discard")
		}
		for range f.b.Discards(background, "notes") {
			break // leaving the loop releases everything
		}
	}},
	{"discards survive reopening", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.park(key("a"))
		f.discard(key("a"), 1)
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
		f.mustRun("a")
	}},
}
