package storetest

import "github.com/refold-go/refold/store"

var checkerChecks = []check{
	{"a store that is well says nothing", func(f *fixture) {
		checker, ok := f.b.(store.Checker)
		if !ok {
			f.Skip("the backend is no store.Checker")
		}
		before := contents(f.T, f.b)
		for range 3 {
			if err := checker.Check(background); err != nil {
				f.Errorf("Check: %v", err)
			}
		}
		f.mustContain(before)
		f.append(key("a"), "1")
		f.refuse(store.ErrConflict, store.Append{Key: key("a"), Head: new(int64(7)), Entries: entries("x")})
		if err := checker.Check(background); err != nil {
			f.Errorf("Check after a refusal: %v", err)
		}
	}},
}
