package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	hashA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hashB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

var hash256 = strings.Repeat("0123456789abcdef", 4)

func collect(r io.Reader) (commits []Commit, err error) {
	for c, err := range Commits(r) {
		if err != nil {
			return commits, err
		}
		commits = append(commits, c)
	}
	return commits, nil
}

func TestCommits(t *testing.T) {
	long := strings.Repeat("d/", 50_000) + "f"
	for _, test := range []struct {
		name, log string
		want      []Commit
	}{
		{"nothing", "", nil},
		{"blank lines", "\n\n\n", nil},
		{
			"two commits",
			"commit " + hashA + " 12 a@b\n\n1\t2\tx y\n-\t-\timage.png\ncommit " + hashB + " 13 c d@e f\n\n0\t0\tx y\n",
			[]Commit{
				{hashA, 12, "a@b", []FileChange{{"x y", 1, 2, false}, {"image.png", 0, 0, true}}},
				{hashB, 13, "c d@e f", []FileChange{{"x y", 0, 0, false}}},
			},
		},
		{
			"no changes, no author, no time, before 1970",
			"commit " + hashA + " 1 \ncommit " + hashB + "  x\ncommit " + hashA + " -5 x\n",
			[]Commit{{Hash: hashA, Time: 1}, {Hash: hashB, Author: "x"}, {Hash: hashA, Time: -5, Author: "x"}},
		},
		{"crlf", "commit " + hashA + " 1 a\r\n\r\n1\t1\tx\r\n", []Commit{{hashA, 1, "a", []FileChange{{"x", 1, 1, false}}}}},
		{"sha-256", "commit " + hash256 + " 1 a\n", []Commit{{Hash: hash256, Time: 1, Author: "a"}}},
		{"long line", "commit " + hashA + " 1 a\n1\t1\t" + long + "\n", []Commit{{hashA, 1, "a", []FileChange{{long, 1, 1, false}}}}},
		{
			"odd paths",
			"commit " + hashA + " 1 a\n1\t1\t\"\\303\\244\\t\\\"\"\n1\t1\tcommit x\n1\t1\ta => b\n1\t1\tone\ttwo\n",
			[]Commit{{hashA, 1, "a", []FileChange{
				{"ä\t\"", 1, 1, false}, {"commit x", 1, 1, false}, {"a => b", 1, 1, false}, {"one\ttwo", 1, 1, false},
			}}},
		},
		{"author that is not UTF-8", "commit " + hashA + " 1 j\xfcrg\n", []Commit{{Hash: hashA, Time: 1, Author: `"j\374rg"`}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := collect(iotest.OneByteReader(strings.NewReader(test.log)))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

func TestCommitsRefused(t *testing.T) {
	const header = "commit " + hashA + " 1 a\n\n"
	for _, test := range []struct{ name, log, want string }{
		{"text", "hello\n", `line 1: got "hello", want "commit HASH TIME AUTHOR"`},
		{"change first", "\n1\t1\tx\n", "line 2: got"},
		{"short hash", "commit abc 1 a\n", `line 1: got "commit abc 1 a", want "commit HASH TIME AUTHOR"`},
		{"upper case hash", "commit " + strings.ToUpper(hashA) + " 1 a\n", "line 1"},
		{"header cut", "commit " + hashA + "\n", "line 1"},
		{"time", "commit " + hashA + " today a\n", "with a time in seconds"},
		{"time too large", "commit " + hashA + " 99999999999999999999 a\n", "with a time in seconds"},
		{"no path", header + "1\t1\n", `line 3: got "1\t1", want ADDED<tab>DELETED<tab>PATH`},
		{"empty path", header + "1\t1\t\n", "line 3"},
		{"half binary", header + "-\t1\tx\n", "with numbers or two hyphens"},
		{"negative", header + "-1\t1\tx\n", "with numbers or two hyphens"},
		{"huge", header + "9007199254740992\t1\tx\n", "with numbers or two hyphens"},
		{"cut", header + "1\t1\tsome/pa", "line 3: it has no end: the log is cut off here"},
		{"quoting", header + "1\t1\t\"x\n", "line 3: quoted path"},
		{"too long", header + "1\t1\t" + strings.Repeat("x", maxLine) + "\n", "line 3: longer than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := collect(strings.NewReader(test.log))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if len(got) != 0 {
				t.Errorf("a commit that is not whole was yielded: %+v", got)
			}
		})
	}
}

// TestCommitsCutGzip cuts a compressed log anywhere: that must be an error that
// says so, and every commit before it must be whole.
func TestCommitsCutGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	whole := FileChange{"some/path", 12, 34, false}
	for range 50 {
		io.WriteString(z, "commit "+hashA+" 1 a\n\n12\t34\tsome/path\n")
		z.Flush()
	}
	z.Close()
	for cut := 20; cut < packed.Len(); cut++ {
		r, err := gzip.NewReader(bytes.NewReader(packed.Bytes()[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		commits, err := collect(r)
		if err == nil || !strings.Contains(err.Error(), "cut off here") || !strings.HasPrefix(err.Error(), "line ") {
			t.Fatalf("cut at %d: error %v", cut, err)
		}
		for _, c := range commits {
			if len(c.Changes) != 1 || c.Changes[0] != whole {
				t.Fatalf("cut at %d: commit %+v", cut, c)
			}
		}
	}
}

func TestCommitsReadError(t *testing.T) {
	broken := errors.New("broken disk")
	r := io.MultiReader(strings.NewReader("commit "+hashA+" 1 a\n\n1\t"), iotest.ErrReader(broken))
	commits, err := collect(r)
	if !errors.Is(err, broken) || len(commits) != 0 {
		t.Errorf("got %v, %v", commits, err)
	}
}

func TestCommitsStopEarly(t *testing.T) {
	log := strings.Repeat("commit "+hashA+" 1 a\n", 3)
	n := 0
	for range Commits(strings.NewReader(log)) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d commits", n)
	}
}
