package faultvfs

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// attach returns a disk on an empty folder and the path of a database in it.
func attach(t *testing.T) (*Disk, string) {
	t.Helper()
	folder := t.TempDir()
	d, err := Attach(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Detach(); err != nil {
			t.Error(err)
		}
	})
	return d, filepath.Join(folder, "a.db")
}

// connect opens one connection, with a write-ahead log.
func connect(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func run(c *sql.Conn, statement string) error {
	_, err := c.ExecContext(context.Background(), statement)
	return err
}

func mustRun(t *testing.T, c *sql.Conn, statement string) {
	t.Helper()
	if err := run(c, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestEveryKindOfCallCanFail(t *testing.T) {
	const insert = "INSERT INTO t VALUES (zeroblob(9000))"
	for _, test := range []struct {
		name   string
		kinds  Kinds
		effect Effect
		run    string
		want   sqlite3.ErrNoExtended
	}{
		{"write", Write, IOError, insert, sqlite3.ErrIoErrWrite},
		{"torn write", Write, Torn, insert, sqlite3.ErrIoErrWrite},
		{"full", Write, Full, insert, sqlite3.ErrNoExtended(sqlite3.ErrFull)},
		{"sync", Sync, IOError, insert, sqlite3.ErrIoErrFsync},
		{"shared lock", ShmLock, IOError, insert, sqlite3.ErrIoErrSHMLock},
		{"read", Read, IOError, "PRAGMA wal_checkpoint(TRUNCATE)", sqlite3.ErrIoErrRead},
		{"truncate", Truncate, IOError, "PRAGMA wal_checkpoint(TRUNCATE)", sqlite3.ErrIoErrTruncate},
		{"size", Size, IOError, "ATTACH 'file:' || (SELECT file FROM pragma_database_list LIMIT 1) || '.other' AS x; CREATE TABLE x.t (a)", sqlite3.ErrIoErrFstat},
		{"open", Open, IOError, "ATTACH 'file:' || (SELECT file FROM pragma_database_list LIMIT 1) || '.other' AS x; CREATE TABLE x.t (a)", sqlite3.ErrNoExtended(sqlite3.ErrCantOpen)},
		{"lock", Lock, IOError, "ATTACH 'file:' || (SELECT file FROM pragma_database_list LIMIT 1) || '.other' AS x; CREATE TABLE x.t (a)", sqlite3.ErrIoErrLock},
		{"access", Access, IOError, "ATTACH 'file:' || (SELECT file FROM pragma_database_list LIMIT 1) || '.other' AS x; CREATE TABLE x.t (a)", sqlite3.ErrIoErrAccess},
		{"delete", Delete, IOError, "ATTACH 'file:' || (SELECT file FROM pragma_database_list LIMIT 1) || '.other' AS x; CREATE TABLE x.t (a)", sqlite3.ErrIoErrDelete},
		{"shared memory", ShmMap, IOError, "ATTACH 'file:' || (SELECT file FROM pragma_database_list LIMIT 1) || '.other' AS x; CREATE TABLE x.t (a); PRAGMA x.journal_mode = WAL; SELECT * FROM x.t", sqlite3.ErrNoExtended(10 | 21<<8)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d, path := attach(t)
			c := connect(t, path)
			mustRun(t, c, "CREATE TABLE t (a BLOB); "+insert)
			calls := d.Calls(test.kinds)
			d.Arm(Fault{Kinds: test.kinds, At: 1, Effect: test.effect})
			err := run(c, test.run)
			if e, ok := errors.AsType[sqlite3.Error](err); !ok || e.ExtendedCode != test.want && sqlite3.ErrNoExtended(e.Code) != test.want {
				t.Errorf("got %#v, want code %d", err, test.want)
			}
			if d.Fired() != 1 || d.Calls(test.kinds) == calls {
				t.Errorf("%d faults, %d calls", d.Fired(), d.Calls(test.kinds)-calls)
			}
			d.Heal()
			mustRun(t, c, insert)
			if d.Fired() != 0 {
				t.Error("a call failed on a disk that was healed")
			}
		})
	}
}

func TestTheCallThatFailsIsTheOneThatWasAskedFor(t *testing.T) {
	d, path := attach(t)
	c := connect(t, path)
	mustRun(t, c, "CREATE TABLE t (a)")
	const insert = "INSERT INTO t VALUES (1)"
	d.Count(Sync)
	mustRun(t, c, insert)
	each := d.Counted()
	if each == 0 {
		t.Fatal("a commit syncs nothing")
	}
	for _, lasting := range []bool{false, true} {
		d.Arm(Fault{Kinds: Sync, At: 2*each + 1, Lasting: lasting})
		for i := range 4 {
			err := run(c, insert)
			if failed, want := err != nil, i == 2 || i > 2 && lasting; failed != want {
				t.Errorf("lasting %t: insert %d: %v", lasting, i, err)
			}
		}
		d.Heal()
		mustRun(t, c, insert)
	}
}

// Faults of one disk are not those of another.
func TestDisksAreApart(t *testing.T) {
	d, path := attach(t)
	_, other := attach(t)
	c, o := connect(t, path), connect(t, other)
	d.Arm(Fault{Kinds: All, At: 1, Lasting: true})
	mustRun(t, o, "CREATE TABLE t (a)")
	if err := run(c, "CREATE TABLE t (a)"); err == nil {
		t.Error("the disk that is broken works")
	}
	d.Heal()
}

func TestDetachingIsRefusedWhileFilesAreOpen(t *testing.T) {
	d, path := attach(t)
	mustRun(t, connect(t, path), "CREATE TABLE t (a)")
	if err := d.Detach(); err == nil || !strings.Contains(err.Error(), "files") {
		t.Errorf("Detach: %v", err)
	}
}

func TestAllocationsFail(t *testing.T) {
	_, path := attach(t)
	c := connect(t, path)
	const create = "CREATE TABLE IF NOT EXISTS t (a)"
	FailAllocation(0, false)
	mustRun(t, c, create)
	if n, failed := Allocations(); n == 0 || failed != 0 {
		t.Fatalf("%d allocations, %d failed", n, failed)
	}
	FailAllocation(1, true)
	err := run(c, "CREATE TABLE u (a)")
	_, failed := Allocations()
	FailAllocation(0, false)
	if e, ok := errors.AsType[sqlite3.Error](err); !ok || e.Code != sqlite3.ErrNomem || failed == 0 {
		t.Errorf("%v after %d failures", err, failed)
	}
	mustRun(t, c, "CREATE TABLE u (a)")
}

func TestMemoryIsLimited(t *testing.T) {
	_, path := attach(t)
	c := connect(t, path)
	mustRun(t, c, "CREATE TABLE t (a)")
	LimitMemory(64 << 10)
	defer LimitMemory(-1)
	if e, ok := errors.AsType[sqlite3.Error](run(c, "INSERT INTO t VALUES (hex(zeroblob(1000000)))")); !ok || e.Code != sqlite3.ErrNomem {
		t.Errorf("a million bytes within 64 KiB: %v", e)
	}
	LimitMemory(-1)
	mustRun(t, c, "INSERT INTO t VALUES (hex(zeroblob(1000000)))")
}

// What is recorded is what is in the files.
func TestARecordingThatLosesNothingIsTheFolder(t *testing.T) {
	d, path := attach(t)
	d.Record()
	c := connect(t, path)
	mustRun(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(20000)); PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (2)")
	d.Mark(7)
	r := d.Recorded()
	if marks := r.Marks(r.Len()); len(marks) != 1 || marks[0] != 7 || len(r.Marks(r.Len()-1)) != 0 {
		t.Errorf("marks %v", marks)
	}
	image := r.Cut(r.Len(), Kept, nil)
	if len(image) != 2 {
		t.Errorf("%d files, want the database and its log", len(image))
	}
	for name, content := range image {
		if got, err := os.ReadFile(filepath.Join(filepath.Dir(path), name)); err != nil || string(got) != string(content) {
			t.Errorf("%s: %d bytes in the image, %d in the folder, %v", name, len(content), len(got), err)
		}
	}
}

func TestCut(t *testing.T) {
	data := func(c byte, sectors int) []byte { return []byte(strings.Repeat(string(c), sectors*sector)) }
	r := &Recording{events: []event{
		{kind: created, file: 0, data: []byte("a")},
		{kind: written, file: 0, data: data('1', 2)},
		{kind: synced, file: 0, covers: 2},
		{kind: folderSynced, file: -1, covers: 2},
		{kind: written, file: 0, offset: sector, data: data('2', 4)},
		{kind: created, file: 1, data: []byte("b")},
		{kind: synced, file: 0, covers: 4}, // began before the write at 4 was made
		{kind: deleted, file: 0},
	}}
	count := func(b []byte, c byte) int { return strings.Count(string(b), string(c)) / sector }
	if image := r.Cut(r.Len(), Lost, nil); len(image) != 1 || string(image["a"]) != string(data('1', 2)) {
		t.Errorf("lost: %d files, %d bytes", len(image), len(image["a"]))
	}
	if image := r.Cut(r.Len(), Kept, nil); len(image) != 1 || image["b"] != nil {
		t.Errorf("kept: %v", image)
	}
	if image := r.Cut(r.Len()-1, Kept, nil); count(image["a"], '1') != 1 || count(image["a"], '2') != 4 {
		t.Errorf("kept before the end: %d bytes", len(image["a"]))
	}
	seen := make(map[int]bool)   // sectors of the write that was not synced
	states := make(map[int]bool) // numbers of files
	for seed := range uint64(200) {
		image := r.Cut(r.Len(), TornAll, rand.New(rand.NewPCG(seed, 0)))
		states[len(image)] = true
		if a, ok := image["a"]; ok {
			if count(a[:sector], '1') != 1 {
				t.Fatal("a sector is lost that was synced")
			}
			seen[count(a, '2')] = true
		}
		if again := r.Cut(r.Len(), TornAll, rand.New(rand.NewPCG(seed, 0))); again.Sum() != image.Sum() {
			t.Fatal("the same chance gave another image")
		}
	}
	for n := range 5 {
		if !seen[n] {
			t.Errorf("never %d of 4 sectors", n)
		}
	}
	if !states[1] || !states[2] {
		t.Errorf("numbers of files: %v", states)
	}
}

// What a sync could not write is not made durable by the next one.
func TestCutAfterAFailedSync(t *testing.T) {
	r := &Recording{events: []event{
		{kind: created, file: 0, data: []byte("a")},
		{kind: folderSynced, file: -1, covers: 1},
		{kind: written, file: 0, data: []byte("1")},
		{kind: synced, file: 0, covers: 3},
		{kind: written, file: 0, offset: 1, data: []byte("2")},
		{kind: unsynced, file: 0, covers: 5},
		{kind: written, file: 0, offset: 2, data: []byte("3")},
		{kind: synced, file: 0, covers: 7},
	}}
	for loss, want := range map[Loss]string{Kept: "123", Lost: "1\x003"} {
		if got := string(r.Cut(r.Len(), loss, nil)["a"]); got != want {
			t.Errorf("loss %d: %q, want %q", loss, got, want)
		}
	}
}
