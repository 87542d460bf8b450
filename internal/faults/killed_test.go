package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

// childHold appends, begins to fold, and gets no further.
func childHold(path string) error {
	_, m, chains, err := open(path, make(chan struct{}))
	if err != nil {
		return err
	}
	go m.Run(context.Background())
	for i := range 5 * documents {
		op := ack{fmt.Sprint("d", i%documents), fmt.Sprint(i)}
		if _, err := m.Append(context.Background(), chains.ChangeWith(op.document, link(op, "x"))); err != nil {
			return err
		}
		fmt.Println("ack", op.document, op.id)
	}
	for m.Stats().Running == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// asynq #286: what a killed process had in hand is done by the next one at once,
// and not when some time is over.
func TestAsynq286_RecoveryAtOnceAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	c := startChild(t, "hold", path)
	var acked []ack
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "held\n" {
			break
		}
		var op ack
		if _, err := fmt.Sscan(line, new(string), &op.document, &op.id); err != nil {
			t.Fatal(err)
		}
		acked = append(acked, op)
	}
	st, m, chains, err := open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := m.Run(t.Context()); !errors.Is(err, materializer.ErrClaimed) {
		t.Fatalf("beside the process that lives: %v, want ErrClaimed", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	start := time.Now()
	finish(t, m)
	if took := time.Since(start); took > 25*time.Second {
		t.Errorf("recovered after %v", took)
	} else {
		t.Logf("recovered %d documents in %v", documents, took)
	}
	checkStored(t, chains, acked, nil)
}

// nats-server #7549: a byte of an operation that has changed in the file parks
// its document with a clear error; all others go on, and nothing else is lost.
func TestNats7549_FlippedByteInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	st, _, chains, err := open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range documents {
		for _, word := range []string{"before", "middle", "after"} {
			if _, err := chains.Append(t.Context(), fmt.Sprint("d", i), text{fmt.Sprint(word, " of ", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Close(); err != nil { // which empties the log into the file
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(file, []byte(`"middle of 3"}`))
	if at < 0 || bytes.Count(file, []byte(`"middle of 3"}`)) != 1 {
		t.Fatal("the operation is not in the file, or more than once")
	}
	file[at] ^= 1 << 3 // the quote
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}

	st, m, chains, err := open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	if err := m.Drain(within(t)); !errors.Is(err, materializer.ErrParked) {
		t.Errorf("Drain: %v, want ErrParked", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for v, err := range chains.All(t.Context()) {
		want := int64(3)
		if v.ID == "d3" {
			want = 1
		}
		if err != nil || v.Applied != want || v.Parked != (v.ID == "d3") || v.Head != 3 {
			t.Errorf("%s: %d of %d, parked %v, %v", v.ID, v.Applied, v.Head, v.Parked, err)
		}
	}
	for p, err := range chains.Parked(t.Context()) {
		if err != nil || p.Seq != 2 || p.Error == "" {
			t.Errorf("parked: %+v, %v", p, err)
		}
		t.Logf("%s: %s", p.ID, p.Error)
	}
}
