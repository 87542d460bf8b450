package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/refold-go/refold/store"
)

// damages are the columns that FuzzDamagedRow changes.
var damages = []struct{ table, column string }{
	{"meta", "value"},
	{"collections", "name"}, {"collections", "version"}, {"collections", "serving"}, {"collections", "paused"}, {"collections", "epoch"},
	{"documents", "collection"}, {"documents", "name"}, {"documents", "head"}, {"documents", "last_position"},
	{"operations", "seq"}, {"operations", "position"}, {"operations", "id"}, {"operations", "kind"}, {"operations", "at"},
	{"operations", "time"}, {"operations", "meta"}, {"operations", "body"}, {"operations", "marks"},
	{"progress", "applied"}, {"progress", "dirty"}, {"progress", "since_position"}, {"progress", "since_time"}, {"progress", "failed"},
	{"progress", "attempts"}, {"progress", "not_before"}, {"progress", "parked"}, {"progress", "epoch"}, {"progress", "deleted"},
	{"progress", "changed"}, {"progress", "news"},
	{"log", "position"}, {"log", "document"}, {"log", "seq"}, {"log", "count"},
	{"views", "body"},
	{"failures", "name"}, {"failures", "parked"}, {"failures", "seq"}, {"failures", "error"}, {"failures", "stack"},
	{"failures", "first_at"}, {"failures", "last_at"},
	{"discards", "name"}, {"discards", "seq"}, {"discards", "who"}, {"discards", "why"}, {"discards", "at"},
	{"forgotten", "hash"},
	{"collections", "derived"}, {"collections", "dependents"}, {"documents", "contributions"},
	{"generations", "version"}, {"generations", "source"}, {"generations", "feeds"}, {"generations", "input"}, {"generations", "deltas"},
	{"generations", "space"}, {"generations", "state"}, {"generations", "epoch"}, {"generations", "scanned"}, {"generations", "until"},
	{"generations", "made"}, {"generations", "mark"}, {"generations", "started"},
	{"deltas", "seq"}, {"deltas", "position"}, {"deltas", "at"}, {"deltas", "body"}, {"deltas", "marks"}, {"deltas", "mapping"},
	{"contributions", "document"}, {"contributions", "input"}, {"contributions", "source"}, {"contributions", "mapping"},
	{"contributions", "key"}, {"contributions", "body"},
	{"edges", "collection"}, {"edges", "name"}, {"edges", "version"}, {"edges", "generation"},
	{"fanouts", "round"}, {"fanouts", "readers"}, {"fanouts", "after"},
}

// FuzzDamagedRow puts a value of any type into a column of one row, as a damaged
// page may have it. Nothing panics, and a value of the wrong type is never read as
// something else: it is an error, or the row is not found.
func FuzzDamagedRow(f *testing.F) {
	template := template(f, true)
	for i := range damages {
		f.Add(uint8(i), uint8(0), uint8(i), int64(-1), []byte("x"))
		f.Add(uint8(i), uint8(1), uint8(i+1), int64(1)<<62, []byte{0xff, 0})
	}
	f.Fuzz(func(t *testing.T, where, row, kind uint8, number int64, bytes []byte) {
		at := damages[int(where)%len(damages)]
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, template, 0o600); err != nil {
			t.Fatal(err)
		}
		values := []driver.Value{number, float64(number) / 3, string(bytes), bytes}
		value := values[int(kind)%len(values)]
		if bytes == nil && kind%4 == 3 {
			return
		}
		wrong, ok := replace(t, path, "refold_"+at.table, at.column, int(row), value)
		if !ok {
			return
		}
		s, err := Open(path, &Options{Sync: SyncNormal})
		if err != nil {
			return
		}
		read := everything(s)
		if wrong {
			for what, got := range read {
				if want := sound[what]; got != "" && got != want {
					t.Errorf("%s.%s of row %d is %T(%v): read %s as %s, want %s or an error", at.table, at.column, row, value, value, what, got, want)
				}
			}
		}
		writeAll(t, s)
		if err := s.Close(); err != nil {
			t.Logf("closing: %v", err) // it is allowed to complain
		}
	})
}

// FuzzDamagedFile overwrites bytes at up to two places of a store's file. It is
// opened and used without a panic, or refused.
func FuzzDamagedFile(f *testing.F) {
	template := template(f, false)
	f.Add(uint32(0), []byte("SQLite format 4"), uint32(0), []byte(nil))
	f.Add(uint32(16), []byte{0, 1}, uint32(20), []byte{99})       // sizes of a page
	f.Add(uint32(18), []byte{1, 1}, uint32(56), []byte{0, 0, 0})  // no WAL, encoding
	f.Add(uint32(28), []byte{0, 0, 0, 1}, uint32(100), []byte{5}) // pages, kind of the first
	for page := range uint32(len(template) / 4096) {
		at := page * 4096
		f.Add(at, []byte{2, 0, 0, 255, 255}, at+8, []byte{0, 0, 0, 1})
		f.Add(at+4090, []byte{7, 7, 7, 7, 7, 7}, at+4000, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	}
	f.Fuzz(func(t *testing.T, at uint32, bytes []byte, second uint32, more []byte) {
		file := slices.Clone(template)
		copy(file[int(at)%len(file):], bytes)
		copy(file[int(second)%len(file):], more)
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, &Options{Sync: SyncNormal})
		if err != nil {
			return
		}
		everything(s)
		writeAll(t, s)
		if err := s.Close(); err != nil {
			t.Logf("closing: %v", err) // it is allowed to complain
		}
	})
}

// sound is what everything returns of the template.
var sound map[string]string

// template makes a store that has a row of each kind. A loose one lacks what keeps
// values of the wrong type out of it.
func template(f *testing.F, loose bool) []byte {
	path := filepath.Join(f.TempDir(), "store.db")
	s, err := Open(path, nil)
	if err != nil {
		f.Fatal(err)
	}
	ctx := f.Context()
	must := func(_ any, err error) {
		f.Helper()
		if err != nil {
			f.Fatal(err)
		}
	}
	must(nil, s.Register(ctx, "notes", 1))
	for _, id := range []string{"clean", "dirty", "parked", "deleted", "gone"} {
		entries := []store.Entry{{ID: "i" + id, Kind: "k", Meta: []byte("m"), Body: []byte("b1")}, {Body: []byte("b2")}}
		must(s.Append(ctx, []store.Append{{Key: key(id), Entries: entries}}))
	}
	must(s.Commit(ctx, []store.Commit{
		{Key: key("clean"), Applied: 2, View: []byte("v")},
		{Key: key("dirty"), Applied: 1, View: []byte("v"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e", Stack: "s"}},
		{Key: key("parked"), Failure: &store.Failure{Seq: 1, Attempts: 3, Error: "e", Park: true}},
		{Key: key("deleted"), Applied: 2, Deleted: true},
	}))
	must(nil, s.Discard(ctx, store.Discard{Key: key("dirty"), Seq: 2, By: "me", Why: "so"}))
	must(nil, s.Forget(ctx, key("gone")))
	// What is made of notes: one of them is half way through a round, and one has read two.
	must(nil, s.Derive(ctx, store.Derivation{Name: "tags", Version: 1, Sources: []string{"notes"}, Deltas: true}))
	must(s.Fill(ctx, "tags@1"))
	for _, id := range []string{"clean", "dirty"} {
		d := loadNamed(f, s, "tags@1<notes", id)
		e := &store.Effects{From: store.Round{To: d.Head}, Pairs: []store.Pair{{Key: "t", Body: []byte("c")}, {Key: "u", Body: []byte("c")}}}
		if id == "dirty" {
			e.Upto = "u"
		}
		must(s.Commit(ctx, []store.Commit{{Key: d.Key, Epoch: d.Epoch, Applied: d.Head, Effects: e}}))
	}
	d := loadNamed(f, s, "tags@1", "t")
	must(s.Commit(ctx, []store.Commit{{
		Key: d.Key, Epoch: d.Epoch, Applied: d.Head, View: []byte("v"), Reads: []store.Read{{Key: key("clean"), Version: 1}, {Key: key("none")}},
	}}))
	sound = everything(s)
	for what, got := range sound {
		if got == "" {
			f.Fatalf("the template has no %s", what)
		}
	}
	must(nil, s.Close())
	if loose {
		c := bare(f, path)
		for _, sql := range []string{
			"PRAGMA writable_schema = ON",
			"UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT, WITHOUT', 'WITHOUT'), ') STRICT', ')')",
			"PRAGMA writable_schema = RESET",
		} {
			must(nil, c.run(sql))
		}
		must(nil, c.close())
	}
	file, err := os.ReadFile(path)
	must(nil, err)
	s, err = Open(path, nil) // it is not refused for what it lacks
	must(nil, err)
	must(nil, s.Close())
	return file
}

func bare(t testing.TB, path string) *conn {
	t.Helper()
	c, err := openConn(dsn(path, url.Values{"_journal_mode": {"WAL"}, "_synchronous": {"OFF"}}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// replace puts a value into a column of one row. wrong tells that it was of another
// type; ok is false if it could not be put there.
func replace(t *testing.T, path, table, column string, row int, value driver.Value) (wrong, ok bool) {
	t.Helper()
	c := bare(t, path)
	defer c.close()
	query := func(sql string, args ...driver.NamedValue) []driver.Value {
		rows, err := c.raw.QueryContext(background, sql, args)
		if err != nil {
			return nil
		}
		defer rows.Close()
		dest := make([]driver.Value, len(rows.Columns()))
		if rows.Next(dest) != nil {
			return nil
		}
		return dest
	}
	n := query("SELECT count(*) FROM " + table)
	if n == nil || integer(n[0]) == 0 {
		t.Fatalf("%s is empty", table)
	}
	pick := fmt.Sprintf("SELECT %%s FROM %s ORDER BY 1 LIMIT 1 OFFSET %d", table, row%int(integer(n[0])))
	was := query(fmt.Sprintf(pick, column))
	if was == nil {
		t.Fatalf("%s has no row %d", table, row)
	}
	// The first row with that value; which one does not matter.
	if query(fmt.Sprintf("UPDATE %s SET %s = ?1 WHERE %s IS ?2 RETURNING 1", table, column, column),
		driver.NamedValue{Ordinal: 1, Value: value}, driver.NamedValue{Ordinal: 2, Value: was[0]}) == nil {
		return false, false
	}
	now := query(fmt.Sprintf("SELECT typeof(%s) FROM %s WHERE %s IS ?1", column, table, column), driver.NamedValue{Ordinal: 1, Value: value})
	if now == nil {
		return false, false // its affinity has made another value of it
	}
	before := query("SELECT typeof(?1)", driver.NamedValue{Ordinal: 1, Value: was[0]})
	return was[0] != nil && text(now[0]) != text(before[0]), true
}

// everything reads all that there is, into a text for each thing; what cannot be
// read, or is not there, has none.
func everything(s *Store) map[string]string {
	read := make(map[string]string)
	ctx := background
	keys := []store.Key{key("clean"), key("dirty"), key("parked"), key("deleted")}
	note := func(what string, got any, err error) {
		if err == nil && !reflect.ValueOf(got).IsZero() {
			read[what] = fmt.Sprintf("%+v", got)
		}
	}
	document := func(what string, d store.Document, err error) {
		if d.Failure != nil {
			f := *d.Failure
			d.Failure = nil
			f.Delay = 0
			note(what+" failure of "+d.Key.ID, f, err)
		}
		if d.Head > 0 {
			note(what+" "+d.Key.ID, d, err)
		}
	}
	for _, k := range keys {
		docs, err := s.Load(ctx, []store.Key{k}, store.WithViews)
		if err == nil {
			document("Load", docs[0], err)
		}
		ops, err := s.Operations(ctx, []store.Range{{Key: k}}, store.Budget{})
		if err == nil {
			for _, op := range ops[0] {
				note(fmt.Sprint("operation of ", k.ID, " ", op.Seq), op, err)
			}
		}
	}
	for d, err := range s.Scan(ctx, "notes", "", store.WithViews) {
		document("Scan", d, err)
	}
	for _, name := range []string{"tags@1<notes", "tags@1"} {
		for d, err := range s.Scan(ctx, name, "", store.WithViews) {
			document("Scan "+name, d, err)
			if err != nil {
				break
			}
			ops, err := s.Operations(ctx, []store.Range{{Key: d.Key}}, store.Budget{})
			if err == nil {
				for _, op := range ops[0] {
					note(fmt.Sprint("delta of ", d.Key, " ", op.Seq), op, err)
				}
			}
			all, err := s.Contributions(ctx, d.Key, store.Contributor{}, store.Budget{})
			for _, c := range all {
				note(fmt.Sprint("contribution to ", d.Key.ID, " of ", c.Contributor), c, err)
			}
			reads, err := s.Reads(ctx, d.Key)
			for _, r := range reads {
				note(fmt.Sprint("read of ", r.Key), r, err)
			}
		}
	}
	for d, err := range s.Parked(ctx, "notes") {
		document("Parked", d, err)
	}
	for r, err := range s.Runnable(ctx, []string{"notes"}) {
		r.Wait = 0
		note("Runnable "+r.Key.ID, r, err)
	}
	for c, err := range s.Changes(ctx, "notes", store.Cursor{}, store.WithViews) {
		document("Change", c.Document, err)
	}
	if end, err := s.End(ctx); err == nil {
		for op, err := range s.Log(ctx, store.Token{}, end) {
			note(fmt.Sprint("logged operation ", op.Position), op, err)
		}
	}
	for d, err := range s.Discards(ctx, "notes") {
		note("Discard "+d.Key.ID, d, err)
	}
	return read
}

// writeAll writes to all documents, and asks what else can be asked. Errors are
// what one expects.
func writeAll(t *testing.T, s *Store) {
	t.Helper()
	ctx := background
	_, err := s.Collections(ctx)
	_, err2 := s.Count(ctx, "notes")
	end, err3 := s.End(ctx)
	errs := []error{err, err2, err3, s.Check(ctx)}
	ids := []string{"clean", "dirty", "parked", "deleted", "gone"}
	for _, id := range ids {
		_, err := s.Resolve(ctx, end, []store.Key{key(id)})
		_, err2 := s.Append(ctx, []store.Append{{Key: key(id), Entries: []store.Entry{{ID: "i" + id, Body: []byte("b")}, {Body: []byte("b3")}}}})
		_, err3 := s.Resume(ctx, []store.Key{key(id)})
		errs = append(errs, err, err2, err3)
		docs, err := s.Load(ctx, []store.Key{key(id)}, store.WithoutViews)
		if err == nil && docs[0].Dirty() && docs[0].Applied >= 0 {
			d := docs[0]
			_, err = s.Commit(ctx, []store.Commit{{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Applied + 1, View: []byte("w")}})
		}
		errs = append(errs, err, s.Discard(ctx, store.Discard{Key: key(id), Seq: 3, By: "me", Why: "so"}))
	}
	errs = append(errs, derivedWrites(s)...)
	errs = append(errs, s.Pause(ctx, "notes", true), s.Forget(ctx, key("dirty")), s.Drop(ctx, "notes"), s.Drop(ctx, "tags"), s.Drop(ctx, "notes"))
	for _, err := range errs {
		if errors.Is(err, store.ErrClosed) {
			t.Errorf("the store says that it is closed: %v", err)
		}
	}
}

// derivedWrites is writeAll for what is made of the documents.
func derivedWrites(s *Store) (errs []error) {
	ctx := background
	errs = append(errs, s.Derive(ctx, store.Derivation{Name: "tags", Version: 1, Sources: []string{"notes"}, Deltas: true}))
	for _, name := range []string{"tags@1<notes", "tags@1"} {
		for r, err := range s.Runnable(ctx, []string{name}) {
			if errs = append(errs, err); err != nil {
				break
			}
			docs, err := s.Load(ctx, []store.Key{r.Key}, store.WithoutViews)
			if errs = append(errs, err); err != nil || !docs[0].Dirty() || docs[0].Applied < 0 {
				continue
			}
			d := docs[0]
			c := store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("w")}
			if name == "tags@1" {
				c.Reads = []store.Read{{Key: key("parked"), Version: 7}}
			} else {
				c.Effects = &store.Effects{From: d.Round, Pairs: []store.Pair{{Key: "zz", Body: []byte("c")}}}
				if c.Effects.From.To == 0 {
					c.Effects.From.To = d.Head
				}
				if c.Applied = c.Effects.From.To; c.Effects.From.Readers {
					c.Effects.Pairs, c.Effects.Touch = nil, true
				}
			}
			_, err = s.Commit(ctx, []store.Commit{c})
			errs = append(errs, err)
		}
	}
	_, err := s.Switch(ctx, "tags@1", store.SwitchTerms{Force: true})
	errs = append(errs, err, s.Derive(ctx, store.Derivation{Name: "tags", Version: 2, Sources: []string{"notes"}}))
	_, err = s.Fill(ctx, "tags@2")
	errs = append(errs, err, s.Retire(ctx, "tags@2"))
	_, err = s.Sweep(ctx)
	return append(errs, err)
}
