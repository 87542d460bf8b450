package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"
)

// conclude goes through all views once: it writes the dump, compares, counts,
// and reports, also what is parked.
func conclude(ctx context.Context, o options, im *importer, repository string, took time.Duration, stdout, stderr io.Writer) error {
	out := bufio.NewWriter(stdout)
	dump := newEncoder(out)
	var top mostChanged
	documents := 0
	for v, err := range im.files.All(ctx) {
		if err != nil {
			return err
		}
		documents++
		l := newLine(v.ID, v.State, v.Applied)
		if l.Changes > 0 { // or it was parked at its first one
			top.offer(l)
		}
		if o.dump {
			if err := dump.Encode(l); err != nil {
				return err
			}
		}
		if o.verify {
			if err := im.verify.check(ctx, v); err != nil {
				return err
			}
		}
	}
	authors, folders, err := im.derivedDocuments(ctx)
	if err != nil {
		return err
	}
	left, err := findParked(ctx, im.files, im.poison)
	if err != nil {
		return err
	}

	stats := im.m.Stats()
	r := report{
		Repository:          repository,
		Commits:             im.commits.Load(),
		Operations:          im.added.Load(),
		Documents:           documents,
		Authors:             authors,
		Folders:             folders,
		Runs:                stats.Runs,
		Requeues:            stats.Requeues,
		Signals:             stats.Signals,
		OperationsPerRun:    ratio(float64(stats.Operations), float64(stats.Runs)),
		StaleRuns:           stats.Stale,
		Seconds:             ratio(took.Seconds(), 1),
		OperationsPerSecond: ratio(float64(im.added.Load()), took.Seconds()),
		Parked:              left.number,
	}
	if o.verify {
		im.verify.finish()
		r.Verified, r.Mismatches = true, im.verify.mismatches
	}
	if o.json {
		if err := dump.Encode(r); err != nil {
			return err
		}
	}
	if !o.quiet {
		r.summary(stderr, im.duplicates.Load())
	}
	left.write(stderr, im.poison) // -quiet or not: it is a warning
	if table := tableTo(o, out, stderr); table != nil {
		if err := top.write(table); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if r.Mismatches > 0 {
		for _, w := range im.verify.wrong {
			fmt.Fprintln(stderr, w)
		}
		return fmt.Errorf("%d of %s %s operations make", r.Mismatches, r.views(),
			verb(int64(r.Mismatches), "is not what its", "are not what their"))
	}
	if n := left.unexpected(); n > 0 {
		return fmt.Errorf("%s parked that -poison does not name", count(int64(n), "file"))
	}
	return nil
}

// derivedDocuments counts the documents of the derived collections, and compares them if
// the files were.
func (im *importer) derivedDocuments(ctx context.Context) (authors, folders int, err error) {
	v := im.verify
	if v == nil {
		v = newVerifier(im.files) // nobody looks at what it finds
	}
	if authors, err = checkDerived(ctx, v, im.derived.authors, v.authors); err != nil {
		return 0, 0, err
	}
	folders, err = checkDerived(ctx, v, im.derived.folders, v.folders)
	return authors, folders, err
}

// tableTo says where the table of the most changed files goes: to standard
// output, unless that is for JSON; nil means nowhere.
func tableTo(o options, stdout, stderr io.Writer) io.Writer {
	switch {
	case !o.json && !o.dump:
		return stdout
	case !o.quiet:
		return stderr
	}
	return nil
}
