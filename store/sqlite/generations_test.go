package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// mustServeAll checks that what is served has each document, at one version, and as a
// fold of it from scratch makes it.
func mustServeAll(t testing.TB, s *Store, documents int) {
	t.Helper()
	ctx := t.Context()
	collections, err := s.Collections(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for d, err := range s.Scan(ctx, "notes", "", store.WithViews) {
		if err != nil {
			t.Fatal(err)
		}
		operations, err := s.Operations(ctx, []store.Range{{Key: d.Key, To: max(d.Applied, 1)}}, store.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		if want := folding(collections[0].Version, operations[0][:d.Applied]); d.Applied > 0 && string(d.View) != string(want) {
			t.Fatalf("%s is %q, from scratch %q", d.Key, d.View, want)
		}
		n++
	}
	if n != documents {
		t.Fatalf("of %d documents %d are served", documents, n)
	}
}

// copyOf opens a copy of the files, as they would be if the process ended now.
func copyOf(t testing.TB, s *Store) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	for _, suffix := range []string{"", "-wal"} {
		// By another process: closing the file here would drop SQLite's locks.
		if out, err := exec.Command("cp", s.path+suffix, path+suffix).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return open(t, path, nil)
}

// Wherever a rebuild is cut off, what is served is whole, and who opens the file goes
// on to the same end, while others append.
func TestF13_CrashAtEachStep(t *testing.T) {
	s := fresh(t, nil)
	if err := s.Register(t.Context(), "notes", 1); err != nil {
		t.Fatal(err)
	}
	documents := 1300
	for i := 0; i < documents; i += 100 {
		var appends []store.Append
		for j := range 100 {
			appends = append(appends, one(fmt.Sprint("d", i+j), "a", "b")...)
		}
		mustAppend(t, s, appends)
	}
	for foldSome(t, s, "notes", 1000) > 0 {
	}
	steps := make(map[string]int)
	for i := 0; ; i++ {
		// To a document that the scan has come to perhaps, and a new one.
		mustAppend(t, s, append(one(fmt.Sprint("d", i*97%documents), "later"), one(fmt.Sprint("new", i), "c")...))
		after := copyOf(t, s)
		mustServeAll(t, after, documents+i+1)
		for n := 0; ; n++ {
			if rebuilding(t, after) == "" {
				break
			}
			if n > 100 {
				t.Fatal("it does not end")
			}
		}
		mustServeAll(t, after, documents+i+1)
		generations, err := after.Generations(t.Context(), "notes")
		if err != nil || len(generations) != 1 || generations[0].Version != 2 || generations[0].State != store.Serving {
			t.Fatalf("in the end the generations are %+v, %v", generations, err)
		}
		if n := count(t, after, "refold_progress"); n != int64(documents+i+1) {
			t.Fatalf("%d rows of %d documents", n, documents+i+1)
		}
		checkLog(t, after)
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
		step := rebuilding(t, s)
		if steps[step]++; step == "" || step == "fold what is served" {
			break
		}
		if i > 100 {
			t.Fatal("it does not end")
		}
	}
	for _, step := range []string{"register", "fill", "fold", "switch", "retire", "sweep"} {
		if least := map[string]int{"fill": 2, "fold": 2, "sweep": 5}[step]; steps[step] < max(least, 1) {
			t.Errorf("there were only %d steps of %s", steps[step], step)
		}
	}
}

// broken is a runner whose statements fail after some.
type broken struct {
	runner
	left int
}

var errPlanned = errors.New("this statement was to fail")

func (b *broken) fails() error {
	if b.left--; b.left < 0 {
		return &statementError{"trying", errPlanned}
	}
	return nil
}

func (b *broken) exec(s statement, args ...driver.Value) error {
	if err := b.fails(); err != nil {
		return err
	}
	return b.runner.exec(s, args...)
}

func (b *broken) one(s statement, args ...driver.Value) ([]driver.Value, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.runner.one(s, args...)
}

func (b *broken) each(s statement, row func([]driver.Value) bool, args ...driver.Value) error {
	if err := b.fails(); err != nil {
		return err
	}
	return b.runner.each(s, row, args...)
}

// wholeStep is work that is done as a whole, or not at all.
type wholeStep struct {
	what string
	work func() work
	then func()
}

// stepsMustBeWhole does steps. Wherever one fails, nothing of it is stored, and the next time
// it goes well.
func stepsMustBeWhole(t *testing.T, s *Store, steps []wholeStep) {
	t.Helper()
	for _, step := range steps {
		before := dump(t, s)
		failed := 0
		for ; ; failed++ {
			w := step.work()
			err := s.submit(t.Context(), newRequest(workFunc(func(t *transaction) error {
				whole := t.run
				defer func() { t.run = whole }()
				t.run = &broken{whole, failed}
				return w.do(t)
			}), true, 0))
			if err == nil {
				break
			}
			if !errors.Is(err, errPlanned) {
				t.Fatalf("%s, statement %d: %v", step.what, failed, err)
			}
			if now := dump(t, s); now != before {
				t.Fatalf("%s has failed at statement %d, and left\n%s\nfor\n%s", step.what, failed, now, before)
			}
		}
		if failed < 2 || dump(t, s) == before {
			t.Errorf("%s failed %d times, or changed nothing", step.what, failed)
		}
		if step.then != nil {
			step.then()
		}
	}
}

// TestNoStepIsHalfDone: wherever a step fails, nothing of it is stored, and the next
// time it goes well.
func TestNoStepIsHalfDone(t *testing.T) {
	s := fresh(t, nil)
	name := func(version int) store.CollectionName { return store.CollectionName{Name: "notes", Version: version} }
	if err := s.Register(t.Context(), "notes", 1); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, append(one("a", "1", "2"), one("b", "1")...))
	foldSome(t, s, "notes", 10)
	stepsMustBeWhole(t, s, []wholeStep{
		{"register", func() work { return &registerWork{"notes", 2} }, nil},
		{"register a higher one", func() work { return &registerWork{"notes", 3} }, nil},
		{"fill", func() work { return &fillWork{name: name(3)} }, func() { foldSome(t, s, "notes@3", 10) }},
		{"append", func() work { return &appendWork{appends: append(one("a", "3"), one("c", "1")...)} }, func() {
			foldSome(t, s, "notes@3", 10)
		}},
		{"discard", func() work {
			return &discardWork{Discard: store.Discard{Key: key("a"), Seq: 3, By: "me", Why: "so"}}
		}, func() { foldSome(t, s, "notes@3", 10); foldSome(t, s, "notes", 10) }},
		{"hold", func() work { return &holdWork{name: "notes", d: time.Hour} }, nil},
		{"switch", func() work { return &switchWork{name: name(3)} }, nil},
		{"rollback", func() work { return &rollbackWork{"notes"} }, nil},
		{"switch again", func() work { return &switchWork{name: name(3)} }, nil},
		{"retire", func() work { return &retireWork{name(1)} }, nil},
		{"sweep", func() work { return new(sweepWork) }, nil},
		{"sweep more", func() work { return new(sweepWork) }, nil},
		{"forget", func() work { return &forgetWork{key("c"), hashKey(s.writer.salt, key("c"))} }, nil},
		{"erase", func() work { return new(eraseWork) }, nil},
		{"drop", func() work { return &dropWork{"notes"} }, nil},
		{"drop the rest", func() work { return new(dropSliceWork) }, nil},
	})
	for _, table := range []string{"generations", "progress", "views", "failures", "operations", "log", "collections", "discards"} {
		if n := count(t, s, "refold_"+table); n != 0 {
			t.Errorf("%d rows are left of %s", n, table)
		}
	}
}

// What was retired is removed by who opens the file, if nobody else has.
func TestOpeningSweepsGenerations(t *testing.T) {
	s := fresh(t, nil)
	ctx := context.Background()
	if err := s.Register(ctx, "notes", 1); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		mustAppend(t, s, one(fmt.Sprint(i), "1"))
	}
	foldSome(t, s, "notes", 1000)
	for rebuilding(t, s) != "retire" {
	}
	if n := count(t, s, "refold_views"); n != 2*600 {
		t.Fatalf("%d views", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.path, nil)
	eventually(t, "the end of sweeping", func() bool { return count(t, s, "refold_generations") == 1 })
	if n := count(t, s, "refold_views"); n != 600 {
		t.Errorf("%d views are left", n)
	}
	mustServeAll(t, s, 600)
}

// Nothing of a forgotten document is left in any generation, also not in one that is
// being dropped.
func TestForgetLeavesNothingInGenerations(t *testing.T) {
	s := fresh(t, nil)
	ctx := t.Context()
	for version := 1; version <= 4; version++ {
		if err := s.Register(ctx, "notes", version); err != nil {
			t.Fatal(err)
		}
		if version == 1 {
			history(t, s, 3, 300, func(a []store.Append) error { _, err := s.Append(ctx, a); return err })
		}
		name := fmt.Sprint("notes@", version)
		if _, err := s.Fill(ctx, name); err != nil {
			t.Fatal(err)
		}
		for r, err := range s.Runnable(ctx, []string{name}) {
			if err != nil {
				t.Fatal(err)
			}
			docs, err := s.Load(ctx, []store.Key{r.Key}, store.WithoutViews)
			if err != nil {
				t.Fatal(err)
			}
			view := "ordinary"
			if r.Key.ID == secretKey.ID {
				view = strings.Repeat(secret, 50*version)
			}
			c := store.Commit{Key: r.Key, Loaded: docs[0].Applied, Epoch: docs[0].Epoch, Applied: docs[0].Head, View: []byte(view)}
			if _, err := s.Commit(ctx, []store.Commit{c}); err != nil {
				t.Fatal(err)
			}
		}
		if version < 4 {
			if o, err := s.Switch(ctx, name, store.SwitchTerms{Force: true}); err != nil || o.Why != store.Unhindered {
				t.Fatalf("switch: %v, %v", o, err)
			}
		}
	}
	generations, err := s.Generations(ctx, "notes")
	if err != nil || len(generations) != 4 || generations[0].State != store.Dropping {
		t.Fatalf("the generations are %+v, %v", generations, err)
	}
	mustForget(t, s)
}

// A clock that was set back does not hold a collection for as long.
func TestHoldAfterTheClockWasSetBack(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	for until, want := range map[time.Duration]bool{-time.Second: false, time.Second: true, store.MaxHold: true, store.MaxHold + time.Second: false, time.Hour: false} {
		now := time.Now()
		if got := held(now.Add(until).UnixNano(), now); got != want {
			t.Errorf("%s before the end it is held: %t", until, got)
		}
	}
	if held(0, time.Now()) {
		t.Error("it is held without an end")
	}
}

// dump returns all rows of our tables.
func dump(t testing.TB, s *Store) string {
	t.Helper()
	var all []string
	err := s.read(t.Context(), func(c *conn) error {
		tables, err := c.tables()
		if err != nil {
			return err
		}
		for _, table := range tables {
			rows, err := c.raw.QueryContext(background, "SELECT * FROM "+table, nil)
			if err != nil {
				return err
			}
			row := make([]driver.Value, len(rows.Columns()))
			for rows.Next(row) == nil {
				all = append(all, fmt.Sprintln(table, row))
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// A file that an earlier version of the schema left is rebuilt like any other.
func TestF21_OldFilesAreRebuilt(t *testing.T) {
	s := open(t, version2(t), nil)
	ctx := t.Context()
	if err := s.Register(ctx, "notes", 4); err != nil {
		t.Fatal(err)
	}
	if more, err := s.Fill(ctx, "notes@4"); err != nil || more {
		t.Fatal(more, err)
	}
	foldSome(t, s, "notes@4", 100)
	var served, made []string
	for name, to := range map[string]*[]string{"notes": &served, "notes@4": &made} {
		for d, err := range s.Scan(ctx, name, "", store.WithoutViews) {
			if err != nil {
				t.Fatal(err)
			}
			*to = append(*to, fmt.Sprint(d.Key.ID, d.Head))
			if name == "notes@4" && d.Dirty() {
				t.Errorf("%+v is dirty", d)
			}
		}
	}
	if !slices.Equal(served, made) || len(made) == 0 {
		t.Errorf("made are %q, want %q", made, served)
	}
	if o, err := s.Switch(ctx, "notes@4", store.SwitchTerms{}); err != nil || o.Why != store.Unhindered {
		t.Errorf("in the way is %v, %v", o, err)
	}
}

// An append in a transaction of the application is one to every generation.
func TestAppendTxBeside(t *testing.T) {
	s := fresh(t, nil)
	ctx := t.Context()
	for version := 1; version <= 2; version++ {
		mustAppend(t, s, one("a", "1"))
		if err := s.Register(ctx, "notes", version); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Fill(ctx, "notes@2"); err != nil {
		t.Fatal(err)
	}
	foldSome(t, s, "notes", 10)
	foldSome(t, s, "notes@2", 10)
	err := s.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := s.AppendTx(ctx, tx, append(one("a", "2"), one("new", "1")...))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", "notes@2"} {
		if n := foldSome(t, s, name, 10); n != 2 {
			t.Errorf("%d documents of %s are dirty, want 2", n, name)
		}
	}
}
