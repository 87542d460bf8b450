package store

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits that hold for every backend.
const (
	MaxDocumentID  = 512      // bytes of a document id
	MaxCollection  = 63       // bytes of a collection name
	MaxOperationID = 255      // bytes of an operation id
	MaxKind        = 128      // bytes of a kind
	MaxMeta        = 64 << 10 // bytes of a meta
	MaxBody        = 16 << 20 // bytes of a body; a backend's options may say less
	MaxPerAppend   = 65536    // operations of one append, over all its documents
	MaxFailureText = 64 << 10 // bytes of a failure's error and of its stack
	MaxDiscardText = 4 << 10  // bytes of who discarded an operation, and of why
)

// MaxDelay is the longest time that a failure keeps its document from running; a
// longer delay is cut to it.
const MaxDelay = 24 * time.Hour

// WaitLeft is for backends: how long a document has to wait that must not run before
// a moment, from now on. A clock that was set back must not make it wait for as long
// as it was set back: what is an hour more than [MaxDelay] away was not meant, and
// is over. The hour is for clocks that are set a little.
func WaitLeft(before, now time.Time) time.Duration {
	if left := before.Sub(now); left > 0 && left <= MaxDelay+time.Hour {
		return min(left, MaxDelay)
	}
	return 0
}

// The range of times that fit nanoseconds in 64 bits.
var (
	minTime = time.Unix(0, math.MinInt64).UTC()
	maxTime = time.Unix(0, math.MaxInt64).UTC()
)

// CheckCollection returns an [InvalidError] unless name is a lower-case letter
// followed by at most 62 lower-case letters, digits, underscores and hyphens.
func CheckCollection(name string) error {
	ok := len(name) >= 1 && len(name) <= MaxCollection && name[0] >= 'a' && name[0] <= 'z'
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if !ok {
		return &InvalidError{Field: "collection name", Got: quoted(name), Want: "[a-z][a-z0-9_-]{0,62}"}
	}
	return nil
}

// CheckKey returns an [InvalidError] unless the collection name is as
// [CheckCollection] says and the id is 1 to 512 bytes of valid UTF-8 without
// NUL.
func CheckKey(k Key) error {
	if err := CheckCollection(k.Collection); err != nil {
		return err
	}
	return checkText("document id", k.ID, 1, MaxDocumentID)
}

// CheckKind returns an [InvalidError] unless the kind is at most 128 bytes of valid
// UTF-8 without NUL.
func CheckKind(kind string) error { return checkText("kind", kind, 0, MaxKind) }

// CheckVersion returns an [InvalidError] unless the version is 1 to 2,147,483,647.
func CheckVersion(version int) error {
	if version < 1 || version > math.MaxInt32 {
		return &InvalidError{Field: "version", Got: fmt.Sprint(version), Want: fmt.Sprintf("1 to %d", math.MaxInt32)}
	}
	return nil
}

// CheckAppends checks all that can be checked of an append without looking at
// the store: limits, that each document appears once, and that there is
// something to append. maxBody is the backend's limit; 0 means [MaxBody].
// Errors: [InvalidError], for the first rule broken.
func CheckAppends(appends []Append, maxBody int) error {
	if maxBody <= 0 || maxBody > MaxBody {
		maxBody = MaxBody
	}
	if len(appends) == 0 {
		return &InvalidError{Field: "append", Got: "no document", Want: "at least one"}
	}
	total := 0
	for i := range appends {
		a := &appends[i]
		if err := CheckKey(a.Key); err != nil {
			return err
		}
		if a.Head != nil && *a.Head < 0 {
			return &InvalidError{Field: "expected head of " + a.Key.String(), Got: fmt.Sprint(*a.Head), Want: "0 or more"}
		}
		if len(a.Entries) == 0 {
			return &InvalidError{Field: "append to " + a.Key.String(), Got: "no operation", Want: "at least one"}
		}
		if total += len(a.Entries); total > MaxPerAppend {
			return &InvalidError{Field: "append", Got: "more operations", Want: fmt.Sprintf("at most %d", MaxPerAppend)}
		}
		for j := range a.Entries {
			if err := checkEntry(&a.Entries[j], maxBody); err != nil {
				err.Field = fmt.Sprintf("operation %d for %s: %s", j+1, a.Key, err.Field)
				return err
			}
		}
	}
	return checkDistinct(len(appends), "append", func(i int) Key { return appends[i].Key })
}

// CheckCommits checks what can be checked of a commit without looking at the
// store. Errors: [InvalidError].
func CheckCommits(commits []Commit) error {
	versions, bare := false, false
	for i := range commits {
		c := &commits[i]
		name, err := ParseCollection(c.Key.Collection)
		if err != nil {
			return err
		}
		if err := checkText("document id", c.Key.ID, 1, MaxDocumentID); err != nil {
			return err
		}
		versions, bare = versions || name.Version > 0, bare || name.Version == 0
		if c.Loaded < 0 || c.Applied < c.Loaded {
			return &InvalidError{
				Field: "commit of " + c.Key.String(),
				Got:   fmt.Sprintf("applied %d over %d", c.Applied, c.Loaded),
				Want:  "applied at or above what was loaded",
			}
		}
		if c.Keep != nil {
			if err := c.Keep.check(); err != nil {
				return err
			}
		}
		if f := c.Failure; f != nil && f.Seq <= c.Applied {
			return &InvalidError{
				Field: "commit of " + c.Key.String(),
				Got:   fmt.Sprintf("a failure at seq %d with applied %d", f.Seq, c.Applied),
				Want:  "a failure behind what is applied",
			}
		}
	}
	if err := checkDistinct(len(commits), "commit", func(i int) Key { return commits[i].Key }); err != nil || !versions || !bare {
		return err
	}
	return checkNames(commits)
}

// checkNames returns an error if a document is there with a version and without: that
// may be the same generation.
func checkNames(commits []Commit) error {
	seen := make(map[Key]struct{}, len(commits))
	for i := range commits {
		seen[commits[i].Key] = struct{}{}
	}
	for i := range commits {
		k := commits[i].Key
		name, err := ParseCollection(k.Collection)
		if err != nil || name.Version == 0 {
			continue
		}
		name.Version = 0
		served := Key{Collection: name.String(), ID: k.ID}
		if _, twice := seen[served]; twice {
			return &InvalidError{Field: "commit", Got: k.String() + " and " + served.String(), Want: "each document once"}
		}
	}
	return nil
}

// CheckDiscard returns an [InvalidError] unless By and Why are 1 to 4,096 bytes of
// valid UTF-8 without NUL.
func CheckDiscard(d *Discard) error {
	if err := checkText("who discards", d.By, 1, MaxDiscardText); err != nil {
		return err
	}
	return checkText("reason to discard", d.Why, 1, MaxDiscardText)
}

func checkDistinct(n int, what string, key func(int) Key) error {
	if n < 2 {
		return nil
	}
	seen := make(map[Key]struct{}, n)
	for i := range n {
		k := key(i)
		if _, twice := seen[k]; twice {
			return &InvalidError{Field: what, Got: k.String() + " twice", Want: "each document once"}
		}
		seen[k] = struct{}{}
	}
	return nil
}

func checkEntry(e *Entry, maxBody int) *InvalidError {
	if e.ID != "" {
		if err := checkText("id", e.ID, 1, MaxOperationID); err != nil {
			return err.(*InvalidError)
		}
	}
	if err := checkText("kind", e.Kind, 0, MaxKind); err != nil {
		return err.(*InvalidError)
	}
	if len(e.Meta) > MaxMeta {
		return &InvalidError{Field: "meta", Got: fmt.Sprintf("%d bytes", len(e.Meta)), Want: fmt.Sprintf("at most %d", MaxMeta)}
	}
	if len(e.Body) > maxBody {
		return &InvalidError{Field: "body", Got: fmt.Sprintf("%d bytes", len(e.Body)), Want: fmt.Sprintf("at most %d", maxBody)}
	}
	if !e.Time.IsZero() && (e.Time.Before(minTime) || e.Time.After(maxTime)) {
		return &InvalidError{Field: "time", Got: e.Time.Format(time.RFC3339), Want: "a time from 1677-09-22 to 2262-04-11"}
	}
	return nil
}

func checkText(field, s string, least, most int) error {
	switch {
	case len(s) < least || len(s) > most:
		return &InvalidError{Field: field, Got: fmt.Sprintf("%d bytes", len(s)), Want: fmt.Sprintf("%d to %d bytes", least, most)}
	case !utf8.ValidString(s):
		return &InvalidError{Field: field, Got: quoted(s), Want: "valid UTF-8"}
	case strings.IndexByte(s, 0) >= 0:
		return &InvalidError{Field: field, Got: quoted(s), Want: "no NUL byte"}
	}
	return nil
}

func quoted(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
