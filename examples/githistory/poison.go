package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/refold-go/refold/materializer"
)

// poison has the fold of one file fail, to show what becomes of it and of the
// others. It fails at the file's second operation and all after it, so that the
// view has one; at the first if the log has no more. A nil *poison is none.
type poison struct {
	id    string
	from  atomic.Int64 // the first seq that fails
	first batch        // the file's first change, held back until it is known whether there is another
	seen  bool
}

var errPoisoned = errors.New("poisoned by -poison")

// newPoison returns nil for an empty path.
func newPoison(path string) *poison {
	if path == "" {
		return nil
	}
	p := &poison{id: documentID(path)}
	p.from.Store(2)
	return p
}

// fold is the fold of the program. Trying again is of no use, so it says so: the
// document is parked at the first attempt.
func (p *poison) fold(f File, op materializer.Operation[Change]) (File, error) {
	if p.is(op.Document) && op.Seq >= p.from.Load() {
		return f, materializer.Permanent(errPoisoned)
	}
	return fold(f, op)
}

func (p *poison) is(id string) bool { return p != nil && p.id == id }

// pass returns what is to be appended when b was read.
func (p *poison) pass(b batch) []batch {
	if p == nil {
		return []batch{b}
	}
	i := slices.IndexFunc(b.documents, func(d document) bool { return d.id == p.id })
	if i < 0 {
		return []batch{b}
	}
	if !p.seen && len(b.documents[i].operations) == 1 {
		p.seen = true
		p.first = batch{b.commit, []document{b.documents[i]}}
		return []batch{{b.commit, slices.Delete(b.documents, i, i+1)}}
	}
	p.seen = true
	return append(p.held(), b)
}

// end returns what is to be appended when all was read.
func (p *poison) end() []batch {
	if p == nil || p.first.documents == nil {
		return nil
	}
	p.from.Store(1)
	return p.held()
}

func (p *poison) held() []batch {
	if p.first.documents == nil {
		return nil
	}
	b := p.first
	p.first = batch{}
	return []batch{b}
}

// resume lets the files be folded again that an earlier run parked, but for the
// poisoned one.
func resume(ctx context.Context, files *materializer.Collection[File, Change], p *poison, w io.Writer) error {
	var ids []string
	for doc, err := range files.Parked(ctx) {
		if err != nil {
			return err
		}
		if !p.is(doc.ID) {
			ids = append(ids, doc.ID)
		}
	}
	resumed := 0
	const atOnce = 256 // in one transaction
	for some := range slices.Chunk(ids, atOnce) {
		n, err := files.Resume(ctx, some...)
		if err != nil {
			return err
		}
		resumed += n
	}
	if resumed == 0 {
		return nil
	}
	names := make([]string, 0, parkedShown)
	for _, id := range ids[:min(len(ids), parkedShown)] {
		names = append(names, printable(id))
	}
	if len(ids) > parkedShown {
		names = append(names, "…")
	}
	fmt.Fprintf(w, "resumed %s that an earlier run parked: %s\n", count(int64(resumed), "file"), strings.Join(names, ", "))
	return nil
}

// parkedShown is how many parked files are named.
const parkedShown = 10

// parked is what is parked in the end.
type parked struct {
	number   int
	shown    []materializer.ParkedDocument // the first ones
	poisoned bool                          // the poisoned file is among them
}

func findParked(ctx context.Context, files *materializer.Collection[File, Change], p *poison) (parked, error) {
	var found parked
	for doc, err := range files.Parked(ctx) {
		if err != nil {
			return found, err
		}
		found.number++
		if len(found.shown) < parkedShown {
			found.shown = append(found.shown, doc)
		}
		if p.is(doc.ID) {
			found.poisoned = true
		}
	}
	return found, nil
}

// unexpected is how many are parked that nobody asked for.
func (f parked) unexpected() int {
	if f.poisoned {
		return f.number - 1
	}
	return f.number
}

// write tells what is parked and why.
func (f parked) write(w io.Writer, p *poison) {
	if p != nil && !f.poisoned {
		fmt.Fprintf(w, "githistory: warning: -poison: nothing failed, no change of %s was left to fold\n", printable(p.id))
	}
	if f.number == 0 {
		return
	}
	fmt.Fprintf(w, "parked: %s; a run without -poison resumes what is parked\n", count(int64(f.number), "file"))
	for _, d := range f.shown {
		fmt.Fprintf(w, "  %s: failed at seq %d after %s: %s; its view has %d of %s\n",
			printable(d.ID), d.Seq, count(int64(d.Attempts), "attempt"), printable(d.Error), d.Applied, count(d.Head, "operation"))
	}
	if n := f.number - len(f.shown); n > 0 {
		fmt.Fprintf(w, "  and %d more\n", n)
	}
}
