package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// sealed is an operation that shows whether it was changed, and whose it is.
type sealed struct {
	Document string
	Seq      int64
	Sum      uint32
}

func seal(document string, seq int64) sealed {
	return sealed{document, seq, crc32.ChecksumIEEE(fmt.Append(nil, document, seq))}
}

// sealedState is a state that shows the same of itself.
type sealedState struct {
	Text string
	Sum  uint32
}

func (s sealedState) with(text string) sealedState {
	s.Text += text
	return sealedState{s.Text, crc32.ChecksumIEEE([]byte(s.Text))}
}

func foldSealed(s sealedState, op materializer.Operation[sealed]) (sealedState, error) {
	if s.Text != "" && s != (sealedState{}).with(s.Text) {
		return s, materializer.Permanent(errors.New("the view was changed"))
	}
	if op.Body != seal(op.Body.Document, op.Seq) || op.Body.Document == "poison" {
		return s, materializer.Permanent(errors.New("the operation was changed"))
	}
	return s.with(fmt.Sprintf("%s %d. ", op.Body.Document, op.Seq)), nil
}

const sealedOperations, discardedSeq = 6, 5

// expectedSealed is the state that a document must have in the end.
func expectedSealed(document string) (s sealedState) {
	for seq := range int64(sealedOperations) {
		if document == "d5" && seq+1 == discardedSeq {
			continue
		}
		s = s.with(fmt.Sprintf("%s %d. ", document, seq+1))
	}
	return s
}

func sealedIDs() (ids []string) {
	for i := range documents {
		ids = append(ids, fmt.Sprint("d", i))
	}
	return ids
}

func openSealed(path string) (*sqlite.Store, *materializer.Materializer, *materializer.Collection[sealedState, sealed], error) {
	st, err := sqlite.Open(path, &sqlite.Options{Readers: 1})
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := materializer.New(st, materializer.Config{Workers: 2})
	if err != nil {
		return nil, nil, nil, errors.Join(err, st.Close())
	}
	c, err := materializer.Register(m, materializer.Spec[sealedState, sealed]{
		Name: "sealed", Version: 1, Retry: materializer.Retry{Attempts: 2, First: time.Millisecond}, Fold: foldSealed,
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, st.Close())
	}
	return st, m, c, nil
}

// sealedFile returns a file with rows of all kinds: half of its documents are
// folded, the others have operations that no view has, one is parked, and one
// operation is discarded.
func sealedFile(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "app.db")
	synctest.Test(t, func(t *testing.T) {
		st, m, c, err := openSealed(path)
		if err != nil {
			t.Fatal(err)
		}
		add := func(document string, from, to int64) {
			for seq := from; seq <= to; seq++ {
				op := materializer.NewOperation[sealed]{ID: fmt.Sprintf("id of %s.%d", document, seq), Body: seal(document, seq)}
				if _, err := m.Append(t.Context(), c.ChangeWith(document, op)); err != nil {
					t.Fatal(err)
				}
			}
		}
		ids := sealedIDs()
		for _, id := range ids[:len(ids)-1] {
			add(id, 1, 3)
		}
		add("poison", 1, 2)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		if err := m.Drain(within(t)); !errors.Is(err, materializer.ErrParked) {
			t.Fatalf("Drain: %v", err)
		}
		for _, id := range ids[:4] {
			add(id, 4, sealedOperations)
		}
		if err := c.Drain(within(t), ids...); err != nil {
			t.Fatal(err)
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for _, id := range ids[4:7] {
			add(id, 4, sealedOperations)
		}
		add(ids[7], 1, sealedOperations)
		if err := c.Discard(t.Context(), "d5", discardedSeq, "somebody", "it is discarded on purpose"); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil { // which empties the log into the file
			t.Fatal(err)
		}
	})
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// damaged is what became of a damaged file.
type damaged struct {
	told  []string // who said that something is wrong
	wrong []string // documents that are not as they should be
}

// use opens a file and does all that can be done with it.
func use(t *testing.T, root string, file []byte) (d damaged) {
	folder, err := os.MkdirTemp(root, "damaged")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "app.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	tell := func(who string, err error) {
		if err != nil {
			d.told = append(d.told, fmt.Sprint(who, ": ", err))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		st, m, c, err := openSealed(path)
		if err != nil {
			tell("open", err)
			return
		}
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		defer stop()
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		tell("Drain", c.Drain(ctx, sealedIDs()...))
		reading, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for _, id := range sealedIDs() {
			v, err := c.Get(reading, id)
			tell("Get", err)
			if err != nil || v.State != expectedSealed(id) || v.Applied != sealedOperations {
				d.wrong = append(d.wrong, id)
			}
		}
		v, err := c.Verify(reading, materializer.VerifyOptions{})
		tell("Verify", err)
		for _, difference := range v.Differences {
			if difference.ID != "poison" {
				tell("Verify", fmt.Errorf("%+v", difference))
			}
		}
		_, err = m.Health(reading)
		tell("Health", err)
		stop()
		tell("Run", <-done)
		tell("Close", st.Close())
	})
	tell("SQLite", intact(path))
	return d
}

func TestSealedFileIsSound(t *testing.T) {
	if d := use(t, memoryFolder(t), sealedFile(t)); d.told != nil || d.wrong != nil {
		t.Errorf("the file that the tests damage: %v, wrong %v", d.told, d.wrong)
	}
}

// A changed bit in a row of each kind stops none of the documents that it is not
// about.
func TestFlippedBitInEachKindOfRow(t *testing.T) {
	file, root := sealedFile(t), memoryFolder(t)
	for _, test := range []struct {
		row, text string
		at        int  // which byte of it
		spoils    bool // whether d4 can be spoilt by it
	}{
		{"an operation", `"Document":"d4","Seq":5`, 12, true},
		{"an operation that breaks its encoding", `"Document":"d4","Seq":5`, 11, true},
		{"an id of an operation", "id of d4.5", 0, false},
		{"a view", `"Text":"d4 1. d4 2. d4 3. "`, 10, true},
		{"a view that breaks its encoding", `"Text":"d4 1. d4 2. d4 3. "`, 7, true},
		{"a failure", "the operation was changed", 4, false},
		{"a record of a discard", "it is discarded on purpose", 6, false},
	} {
		t.Run(test.row, func(t *testing.T) {
			at := bytes.Index(file, []byte(test.text))
			if at < 0 {
				t.Fatal("there is no such row")
			}
			changed := slices.Clone(file)
			changed[at+test.at] ^= 1 << 2
			d := use(t, root, changed)
			for _, id := range d.wrong {
				if id != "d4" || !test.spoils {
					t.Errorf("%s is wrong", id)
				}
			}
			if test.spoils && (len(d.wrong) == 0 || len(d.told) == 0) {
				t.Errorf("wrong %v, told %v", d.wrong, d.told)
			}
			t.Log(strings.Join(d.told, "\n"))
		})
	}
}

// Whatever bit of the file changes, and whatever becomes of one of its pages,
// nothing hangs or panics, and nothing is wrong without somebody saying so: an
// error, a parked document, Verify, or SQLite's own check.
func TestDamageIsNotSilent(t *testing.T) {
	file, root := sealedFile(t), memoryFolder(t)
	const page = 4096
	var bit, spoilt, unopened int
	try := func(name string, change func(b []byte)) {
		if only := os.Getenv(envPoint); only != "" && only != name {
			return
		}
		changed := slices.Clone(file)
		change(changed)
		d := use(t, root, changed)
		if len(d.wrong) > 0 && len(d.told) == 0 {
			t.Errorf("%s=%s go test -run '^%s$' repeats this: %v are wrong, and nobody says so", envPoint, name, t.Name(), d.wrong)
		}
		if len(d.told) > 0 && strings.HasPrefix(d.told[0], "open") {
			unopened++
		}
		if len(d.wrong) > 0 {
			spoilt++
		}
	}
	chance := rand.New(rand.NewPCG(seedOf(t), 0))
	flips := 1000
	if n, err := strconv.Atoi(os.Getenv("REFOLD_FLIPS")); err == nil {
		flips = n
	} else if brief() {
		flips = 20
	}
	for ; bit < flips; bit++ {
		at := chance.IntN(8 * len(file))
		if only, ok := strings.CutPrefix(os.Getenv(envPoint), "bit-"); ok {
			at, _ = strconv.Atoi(only)
			bit = flips
		}
		try(fmt.Sprint("bit-", at), func(b []byte) { b[at/8] ^= 1 << (at % 8) })
	}
	for p := range len(file) / page {
		try(fmt.Sprint("zeros-", p), func(b []byte) { clear(b[p*page:][:page]) })
		try(fmt.Sprint("noise-", p), func(b []byte) {
			noise := rand.New(rand.NewPCG(1, uint64(p)))
			for i := range page {
				b[p*page+i] = byte(noise.Uint32())
			}
		})
		try(fmt.Sprint("other-", p), func(b []byte) { copy(b[p*page:][:page], b[(p+1)*page%len(b):][:page]) })
		if p > 0 {
			try(fmt.Sprint("cut-", p), func(b []byte) { clear(b[p*page:]) })
		}
	}
	t.Logf("%d bits, %d pages, in %d cases something is spoilt, in %d the file is refused", bit, len(file)/page, spoilt, unopened)
}
