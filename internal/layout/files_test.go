package layout

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryPackageHasAComment(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.name())
		}
	}
}

// About 150 lines are aimed at.
func TestNoFileIsTooLong(t *testing.T) {
	const most = 400
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if lines := bytes.Count(source, []byte("\n")); lines > most {
			t.Errorf("%s has %d lines, want at most %d", path, lines, most)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// No timer of the engine begins due. One that is due before somebody waits for it is fired
// by whoever looks at its channel, and two goroutines in one bubble of testing/synctest that
// do so at the same moment bring down a program with the race detector (Go 1.26).
func TestNoTimerBeginsDue(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, due := range []string{"time.NewTimer(0)", "time.After(0)"} {
				if bytes.Contains(source, []byte(due)) {
					t.Errorf("%s has %s, want a timer that is not due when it is made", path, due)
				}
			}
		}
	}
}
