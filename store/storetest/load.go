package storetest

import (
	"sync"

	"github.com/refold-go/refold/store"
)

var loadChecks = []check{
	{"documents are returned in the order of keys", func(f *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			f.append(key(id), "1")
		}
		keys := []store.Key{key("c"), key("missing"), key("a"), {Collection: "unknown", ID: "a"}, key("b"), key("c")}
		documents, err := f.b.Load(background, keys, store.WithViews)
		if err != nil || len(documents) != len(keys) {
			f.Fatalf("Load of %d documents returned %d, %v", len(keys), len(documents), err)
		}
		for i, d := range documents {
			if d.Key != keys[i] {
				f.Errorf("document %d is %s, want %s", i, d.Key, keys[i])
			}
		}
	}},
	{"a document without operations has head 0 and nothing else", func(f *fixture) {
		f.append(key("a"), "1")
		for _, k := range []store.Key{key("missing"), {Collection: "unknown", ID: "a"}, key("A"), key("a ")} {
			d := f.load(k)
			if d.Head != 0 || d.Last != 0 || d.Applied != 0 || d.View != nil || d.Epoch != 0 || d.Since != (store.Since{}) || d.Failure != nil {
				f.Errorf("document is %+v", d)
			}
		}
		collections, err := f.b.Collections(background)
		if err != nil || len(collections) != 1 {
			f.Errorf("after loading there are collections %v, %v", collections, err)
		}
	}},
	{"everything but the view without views", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		f.fold(key("a"), 1)
		f.park(key("a"))
		documents, err := f.b.Load(background, []store.Key{key("a"), key("b")}, store.WithoutViews)
		if err != nil {
			f.Fatal(err)
		}
		for _, d := range documents {
			want := f.load(d.Key)
			if d.View != nil {
				f.Errorf("%s has a view", d.Key)
			}
			want.View = nil
			if got := describe(d); got != describe(want) {
				f.Errorf("without views\n\t%s\nwith views\n\t%s", got, describe(want))
			}
		}
	}},
	{"no view before the first commit", func(f *fixture) {
		f.append(key("a"), "1")
		d := f.load(key("a"))
		if d.Head != 1 || d.Last != 1 || d.Applied != 0 || d.View != nil || !d.Dirty() || d.Parked() {
			f.Errorf("document is %+v", d)
		}
	}},
	{"many can be loaded at once", func(f *fixture) {
		n := small(200, 2500)
		appendMany(f, n)
		keys := make([]store.Key, n)
		for i := range keys {
			keys[i] = key(number(n - i - 1))
		}
		documents, err := f.b.Load(background, keys, store.WithViews)
		if err != nil || len(documents) != n {
			f.Fatalf("Load of %d documents returned %d, %v", n, len(documents), err)
		}
		for i, d := range documents {
			if d.Key != keys[i] || d.Head != 1 || d.Last != store.Position(n-i) {
				f.Fatalf("document %d is %+v", i, d)
			}
		}
	}},
	{"a document is as it was at some moment", func(f *fixture) {
		const rounds = 100
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				var last store.Document
				for {
					select {
					case <-stop:
						return
					default:
					}
					documents, err := f.b.Load(background, []store.Key{key("a")}, store.WithViews)
					if err != nil {
						f.Errorf("Load: %v", err)
						return
					}
					for d, err := range f.b.Scan(background, "notes", "", store.WithViews) {
						if err != nil {
							f.Errorf("Scan: %v", err)
							return
						}
						documents = append(documents, d)
					}
					for _, d := range documents {
						if d.Head < last.Head || d.Applied < last.Applied {
							f.Errorf("%s was %s and is %s", d.Key, describe(last), describe(d))
						}
						if problem := torn(d); problem != "" {
							f.Errorf("%s: %s", problem, describe(d))
						}
						last = d
					}
				}
			})
		}
		defer readers.Wait()
		defer close(stop)
		for range rounds {
			f.append(key("a"), "1", "2")
			head := f.load(key("a")).Head
			f.fold(key("a"), head-1)
			f.fold(key("a"), head)
		}
	}},
	{"calls may have very many keys", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.park(key("b"))
		keys := make([]store.Key, small(1000, 40_000))
		for i := range keys {
			keys[i] = key(number(i))
		}
		keys[0], keys[len(keys)-1] = key("a"), key("b")
		documents, err := f.b.Load(background, keys, store.WithViews)
		if err != nil || len(documents) != len(keys) || documents[0].Head != 1 || !documents[len(keys)-1].Parked() {
			f.Errorf("Load of %d documents returned %d, %v", len(keys), len(documents), err)
		}
		seqs, err := f.b.Resolve(background, f.end(), keys)
		if err != nil || len(seqs) != len(keys) || seqs[0] != 1 || seqs[1] != 0 || seqs[len(keys)-1] != 1 {
			f.Errorf("Resolve of %d keys returned %d, %v", len(keys), len(seqs), err)
		}
		mustResume(f, 1, keys...)
	}},
	{"no keys are no error", func(f *fixture) {
		if documents, err := f.b.Load(background, nil, store.WithViews); err != nil || len(documents) != 0 {
			f.Errorf("Load of nothing returned %v, %v", documents, err)
		}
	}},
}

// torn says what shows that a document was read while it was being written.
func torn(d store.Document) string {
	switch {
	case d.Applied > d.Head:
		return "applied is beyond the head"
	case d.Applied == 0 && d.View != nil || d.Applied > 0 && string(d.View) != string(viewOf(d.Applied)):
		return "the view is not that of applied"
	case d.Dirty() != (d.Since.Position > 0) || d.Dirty() == d.Since.Time.IsZero():
		return "since does not tell whether it is dirty"
	case d.Since.Position > d.Last || d.Last < store.Position(d.Head):
		return "the last position is not that of the head"
	}
	return ""
}
