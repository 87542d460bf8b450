package main

import (
	"maps"
	"math"
	"time"

	"github.com/refold-go/refold/materializer"
)

// Change is the operation: what one commit did to one file. Its id is the
// commit, its time the author's.
type Change struct {
	Author  string `json:"author"`
	Added   int64  `json:"added,omitempty"`
	Deleted int64  `json:"deleted,omitempty"`
	Binary  bool   `json:"binary,omitempty"`
}

// File is the view: what all commits together did to one file.
type File struct {
	Changes int64            `json:"changes"`
	Added   int64            `json:"added"`
	Deleted int64            `json:"deleted"`
	Authors map[string]int64 `json:"authors"` // how many changes each made
	First   int64            `json:"first"`   // lowest time, Unix seconds
	Last    int64            `json:"last"`    // highest time
	Largest int64            `json:"largest"` // highest added + deleted of one change
}

// fold adds a change to a file. All it does is commutative, so the view is the
// same in whatever order concurrent writers append.
func fold(f File, op materializer.Operation[Change]) (File, error) {
	at, c := op.Time.Unix(), op.Body
	if f.Changes == 0 {
		f = File{Authors: make(map[string]int64), First: at, Last: at}
	}
	f.Changes++
	f.Added += c.Added
	f.Deleted += c.Deleted
	f.Authors[c.Author]++
	f.First = min(f.First, at)
	f.Last = max(f.Last, at)
	f.Largest = max(f.Largest, c.Added+c.Deleted)
	return f, nil
}

func (f File) equal(g File) bool {
	return f.Changes == g.Changes && f.Added == g.Added && f.Deleted == g.Deleted &&
		f.First == g.First && f.Last == g.Last && f.Largest == g.Largest && maps.Equal(f.Authors, g.Authors)
}

// operationTime is the time of an operation. A store keeps nanoseconds in 64
// bits: years from 1678 to 2261. Git allows more, and clocks that are wrong by
// more are moved to the nearest of these.
func operationTime(unix int64) time.Time {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Unix(min(max(unix, -most), most), 0).UTC()
}
