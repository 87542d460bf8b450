package storetest

import (
	"github.com/refold-go/refold/store"
)

var ownershipChecks = []check{
	{"what a caller passes in may be used again", func(f *fixture) {
		call := []store.Append{{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{
			{ID: "1", Meta: []byte("meta"), Body: []byte("body")}, {Body: []byte("more")},
		}}}
		f.appendAll(call...)
		commits := []store.Commit{{Key: key("a"), Applied: 1, View: []byte("view"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e"}}}
		f.commit(commits...)
		before := contents(f.T, f.b)

		for i := range call[0].Entries {
			scribble(call[0].Entries[i].Meta)
			scribble(call[0].Entries[i].Body)
		}
		*call[0].Head = 9
		clear(call[0].Entries)
		clear(call)
		scribble(commits[0].View)
		*commits[0].Failure = store.Failure{Park: true}
		clear(commits)
		f.mustContain(before)
	}},
	{"what a method returns belongs to the caller", func(f *fixture) {
		call := []store.Append{{Key: key("a"), Entries: []store.Entry{
			{ID: "1", Meta: []byte("meta"), Body: []byte("body")}, {Body: []byte("more")},
		}}}
		result := f.appendAll(call...)
		f.commit(store.Commit{Key: key("a"), Applied: 1, View: []byte("view"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e", Park: true}})
		before := contents(f.T, f.b)

		clear(result.Documents[0].Operations)
		clear(result.Documents)
		pages := mustRead(f, store.Budget{}, store.Range{Key: key("a")})
		for _, op := range pages[0] {
			scribble(op.Meta)
			scribble(op.Body)
		}
		clear(pages[0])
		documents := []store.Document{f.load(key("a"))}
		documents = append(documents, collect(f.T, f.b.Scan(background, "notes", "", store.WithViews))...)
		documents = append(documents, collect(f.T, f.b.Parked(background, "notes"))...)
		for _, d := range documents {
			scribble(d.View)
			*d.Failure = store.Failure{}
		}
		seqs, err := f.b.Resolve(background, f.end(), []store.Key{key("a")})
		if err != nil {
			f.Fatal(err)
		}
		clear(seqs)
		collections, err := f.b.Collections(background)
		if err != nil {
			f.Fatal(err)
		}
		clear(collections)
		f.mustContain(before)
	}},
	{"what was returned does not change later", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.fold(key("a"), 1)
		d := f.load(key("a"))
		before := describe(d)
		f.fold(key("a"), 2)
		f.append(key("a"), "3")
		f.park(key("a"))
		if after := describe(d); after != before {
			f.Errorf("a document in hand was\n\t%s\nand is\n\t%s", before, after)
		}
	}},
}

// scribble overwrites what a store must not share.
func scribble(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}
