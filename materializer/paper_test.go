package materializer_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

// keystroke replaces Deleted characters at Position.
type keystroke struct {
	Position int    `json:"p"`
	Deleted  int    `json:"d,omitempty"`
	Inserted string `json:"i,omitempty"`
}

// sheet is a text with a gap where it was changed last, so that a keystroke moves
// what is between it and the last one, and not all of the rest.
type sheet struct{ before, after []rune } // after is from its end to the gap

func (s *sheet) String() string {
	rest := slices.Clone(s.after)
	slices.Reverse(rest)
	return string(s.before) + string(rest)
}

func (s *sheet) press(k keystroke) error {
	if k.Position < 0 || k.Deleted < 0 || k.Position+k.Deleted > len(s.before)+len(s.after) {
		return errors.New("a keystroke outside of the text")
	}
	for len(s.before) > k.Position {
		last := len(s.before) - 1
		s.before, s.after = s.before[:last], append(s.after, s.before[last])
	}
	for len(s.before) < k.Position {
		last := len(s.after) - 1
		s.before, s.after = append(s.before, s.after[last]), s.after[:last]
	}
	s.after = s.after[:len(s.after)-k.Deleted]
	s.before = append(s.before, []rune(k.Inserted)...)
	return nil
}

// sheetCodec stores a text as it is.
type sheetCodec struct{}

func (sheetCodec) Encode(s *sheet) ([]byte, error) { return []byte(s.String()), nil }

func (sheetCodec) Decode(view []byte) (*sheet, error) {
	return &sheet{before: []rune(string(view))}, nil
}

func foldSheet(s *sheet, op materializer.Operation[keystroke]) (*sheet, error) {
	if s == nil {
		s = &sheet{}
	}
	return s, s.press(op.Body)
}

// readPaper reads a trace of the editing of one text, and what must come out. It
// skips the test if the data is not there.
func readPaper(t *testing.T) (keys []keystroke, end string) {
	t.Helper()
	const name = "automerge-paper.json.gz"
	folder := os.Getenv("REFOLD_TEST_DATA")
	if folder == "" {
		t.Skip("REFOLD_TEST_DATA does not name the folder with " + name)
	}
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		StartContent, EndContent string
		Txns                     []struct{ Patches [][3]any }
	}
	if err := json.NewDecoder(z).Decode(&trace); err != nil {
		t.Fatal(err)
	}
	if trace.StartContent != "" {
		keys = append(keys, keystroke{Inserted: trace.StartContent})
	}
	for _, txn := range trace.Txns {
		for _, p := range txn.Patches {
			keys = append(keys, keystroke{int(p[0].(float64)), int(p[1].(float64)), p[2].(string)})
		}
	}
	return keys, trace.EndContent
}

// A paper as it was written, 259,778 keystrokes, appended singly and in bursts by
// one writer while the pool folds: the text at the end is the paper, and whenever
// the writer asks it is what has been written so far.
func TestPaperOf259778Keystrokes(t *testing.T) {
	keys, end := readPaper(t)
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	st := openSQLite(t)
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	papers, err := materializer.Register(m, materializer.Spec[*sheet, keystroke]{
		Name: "papers", Version: 1, Views: sheetCodec{}, Fold: foldSheet,
	})
	if err != nil {
		t.Fatal(err)
	}
	run := (&rig{m: m}).start()
	t.Cleanup(run.haltCleanly(t))
	var written sheet
	var token materializer.Token
	random := rand.New(rand.NewPCG(1, 2))
	start, singly, appends := time.Now(), 0, 0
	for i := 0; i < len(keys); appends++ {
		n := 1
		if i%65536 >= 1024 && len(keys)-i > 1024 { // it is written singly now and then, and at the end
			n = 1 + random.IntN(512)
		}
		n = min(n, len(keys)-i)
		if n == 1 {
			singly++
		}
		if token, err = papers.Append(t.Context(), "paper", keys[i:i+n]...); err != nil {
			t.Fatal(err)
		}
		for _, k := range keys[i : i+n] {
			if err := written.press(k); err != nil {
				t.Fatal(err)
			}
		}
		if i += n; appends%100 == 0 {
			v, err := papers.Get(within(t, time.Minute), "paper", materializer.AtLeast(token))
			if err != nil || v.Applied != int64(i) || v.State.String() != written.String() {
				t.Fatalf("the view at %d of %d, %v, is not what was written until %d", v.Applied, v.Head, err, i)
			}
		}
	}
	appended := time.Since(start)
	v, err := papers.Get(within(t, time.Minute), "paper", materializer.AtLeast(token))
	if err != nil || v.Applied != int64(len(keys)) || v.State.String() != end {
		t.Errorf("the view at %d of %d, %v, is not the paper", v.Applied, len(keys), err)
	}
	took := time.Since(start)
	if err := run.halt(); err != nil { // runs are counted after they are stored
		t.Error(err)
	}
	stats := m.Stats()
	t.Logf("%d keystrokes in %d appends, %d of them single: appended in %v, in the view after %v, in %d runs", len(keys), appends, singly, appended, took, stats.Runs)
	if stats.Operations != int64(len(keys)) || stats.Failed != 0 {
		t.Errorf("%d operations folded, %d failures, want %d and none", stats.Operations, stats.Failed, len(keys))
	}
	got, err := papers.Verify(t.Context(), materializer.VerifyOptions{})
	if err != nil || got.Different != 0 || got.Operations != int64(len(keys)) {
		t.Errorf("Verify: %+v, %v", got, err)
	}
}
