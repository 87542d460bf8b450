package materializertest

import (
	"errors"
	"fmt"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// CrashOptions are the settings of [CheckCrashes]. The zero value works.
type CrashOptions[O any] struct {
	// Open returns a new and empty store at each call. nil means one in memory. The
	// check closes it.
	Open func() (store.Backend, error)
	// Reopen closes a store and opens what it stored again, as the next process
	// would. nil means that the next process goes on with the store as it is.
	Reopen func(b store.Backend) (store.Backend, error)
	// Describe says what else belongs to an operation: its id, time and meta; the body
	// that it returns is ignored. Each operation needs an id of its own in its
	// document, and gets one if it has none.
	Describe func(id string, seq int64, op O) materializer.NewOperation[O]
	// MayFail tells that folds of the sample are meant to fail for good: their
	// documents must be parked at that operation. Otherwise an error is reported.
	MayFail bool
	// Most bounds how many calls of a run are tried, 0 meaning all. All is some ten
	// runs for each operation of the sample.
	Most int
}

// CheckCrashes shows that a fold, and a store, end well whatever ends before. It
// runs a materializer that appends the sample and folds it, and ends that process,
// as far as can be told from the store, at its first call of the store: before it
// takes effect, and in another run after. The next process, on the same store,
// ends in the same way; one more does not, appends what is not acknowledged yet,
// and has all folded. Then each document must have each operation once, and the
// view that a fold from the beginning gives; also what the killed ones left must
// have been the views of some of the operations. And so for the second call, the
// third, and all others; and with appends and commits that end in doubt, of which
// half are stored.
//
// It fails the test with the first thing that is wrong. A fold that [CheckFold]
// finds fault with is to be mended first. Inside of a bubble of testing/synctest it
// need not wait for backoffs. nil options mean the zero [CrashOptions].
func CheckCrashes[S, O any](t TB, spec materializer.Spec[S, O], documents map[string][]O, o *CrashOptions[O]) {
	t.Helper()
	var options CrashOptions[O]
	if o != nil {
		options = *o
	}
	f, err := newFolder(spec, documents, options.Describe, true)
	if err == nil {
		err = f.reference(options.MayFail)
	}
	if err != nil {
		t.Fatalf("materializertest: collection %s: %v", spec.Name, err)
	}
	c := &crashes[S, O]{folder: f, t: t, open: options.Open, reopen: options.Reopen}
	// A start after a kill counts as an attempt of the document that was in hand.
	c.Retry.Attempts = max(c.Retry.Attempts, lives)
	if c.open == nil {
		c.open = func() (store.Backend, error) { return memory.New(nil), nil }
	}
	for _, m := range []mode{killBefore, killAfter, doubtLost, doubtKept} {
		for at := 1; options.Most <= 0 || at <= options.Most; at++ {
			fired, err := c.try(m, at)
			if err != nil {
				t.Errorf("materializertest: collection %s: %v", spec.Name, err)
				return
			}
			if !fired {
				break
			}
		}
	}
}

// lives is how many processes a store sees; only the last one is not harmed.
const lives = 3

// crashes ends processes that work on a store.
type crashes[S, O any] struct {
	*folder[S, O]
	t      TB
	open   func() (store.Backend, error)
	reopen func(store.Backend) (store.Backend, error)
}

// try harms the processes on a new store at one of their calls. It reports false
// if there are not so many.
func (c *crashes[S, O]) try(m mode, at int) (fired bool, err error) {
	b, err := c.open()
	if err != nil {
		return false, fmt.Errorf("opening a store: %w", err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var story []string
	tell := func(err error) error {
		for _, s := range story {
			err = fmt.Errorf("%w\n\t%s", err, s)
		}
		return err
	}
	unclean := false
	for n := range lives {
		harm := m
		if n == lives-1 {
			harm = never
		}
		call, killed, err := c.life(b, harm, at, unclean)
		if call != "" {
			fired = true
			story = append(story, fmt.Sprintf("process %d was %v call %d, %s", n+1, m, at, call))
		}
		if err != nil {
			return fired, tell(err)
		}
		if err := c.checkStore(b, !killed); err != nil {
			return fired, tell(err)
		}
		unclean = killed
		if c.reopen == nil || n == lives-1 {
			continue
		}
		next, err := c.reopen(b)
		if err != nil {
			return fired, tell(fmt.Errorf("opening the store again: %w", err))
		}
		b = next
	}
	return fired, nil
}
