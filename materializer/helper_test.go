package materializer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// word is the operation of the tests: it appends itself to the text.
type word struct{ Text string }

// text is their state: the words, and the seqs that it was folded from.
type text struct {
	Words []string
	Seqs  []int64
}

func (s text) String() string { return strings.Join(s.Words, " ") }

type (
	operation = materializer.Operation[word]
	foldFunc  = func(text, operation) (text, error)
)

var errPlanted = errors.New("planted failure")

// plain takes every word as it is.
func plain(s text, op operation) (text, error) {
	s.Words = append(s.Words, op.Body.Text)
	s.Seqs = append(s.Seqs, op.Seq)
	return s, nil
}

// fold is plain, but for words that start with a bang: they make it fail, after
// it has changed the state in place.
func fold(s text, op operation) (text, error) {
	if !strings.HasPrefix(op.Body.Text, "!") || op.Body.Text == "!codec" {
		return plain(s, op)
	}
	for i := range s.Words {
		s.Words[i] = "spoiled"
	}
	switch op.Body.Text {
	case "!fail":
		return s, errPlanted
	case "!permanent":
		return s, fmt.Errorf("wrapped: %w", materializer.Permanent(errPlanted))
	case "!panic":
		panic("planted panic")
	case "!goexit":
		runtime.Goexit()
	}
	return s, fmt.Errorf("no such word: %s", op.Body.Text)
}

type textSpec = materializer.Spec[text, word]

func spec() textSpec { return textSpec{Name: "texts", Version: 1, Fold: fold} }

func specOf(f foldFunc) textSpec {
	s := spec()
	s.Fold = f
	return s
}

// hold stops a fold at the word "hold" until told to go on.
type hold struct {
	reached chan string   // the document
	goOn    chan struct{} // one for each; closed for all
}

func newHold() *hold {
	return &hold{reached: make(chan string), goOn: make(chan struct{})}
}

func (h *hold) fold(s text, op operation) (text, error) {
	if op.Body.Text == "hold" {
		h.reached <- op.Document
		<-h.goOn
	}
	return fold(s, op)
}

// rig is a materializer over a store, with one collection.
type rig struct {
	t     testing.TB
	st    store.Backend
	mute  *muted // nil if st tells of others' appends by itself
	m     *materializer.Materializer
	texts *materializer.Collection[text, word]
	stop  context.CancelCauseFunc
	done  chan error
}

// newRig makes a rig that is checked at the end of the test.
func newRig(t testing.TB, st store.Backend, cfg materializer.Config, spec textSpec) *rig {
	t.Helper()
	r := newDamagedRig(t, st, cfg, spec)
	t.Cleanup(func() {
		r.halt()
		r.wantConsistent()
	})
	return r
}

// newDamagedRig makes a rig over a store that will not stand the check.
func newDamagedRig(t testing.TB, st store.Backend, cfg materializer.Config, spec textSpec) *rig {
	t.Helper()
	var mute *muted
	heard := st
	switch st.(type) {
	case *memory.Store, *tap:
		mute = &muted{Backend: st}
		heard = mute
	}
	m, err := materializer.New(heard, cfg)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := materializer.Register(m, spec)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, st: st, mute: mute, m: m, texts: texts}
}

// muted is a store of which a materializer can be kept from hearing.
type muted struct {
	store.Backend
	off atomic.Bool
}

func (s *muted) Listen(l store.Listener) (stop func()) {
	if dirty := l.Dirty; dirty != nil {
		l.Dirty = func(keys []store.Key) {
			if !s.off.Load() {
				dirty(keys)
			}
		}
	}
	return s.Backend.Listen(l)
}

// start runs the materializer until halt, or the end of the test.
func (r *rig) start() *rig {
	ctx, stop := context.WithCancelCause(context.Background())
	r.stop, r.done = stop, make(chan error, 1)
	go func() { r.done <- r.m.Run(ctx) }()
	return r
}

// runToTheEnd runs a materializer until the end of the test.
func runToTheEnd(t testing.TB, m *materializer.Materializer) {
	t.Cleanup((&rig{m: m}).start().haltCleanly(t))
}

func (r *rig) haltCleanly(t testing.TB) func() {
	return func() {
		if err := r.halt(); err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	}
}

// halt stops the materializer and returns what Run returned.
func (r *rig) halt() error {
	if r.stop == nil {
		return nil
	}
	r.stop(nil)
	r.stop = nil
	return <-r.done
}

func words(texts []string) []word {
	words := make([]word, len(texts))
	for i, s := range texts {
		words[i] = word{s}
	}
	return words
}

func (r *rig) append(id string, texts ...string) materializer.Token {
	r.t.Helper()
	token, err := r.texts.Append(context.Background(), id, words(texts)...)
	if err != nil {
		r.t.Fatalf("append to %s: %v", id, err)
	}
	return token
}

// appendUnannounced appends behind the back of the materializer.
func (r *rig) appendUnannounced(id string, texts ...string) materializer.Token {
	r.t.Helper()
	entries := make([]store.Entry, len(texts))
	for i, s := range texts {
		entries[i].Body, _ = json.Marshal(word{s})
	}
	if r.mute != nil {
		r.mute.off.Store(true)
		defer r.mute.off.Store(false)
	}
	return r.appendRaw(id, entries...)
}

func (r *rig) appendRaw(id string, entries ...store.Entry) materializer.Token {
	r.t.Helper()
	appended, err := untapped(r.st).Append(context.Background(), []store.Append{{Key: key(id), Entries: entries}})
	if err != nil {
		r.t.Fatalf("append to %s: %v", id, err)
	}
	return appended.Token
}

func key(id string) store.Key { return store.Key{Collection: "texts", ID: id} }

// ownKey is a document as runs call it.
func ownKey(id string) store.Key { return store.Key{Collection: "texts@1", ID: id} }

// load returns what the store has of a document.
func (r *rig) load(id string) store.Document {
	r.t.Helper()
	docs, err := untapped(r.st).Load(context.Background(), []store.Key{key(id)}, store.WithViews)
	if err != nil {
		r.t.Fatalf("load %s: %v", id, err)
	}
	return docs[0]
}

// state decodes a stored view.
func (r *rig) state(doc store.Document) (s text) {
	r.t.Helper()
	if doc.View != nil {
		if err := json.Unmarshal(doc.View, &s); err != nil {
			r.t.Errorf("view of %v: %v", doc.Key, err)
		}
	}
	return s
}

// end returns a token that covers all that is in the store.
func (r *rig) end() materializer.Token {
	r.t.Helper()
	token, err := untapped(r.st).End(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

// wantErr checks that an error is another.
func wantErr(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got %v, want %v", err, target)
	}
}

// within returns a context that ends the test's waiting.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), d, errTooLong)
	t.Cleanup(cancel)
	return ctx
}

var errTooLong = errors.New("waited too long")

func numbered(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%06d", prefix, i)
	}
	return all
}
