package storetest

import (
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
)

var runnableChecks = []check{
	{"the lowest since comes first", func(f *fixture) {
		f.append(key("c"), "1")
		f.append(key("a"), "1")
		f.append(key("b"), "1", "2")
		f.append(key("c"), "2")
		f.mustRun("c", "a", "b")
		f.fold(key("c"), 1)
		f.mustRun("a", "b", "c")
		f.fold(key("b"), 1)
		f.fold(key("a"), 1)
		f.mustRun("b", "c")
		f.append(key("a"), "2")
		f.mustRun("b", "c", "a")
	}},
	{"a document is returned with its since", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		f.fold(key("a"), 1)
		for _, r := range f.runnable() {
			if d := f.load(r.Key); r.Since.Position != d.Since.Position || !r.Since.Time.Equal(d.Since.Time) || r.Wait != 0 {
				f.Errorf("%s is runnable as %+v, its document is %+v", r.Key, r, d)
			}
		}
	}},
	{"only the named collections are returned", func(f *fixture) {
		for i, name := range []string{"one", "two", "three", "one", "three"} {
			f.append(store.Key{Collection: name, ID: fmt.Sprint(i)}, "1")
		}
		for _, want := range []struct {
			names []string
			ids   string
		}{
			{nil, "[]"}, {[]string{"two"}, "[1]"}, {[]string{"three", "one"}, "[0 2 3 4]"}, {[]string{"unknown"}, "[]"},
			{[]string{"unknown", "one", "two", "three"}, "[0 1 2 3 4]"},
		} {
			ids := []string{}
			for _, r := range collect(f.T, f.b.Runnable(background, want.names)) {
				ids = append(ids, r.Key.ID)
			}
			if fmt.Sprint(ids) != want.ids {
				f.Errorf("of %q, %v are runnable, want %s", want.names, ids, want.ids)
			}
		}
	}},
	{"many are returned in order", func(f *fixture) {
		n := small(300, 3000)
		appendMany(f, n)
		var again []store.Append
		for i := 0; i < n; i += 3 {
			again = append(again, store.Append{Key: key(number(i)), Entries: entries("again")})
		}
		f.appendAll(again...)
		var done []store.Commit
		for i := 0; i < n; i += 2 {
			done = append(done, store.Commit{Key: key(number(i)), Applied: 1, View: []byte("1")})
		}
		f.commit(done...)
		var want []string
		for i := 1; i < n; i += 2 {
			want = append(want, number(i))
		}
		for i := 0; i < n; i += 6 {
			want = append(want, number(i))
		}
		f.mustRun(want...)
	}},
	{"many of several collections are returned in order", func(f *fixture) {
		names := []string{"many", "few", "some"}
		var all []store.Append
		var want []string
		for i := range small(400, 2000) {
			name := names[0]
			if i%50 == 7 {
				name = names[1]
			} else if i%3 == 0 {
				name = names[2]
			}
			all = append(all, store.Append{Key: store.Key{Collection: name, ID: number(i)}, Entries: entries("1")})
			want = append(want, number(i))
		}
		f.appendAll(all...)
		var got []string
		for _, r := range f.runnable(names...) {
			got = append(got, r.Key.ID)
		}
		if !slices.Equal(got, want) {
			f.Errorf("%d documents came in another order, or not all of %d", len(got), len(want))
		}
	}},
	{"the loop may call any method", func(f *fixture) {
		n := small(300, 1200)
		appendMany(f, n)
		seen := 0
		for r, err := range f.b.Runnable(background, []string{"notes"}) {
			if err != nil {
				f.Fatal(err)
			}
			if want := number(seen); r.Key.ID != want {
				f.Fatalf("runnable %d is %s, want %s", seen, r.Key, want)
			}
			if seen%100 == 0 {
				callEverything(f, key(number(seen/2)))
			}
			if seen++; seen == n {
				break // what the calls made dirty comes behind
			}
		}
		if seen != n {
			f.Errorf("%d documents were returned, want %d", seen, n)
		}
	}},
	{"a document that stays runnable is not missed", func(f *fixture) {
		n := small(300, 1200)
		appendMany(f, n)
		missing := make(map[string]bool)
		for i := n / 2; i < n; i++ {
			missing[number(i)] = true
		}
		folded := 0
		for r, err := range f.b.Runnable(background, []string{"notes"}) {
			if err != nil {
				f.Fatal(err)
			}
			delete(missing, r.Key.ID)
			if folded < n/2 && r.Key.ID == number(folded) {
				f.fold(r.Key, 1)
				folded++
			}
		}
		if len(missing) > 0 {
			f.Errorf("%d of %d documents were not returned", len(missing), n/2)
		}
	}},
	{"leaving the loop releases everything", func(f *fixture) {
		appendMany(f, small(20, 200))
		for range 50 {
			for _, err := range f.b.Runnable(background, []string{"notes"}) {
				if err != nil {
					f.Fatal(err)
				}
				break
			}
		}
		callEverything(f, key(number(3)))
	}},
	{"a stream can be read again", func(f *fixture) {
		f.append(key("a"), "1")
		stream := f.b.Runnable(background, []string{"notes"})
		if n := len(collect(f.T, stream)); n != 1 {
			f.Errorf("first %d documents", n)
		}
		f.append(key("b"), "1")
		if n := len(collect(f.T, stream)); n != 2 {
			f.Errorf("then %d documents, want 2", n)
		}
	}},
}

// number returns ids whose order is that of the numbers.
func number(i int) string { return fmt.Sprintf("%06d", i) }

// appendMany appends an operation to each of n documents, in order of number.
func appendMany(f *fixture, n int) {
	f.Helper()
	all := make([]store.Append, n)
	for i := range all {
		all[i] = store.Append{Key: key(number(i)), Entries: entries("1")}
	}
	for chunk := range slices.Chunk(all, 500) {
		f.appendAll(chunk...)
	}
}

// callEverything calls each method of a backend, in particular those that write.
// It folds the document of the key and leaves it dirty; it must have operations.
func callEverything(f *fixture, k store.Key) {
	f.Helper()
	token := f.appendAll(store.Append{Key: k, Entries: entries("more")}).Token
	f.fold(k, f.load(k).Head-1)
	for _, r := range f.runnable() {
		_ = r
		break
	}
	for _, err := range f.b.Scan(background, k.Collection, "", store.WithViews) {
		if err != nil {
			f.Fatal(err)
		}
		break
	}
	for _, err := range f.b.Parked(background, k.Collection) {
		if err != nil {
			f.Fatal(err)
		}
	}
	for name, call := range map[string]func() error{
		"Register":    func() error { return f.b.Register(background, "registered", 1) },
		"Collections": func() error { _, err := f.b.Collections(background); return err },
		"Resolve":     func() error { _, err := f.b.Resolve(background, token, []store.Key{k}); return err },
		"End":         func() error { _, err := f.b.End(background); return err },
		"LastChange":  func() error { _, err := f.b.LastChange(background); return err },
		"Log": func() error {
			for _, err := range f.b.Log(background, store.Token{}, token) {
				return err
			}
			return nil
		},
		"Changes": func() error {
			for _, err := range f.b.Changes(background, k.Collection, store.Cursor{}, store.WithViews) {
				return err
			}
			return nil
		},
		"Resume": func() error { _, err := f.b.Resume(background, []store.Key{k}); return err },
		"Operations": func() error {
			_, err := f.b.Operations(background, []store.Range{{Key: k}}, store.Budget{})
			return err
		},
		"Count":     func() error { _, err := f.b.Count(background, k.Collection); return err },
		"Forgotten": func() error { _, err := f.b.Forgotten(background, k); return err },
		"Forget":    func() error { return f.b.Forget(background, store.Key{Collection: "unknown", ID: "x"}) },
		"Drop":      func() error { return f.b.Drop(background, "unknown") },
		"Claim": func() error {
			c, err := f.b.Claim(background)
			if err != nil {
				return err
			}
			return c.Release()
		},
	} {
		if err := call(); err != nil {
			f.Fatalf("%s: %v", name, err)
		}
	}
}
