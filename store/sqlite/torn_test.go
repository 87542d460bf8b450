package sqlite

import (
	"bytes"
	"os"
	"testing"

	"github.com/refold-go/refold/store"
)

// SQLite copies a long log by itself only behind a synced commit, and one is synced
// when the log is long of views alone.
func TestALogOfViewsAloneIsCopiedBehindASync(t *testing.T) {
	s := fresh(t, nil)
	automatic := func() int64 {
		t.Helper()
		v, err := s.writer.conn.pragma("wal_autocheckpoint")
		if err != nil {
			t.Fatal(err)
		}
		return v.(int64)
	}
	const operations = 160
	for range operations {
		mustAppend(t, s, one("a", "1"))
	}
	if n := automatic(); n != checkpointPages {
		t.Errorf("copied after %d pages behind an append, want %d", n, checkpointPages)
	}
	synced := 0
	for i := range int64(operations) {
		_, err := s.Commit(t.Context(), []store.Commit{{Key: key("a"), Loaded: i, Applied: i + 1, View: bytes.Repeat([]byte{byte(i)}, 1<<20)}})
		if err != nil {
			t.Fatal(err)
		}
		switch automatic() {
		case checkpointPages:
			synced++
		case 0:
		default:
			t.Fatalf("copied after %d pages", automatic())
		}
	}
	if synced == 0 || synced > operations/10 {
		t.Errorf("%d of %d commits of views were synced", synced, operations)
	}
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(3 * checkpointPages * 4096); info.Size() > most {
		t.Errorf("the log has %d MB, want at most %d", info.Size()>>20, most>>20)
	}
}
