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
