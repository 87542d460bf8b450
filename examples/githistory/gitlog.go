package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Commit is one commit of the log.
type Commit struct {
	Hash    string
	Time    int64 // the author's, in Unix seconds
	Author  string
	Changes []FileChange
}

// FileChange is what a commit did to one file.
type FileChange struct {
	Path           string // unquoted: any bytes
	Added, Deleted int64  // lines; 0 if Binary
	Binary         bool
}

// maxLine bounds a line of the log, so that a file that is no log at all is
// refused before it fills the memory. Git itself has no bound for paths; the
// longest that a Linux kernel opens is 4 KiB, quoted 16 KiB.
const maxLine = 1 << 20

// maxLines is how many bits the number of added or deleted lines may have: what
// JSON numbers hold exactly.
const maxLines = 53

// What the lines of a log look like, for errors.
const (
	wantCommit = `"commit HASH TIME AUTHOR"`
	wantChange = "ADDED<tab>DELETED<tab>PATH"
)

// Commits reads the output of
//
//	git log --numstat --format='commit %H %at %ae'
//
// and holds one commit at a time. A commit is yielded when all of it has been
// read; after an error nothing follows. Errors name the line.
func Commits(r io.Reader) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 64<<10), maxLine)
		lines.Split(wholeLines)
		var current *Commit
		n := 0
		for lines.Scan() {
			n++
			text := lines.Text()
			var err error
			switch {
			case text == "":
			case strings.HasPrefix(text, "commit "):
				if current != nil && !yield(*current, nil) {
					return
				}
				current = new(Commit)
				*current, err = parseCommit(text)
			case current == nil:
				err = wanted(wantCommit, text)
			default:
				var c FileChange
				c, err = parseChange(text)
				current.Changes = append(current.Changes, c)
			}
			if err != nil {
				yield(Commit{}, atLine(n, err))
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Commit{}, atLine(n+1, err))
			return
		}
		if current != nil {
			yield(*current, nil)
		}
	}
}

// wholeLines splits into lines. The end of the last one is due as well: without
// it, a cut path would look like a path. A CR before it is dropped; git quotes a
// path that has one.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	advance, line, err = bufio.ScanLines(data, atEOF)
	if advance > 0 && data[advance-1] != '\n' {
		return 0, nil, errCut
	}
	return advance, line, err
}

var errCut = errors.New("it has no end: the log is cut off here")

func atLine(n int, err error) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		err = fmt.Errorf("longer than %d bytes: this is no log of git", maxLine-1)
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the compressed data is cut off here")
	}
	return fmt.Errorf("line %d: %w", n, err)
}

func wanted(want, got string) error {
	const most = 120
	if len(got) > most {
		got = got[:most] + "…"
	}
	return fmt.Errorf("got %q, want %s", got, want)
}

// parseCommit reads "commit HASH TIME AUTHOR". The author may contain spaces
// or be empty. Git leaves out a time that it cannot read: that is 0.
func parseCommit(line string) (Commit, error) {
	fields := strings.SplitN(line, " ", 4)
	if len(fields) < 3 || !isHash(fields[1]) {
		return Commit{}, wanted(wantCommit, line)
	}
	c := Commit{Hash: fields[1]}
	if fields[2] != "" {
		var err error
		if c.Time, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
			return Commit{}, wanted(wantCommit+" with a time in seconds", line)
		}
	}
	if len(fields) == 4 {
		c.Author = fields[3]
	}
	if !utf8.ValidString(c.Author) {
		c.Author = quote(c.Author) // JSON would make all that is not UTF-8 alike
	}
	return c, nil
}

// isHash accepts SHA-1 and SHA-256.
func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// parseChange reads "ADDED\tDELETED\tPATH", where a binary file has "-" for
// both numbers.
func parseChange(line string) (FileChange, error) {
	added, rest, _ := strings.Cut(line, "\t")
	deleted, path, ok := strings.Cut(rest, "\t")
	if !ok || path == "" {
		return FileChange{}, wanted(wantChange+" or "+wantCommit, line)
	}
	var c FileChange
	if added == "-" && deleted == "-" {
		c.Binary = true
	} else {
		a, err := strconv.ParseUint(added, 10, maxLines)
		d, err2 := strconv.ParseUint(deleted, 10, maxLines)
		if err != nil || err2 != nil {
			return FileChange{}, wanted(wantChange+" with numbers or two hyphens", line)
		}
		c.Added, c.Deleted = int64(a), int64(d)
	}
	c.Path = path
	if path[0] == '"' {
		var err error
		if c.Path, err = unquote(path); err != nil {
			return FileChange{}, err
		}
	}
	return c, nil
}
