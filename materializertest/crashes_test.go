package materializertest_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/materializertest"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

func TestCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := map[string]int{}
		materializertest.CheckCrashes(t, accounts(), sample(), &materializertest.CrashOptions[deposit]{
			Open: func() (store.Backend, error) {
				calls["open"]++
				return memory.New(nil), nil
			},
		})
		if calls["open"] < 60 {
			t.Errorf("%d stores were tried, want many", calls["open"])
		}
	})
}

func TestCrashesOutsideOfABubble(t *testing.T) {
	materializertest.CheckCrashes(t, accounts(), sample(), &materializertest.CrashOptions[deposit]{Most: 5})
}

func TestCrashesOfFoldsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overdrawn := map[string][]deposit{"ann": {{Amount: 1}, {Amount: -2}, {Amount: 5}}, "eve": {{Amount: 1}}}
		materializertest.CheckCrashes(t, accounts(), overdrawn, &materializertest.CrashOptions[deposit]{MayFail: true, Most: 12})
	})
}

func TestCrashesOnSQLite(t *testing.T) {
	dir, n := t.TempDir(), 0
	paths := map[store.Backend]string{}
	options := &materializertest.CrashOptions[deposit]{
		Open: func() (store.Backend, error) {
			n++
			path := filepath.Join(dir, time.Now().Format("150405.000000000")+".db")
			st, err := sqlite.Open(path, nil)
			paths[st] = path
			return st, err
		},
		Reopen: func(b store.Backend) (store.Backend, error) {
			if err := b.Close(); err != nil {
				return nil, err
			}
			st, err := sqlite.Open(paths[b], nil)
			paths[st] = paths[b]
			return st, err
		},
		Most: 6,
	}
	if testing.Short() {
		options.Most = 3
	}
	materializertest.CheckCrashes(t, accounts(), map[string][]deposit{"ann": sample()["ann"]}, options)
	if n < 3*options.Most {
		t.Errorf("%d stores were tried, want some for each mode", n)
	}
}

// The stores that are not what they promise, and what is said of them.
func TestFaultyStores(t *testing.T) {
	for _, c := range []struct {
		name string
		wrap func(store.Backend) store.Backend
		want []string
	}{
		{"an append that is not there", func(b store.Backend) store.Backend { return &forgetful{Backend: b} },
			[]string{"was acknowledged, and is not in the store"}},
		{"no ids", func(b store.Backend) store.Backend { return &noIDs{Backend: b, seen: map[string]bool{}} },
			[]string{"document ann at seq 2, ", `id "materializertest-1 again"`, "process 1 was killed before call "}},
		{"views of others", func(b store.Backend) store.Backend { return misread{b} },
			[]string{"is not what a fold from the beginning gives", "want {"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wantFailure(t, append(c.want, "collection accounts"), func(t materializertest.TB) {
					materializertest.CheckCrashes(t, accounts(), sample(), &materializertest.CrashOptions[deposit]{
						Open: func() (store.Backend, error) { return c.wrap(memory.New(nil)), nil },
					})
				})
			})
		})
	}
}

// forgetful acknowledges the eighth append and does not keep it.
type forgetful struct {
	store.Backend
	appends atomic.Int64
}

func (s *forgetful) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	if s.appends.Add(1) == 8 {
		return store.Appended{Documents: make([]store.AppendedDocument, 1)}, nil
	}
	return s.Backend.Append(ctx, appends)
}

// noIDs stores what it is sent again once more.
type noIDs struct {
	store.Backend
	seen map[string]bool // document and id; there is one process at a time
}

func (s *noIDs) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	for i := range appends {
		for j := range appends[i].Entries {
			e := &appends[i].Entries[j]
			name := appends[i].Key.ID + e.ID
			if s.seen[name] {
				e.ID += " again"
			}
			s.seen[name] = true
		}
	}
	return s.Backend.Append(ctx, appends)
}

// misread loads some views as others.
type misread struct{ store.Backend }

func (s misread) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	docs, err := s.Backend.Load(ctx, keys, parts)
	for i := range docs {
		if docs[i].Applied == 2 && docs[i].View != nil {
			docs[i].View = []byte(`{"Balance":1000}`)
		}
	}
	return docs, err
}

// A fold that is not pure is noticed, though not as well explained as by CheckFold.
func TestCrashesOfAnImpureFold(t *testing.T) {
	var n atomic.Int64
	counting := with(func(a account, op operation) (account, error) {
		a.Balance = int(n.Add(1))
		return a, nil
	})
	synctest.Test(t, func(t *testing.T) {
		wantFailure(t, []string{"is not what a fold from the beginning gives", "want {", "got {", "killed before call"}, func(t materializertest.TB) {
			materializertest.CheckCrashes(t, counting, sample(), nil)
		})
	})
}

func TestCrashesNeedASampleThatFolds(t *testing.T) {
	wantFailure(t, []string{"document ann at seq 1, ", "overdrawn"}, func(t materializertest.TB) {
		materializertest.CheckCrashes(t, accounts(), map[string][]deposit{"ann": {{Amount: -1}}}, nil)
	})
	wantFailure(t, []string{"opening a store", "no disk"}, func(t materializertest.TB) {
		materializertest.CheckCrashes(t, accounts(), sample(), &materializertest.CrashOptions[deposit]{
			Open: func() (store.Backend, error) { return nil, errNoDisk },
		})
	})
}

// A document of which the operations come with ids, metas and times.
func TestCrashesWithDescriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dated := with(func(a account, op operation) (account, error) {
			a.Tags = append(a.Tags, op.ID+" "+string(op.Meta)+" "+op.Time.Format(time.DateOnly))
			return a, nil
		})
		describe := func(id string, seq int64, _ deposit) materializer.NewOperation[deposit] {
			return materializer.NewOperation[deposit]{
				ID: id + string(rune('a'+seq)), Meta: []byte(id), Time: time.Date(2020, 1, int(seq), 0, 0, 0, 0, time.UTC),
			}
		}
		materializertest.CheckFold(t, dated, sample(), &materializertest.FoldOptions[deposit]{Describe: describe})
		materializertest.CheckCrashes(t, dated, sample(), &materializertest.CrashOptions[deposit]{Describe: describe, Most: 8})
	})
}
