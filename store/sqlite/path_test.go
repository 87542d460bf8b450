package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/refold-go/refold/store"
)

func TestPaths(t *testing.T) {
	for _, name := range []string{
		"plain.db", "with space", "with#hash", "with%41percent", "with+plus&and=more;", "дом.db", "quote'\"", "back\\slash", "-dash", "new\nline",
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "folder "+name)
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, name)
			s := open(t, path, nil)
			mustAppend(t, s, one("a", "1"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			entries, _ := os.ReadDir(folder)
			if len(entries) != 2 || entries[0].Name() != name || entries[1].Name() != name+".lock" {
				t.Errorf("the folder has %v", entries)
			}
		})
	}
	folder := t.TempDir()
	os.Symlink(filepath.Join(folder, "nothing"), filepath.Join(folder, "dangling"))
	for _, path := range []string{
		"", ":memory:", "file:x.db", "a\x00b", filepath.Join(folder, "x?_journal_mode=OFF"), folder,
		filepath.Join(folder, "missing", "x.db"), filepath.Join(folder, "dangling"),
	} {
		t.Run("refused "+path, func(t *testing.T) {
			s, err := Open(path, nil)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			t.Log(err)
		})
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("something was made: %v", entries)
	}
}

func TestALinkIsTheFileItPointsTo(t *testing.T) {
	s := fresh(t, nil)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(s.path, link); err != nil {
		t.Fatal(err)
	}
	other := open(t, link, nil)
	if _, err := s.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Claim(t.Context()); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("claimed twice under two names: %v", err)
	}
}
