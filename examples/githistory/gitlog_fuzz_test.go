package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// FuzzCommits reads logs. What is accepted is written down again and read as the
// same; what is not is an error that names its line and ends the reading.
func FuzzCommits(f *testing.F) {
	hash := strings.Repeat("0123456789", 4)
	for _, s := range []string{
		"", "\n", "commit", "commit \n", "no log\n",
		"commit " + hash + " 1700000000 a@example.org\n\n1\t2\ta.go\n-\t-\tb.png\n",
		"commit " + hash + "  \n0\t0\t\"a\\344\\tb\"\n",
		"commit " + hash + " 1 a b c\n\ncommit " + hash + " -7 \xff\n1\t1\ta\n",
		"commit " + hash + " 1 a\n1\t2\ta", // no end
		"commit " + hash + " 1 a\r\n1\t2\ta\r\n",
		"commit " + hash + " 99999999999999999999 a\n", "commit " + hash + " 1 a\n-1\t2\ta\n",
		"commit " + hash + " 1 a\n9007199254740993\t2\ta\n", "commit " + hash + " 1 a\n1\t2\t\"a\\\"\n", "1\t2\ta\n",
		"commit " + hash + " 1 a\n1\t2\t{a => b}/c\n", "commit " + hash + " 1 a\n" + "1\t2\t" + strings.Repeat("x", 70_000) + "\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		commits, err := readLog(t, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") || len(err.Error()) > 2048 {
				t.Errorf("the error is %.100q…, want one that names the line", err)
			}
			return
		}
		again, err := readLog(t, writeLog(commits))
		if err != nil || !reflect.DeepEqual(again, commits) {
			t.Errorf("%q was read as %+v, and then as %+v, %v", text, commits, again, err)
		}
	})
}

func readLog(t *testing.T, text string) (commits []Commit, failed error) {
	for c, err := range Commits(strings.NewReader(text)) {
		if failed != nil {
			t.Fatalf("%v, and then %+v, %v", failed, c, err)
		}
		if failed = err; err == nil {
			commits = append(commits, c)
		}
	}
	return commits, failed
}

// writeLog is what git would have written.
func writeLog(commits []Commit) string {
	var b strings.Builder
	for _, c := range commits {
		fmt.Fprintf(&b, "commit %s %d %s\n\n", c.Hash, c.Time, c.Author)
		for _, f := range c.Changes {
			if f.Binary {
				fmt.Fprintf(&b, "-\t-\t%s\n", quote(f.Path))
			} else {
				fmt.Fprintf(&b, "%d\t%d\t%s\n", f.Added, f.Deleted, quote(f.Path))
			}
		}
	}
	return b.String()
}
