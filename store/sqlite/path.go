package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/refold-go/refold/store"
)

// resolvePath returns the absolute path of a database file, without symbolic
// links, so that every process names the files beside it alike. size is -1 if
// there is no file yet.
//
// A path is not a DSN: what SQLite or the driver would take for options is
// refused rather than escaped, because who writes it means options.
func resolvePath(path string) (full string, size int64, err error) {
	refuse := func(got, want string) (string, int64, error) {
		return "", 0, &store.InvalidError{Field: "path of the database", Got: got, Want: want}
	}
	switch {
	case path == "":
		return refuse("empty", "a file")
	case strings.IndexByte(path, 0) >= 0:
		return refuse("a NUL byte", "a path without it")
	case strings.HasPrefix(path, "file:"):
		return refuse(fmt.Sprintf("%q", path), "a path, not a URI")
	case strings.HasPrefix(path, ":memory:"):
		return refuse(fmt.Sprintf("%q", path), "a file; for tests in memory there is package store/memory")
	case strings.Contains(path, "?"):
		return refuse(fmt.Sprintf("%q", path), "a path without ?, which SQLite takes for the start of options")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", 0, fmt.Errorf("refold: path of the database: %w", err)
	}
	if full, err = filepath.EvalSymlinks(abs); errors.Is(err, fs.ErrNotExist) {
		switch info, lerr := os.Lstat(abs); {
		case lerr == nil && info.Mode()&fs.ModeSymlink != 0:
			return refuse(fmt.Sprintf("%q", path), "not a symbolic link to nothing")
		case lerr == nil: // somebody has made it in between
			return resolvePath(path)
		}
		folder, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", 0, fmt.Errorf("refold: folder of the database: %w", err)
		}
		return filepath.Join(folder, filepath.Base(abs)), -1, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("refold: path of the database: %w", err)
	}
	info, err := os.Stat(full)
	if err != nil {
		return "", 0, fmt.Errorf("refold: database: %w", err)
	}
	if !info.Mode().IsRegular() {
		return refuse(fmt.Sprintf("%q, which is no regular file", path), "a file")
	}
	return full, info.Size(), nil
}

// lockPath is the file that carries the claim.
func lockPath(path string) string { return path + ".lock" }

// dsn builds a DSN for an absolute path. Everything but letters, digits and a
// few marks is escaped, so that no path is read as options.
func dsn(path string, settings url.Values) string {
	var b strings.Builder
	b.WriteString("file:")
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/-_.", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	b.WriteByte('?')
	// Encode writes a space as +, which SQLite does not undo in its own settings.
	b.WriteString(strings.ReplaceAll(settings.Encode(), "+", "%20"))
	return b.String()
}
