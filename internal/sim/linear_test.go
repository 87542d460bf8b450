package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// A history is recorded from goroutines that run freely, on the clock of the
// machine: what is checked is that each call could have happened at one moment
// between its beginning and its end, whatever was in doubt in between.

// asked and answered are a call of a history.
type asked struct {
	doc    string
	id     string // appended; empty for a read
	expect int    // the head; -1 is any
	least  int    // of a read
}

type answered struct {
	seq      int  // of the operation
	conflict bool // then head is the actual one
	head     int
	words    string // of a read: what the view contains
}

// linear says what one document answers: its state is its ids, each with a comma
// behind it.
var linear = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var parts [][]porcupine.Operation
		places := make(map[string]int)
		for _, op := range history {
			doc := op.Input.(asked).doc
			if _, ok := places[doc]; !ok {
				places[doc] = len(parts)
				parts = append(parts, nil)
			}
			parts[places[doc]] = append(parts[places[doc]], op)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(s, input, output any) (bool, any) {
		ids, in, out := s.(string), input.(asked), output.(answered)
		head := strings.Count(ids, ",")
		if in.id == "" {
			applied := strings.Count(out.words, ",")
			return out.head == head && applied >= in.least && strings.HasPrefix(ids, out.words), ids
		}
		if at := strings.Index(","+ids, ","+in.id+","); at >= 0 {
			return !out.conflict && out.seq == strings.Count(ids[:at], ",")+1, ids
		}
		if in.expect >= 0 && in.expect != head {
			return out.conflict && out.head == head, ids
		}
		return !out.conflict && out.seq == head+1, ids + in.id + ","
	},
}

// doubtful is a store of which appends are in doubt now and then.
type doubtful struct{ store.Backend }

func (s doubtful) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	switch rand.IntN(8) {
	case 0:
		return store.Appended{}, store.ErrInDoubt
	case 1:
		if _, err := s.Backend.Append(ctx, appends); err != nil {
			return store.Appended{}, err
		}
		return store.Appended{}, store.ErrInDoubt
	}
	return s.Backend.Append(ctx, appends)
}

func TestHistoriesAreLinearizable(t *testing.T) {
	for backend, n := range map[string]int{"memory": 20, "sqlite": 4} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			for range n {
				history := record(t, backend)
				if !porcupine.CheckOperations(linear, history) {
					t.Fatalf("no order of these calls explains their answers: %+v", history)
				}
			}
		})
	}
}

// A checker that accepts everything would show nothing.
func TestWrongHistoriesAreRefused(t *testing.T) {
	history := record(t, "memory")
	for name, spoil := range map[string]func(op *porcupine.Operation) bool{
		"another seq": func(op *porcupine.Operation) bool {
			out := op.Output.(answered)
			out.seq++
			op.Output = out
			return out.seq > 1
		},
		"a head that was never there": func(op *porcupine.Operation) bool {
			out := op.Output.(answered)
			out.head += 1000
			op.Output = out
			return op.Input.(asked).id == ""
		},
		"less than what was asked for": func(op *porcupine.Operation) bool {
			in, out := op.Input.(asked), op.Output.(answered)
			out.words = ""
			op.Output = out
			return in.id == "" && in.least > 0
		},
	} {
		spoiled := false
		for i := range history {
			if op := history[i]; spoil(&op) {
				wrong := append([]porcupine.Operation(nil), history...)
				wrong[i] = op
				spoiled = true
				if porcupine.CheckOperations(linear, wrong) {
					t.Errorf("%s is accepted", name)
				}
				break
			}
		}
		if !spoiled {
			t.Errorf("%s: the history has no such call", name)
		}
	}
}

// record runs some clients at once, and returns what they asked and were answered.
func record(t *testing.T, backend string) []porcupine.Operation {
	t.Helper()
	var st store.Backend = memory.New(nil)
	if backend == "sqlite" {
		var err error
		if st, err = sqlite.Open(filepath.Join(t.TempDir(), "linear.db"), nil); err != nil {
			t.Fatal(err)
		}
	}
	defer st.Close()
	m, err := materializer.New(doubtful{st}, materializer.Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	type words struct{ Text string }
	docs, err := materializer.Register(m, materializer.Spec[words, string]{
		Name: collection, Version: 1,
		Fold: func(w words, op materializer.Operation[string]) (words, error) {
			return words{w.Text + op.ID + ","}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()

	var clock atomic.Int64
	var mu sync.Mutex
	var history []porcupine.Operation
	heads := make(map[string]int) // what clients know
	tokens := make(map[string]materializer.Token)
	seqs := make(map[string]int)
	var all sync.WaitGroup
	for client := range 4 {
		all.Go(func() {
			for i := range 12 {
				in := asked{doc: fmt.Sprint("d", rand.IntN(2)), expect: -1}
				mu.Lock()
				token := tokens[in.doc]
				switch rand.IntN(4) {
				case 0:
					in.least = seqs[in.doc]
				case 1:
					in.id, in.expect = fmt.Sprintf("%d-%d", client, i), heads[in.doc]
				case 2: // an id that others may use as well
					in.id = fmt.Sprint("shared", rand.IntN(6))
				default:
					in.id = fmt.Sprintf("%d-%d", client, i)
				}
				mu.Unlock()
				call := clock.Add(1)
				var out answered
				var answer materializer.Token
				var err error
				if in.id == "" {
					v, err := docs.Get(ctx, in.doc, materializer.AtLeast(token))
					if err != nil && !errors.Is(err, materializer.ErrNotFound) {
						t.Error(err)
						return
					}
					out = answered{head: int(v.Head), words: v.State.Text}
				} else if out, answer, err = send(ctx, m, docs.ChangeWith(in.doc, materializer.NewOperation[string]{ID: in.id, Body: in.id}), in); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: clock.Add(1)})
				heads[in.doc] = max(heads[in.doc], out.head)
				if out.seq > seqs[in.doc] {
					seqs[in.doc], tokens[in.doc] = out.seq, answer
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return history
}

// send appends until it is not in doubt.
func send(ctx context.Context, m *materializer.Materializer, change materializer.Change, in asked) (answered, materializer.Token, error) {
	if in.expect >= 0 {
		change = change.ExpectHead(int64(in.expect))
	}
	for {
		appended, err := m.Append(ctx, change)
		if conflict, ok := errors.AsType[*materializer.ConflictError](err); ok {
			return answered{conflict: true, head: int(conflict.Actual)}, materializer.Token{}, nil
		}
		if errors.Is(err, materializer.ErrInDoubt) {
			continue
		}
		if err != nil {
			return answered{}, materializer.Token{}, err
		}
		d := appended.Documents[0]
		return answered{seq: int(d.Operations[0].Seq), head: int(d.Head)}, appended.Token, nil
	}
}
