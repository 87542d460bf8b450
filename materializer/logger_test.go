package materializer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
	"github.com/rs/zerolog"
)

// logged is what was logged.
type logged struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// with returns the lines with a message.
func (l *logged) with(t *testing.T, message string) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range bytes.Split(bytes.TrimSpace(l.lines.Bytes()), []byte("\n")) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if fields["message"] == message {
			lines = append(lines, fields)
		}
	}
	return lines
}

func wantLine(t *testing.T, lines []map[string]any, want map[string]any) {
	t.Helper()
	if len(lines) != 1 {
		t.Errorf("%d lines with %q, want 1: %v", len(lines), want["message"], lines)
		return
	}
	for field, value := range want {
		if got := lines[0][field]; got != value {
			t.Errorf("%q: field %s is %v, want %v", want["message"], field, got, value)
		}
	}
}

// A requeue is one line at debug, a failure one at warn, parking one at error.
func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := newHold(), &logged{}
		s := specOf(h.fold)
		s.Retry.Attempts = 2
		r := newRig(t, memory.New(nil), materializer.Config{Logger: zerolog.New(log), Workers: 1}, s).start()
		settle() // or what is appended now is both read and heard of
		r.append("a", "hold")
		<-h.reached
		for range 3 {
			r.append("a", "x")
		}
		settle()
		close(h.goOn)
		settle()
		wantLine(t, log.with(t, "requeued"), map[string]any{
			"level": "debug", "collection": "texts", "document": "a", "signals": 3.0, "message": "requeued",
		})
		err := r.m.Wait(t.Context(), r.append("b", "x", "!fail"))
		wantErr(t, err, materializer.ErrParked)
		settle() // it is logged after it is stored
		wantLine(t, log.with(t, "fold failed"), map[string]any{
			"level": "warn", "collection": "texts", "document": "b", "seq": 2.0, "attempt": 1.0, "error": "planted failure", "message": "fold failed",
		})
		const parked = "parked: its fold failed for good"
		wantLine(t, log.with(t, parked), map[string]any{
			"level": "error", "collection": "texts", "document": "b", "seq": 2.0, "attempt": 2.0, "error": "planted failure", "message": parked,
		})
	})
}

// At info a requeue costs and logs nothing.
func TestLoggerAtInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := newHold(), &logged{}
		r := newRig(t, memory.New(nil), materializer.Config{Logger: zerolog.New(log).Level(zerolog.InfoLevel)}, specOf(h.fold)).start()
		r.append("a", "hold")
		<-h.reached
		r.append("a", "x")
		settle()
		close(h.goOn)
		settle()
		r.halt()
		if got := log.lines.String(); got != "" {
			t.Errorf("logged %q, want nothing", got)
		}
	})
}

// Nothing is written where no logger is given, whatever happens.
func TestSilentByDefault(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = out, out
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	synctest.Test(t, func(t *testing.T) {
		h, st := newHold(), newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Grace: -1}, specOf(h.fold)).start()
		st.on(loaded, func() error { return errPlanted })
		r.m.Wait(t.Context(), r.append("a", "!panic"))
		r.append("b", "hold")
		<-h.reached
		r.append("b", "x")
		r.halt()
		close(h.goOn)
	})
	if text, err := os.ReadFile(out.Name()); err != nil || len(text) > 0 {
		t.Errorf("written %q, %v, want nothing", text, err)
	}
}
