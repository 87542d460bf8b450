package materializertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/materializertest"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

type added struct{ Item string }

type list struct{ Items []string }

var lists = materializer.Spec[list, added]{
	Name:    "lists",
	Version: 1,
	Fold: func(l list, op materializer.Operation[added]) (list, error) {
		l.Items = append(l.Items, op.Body.Item)
		return l, nil
	},
}

// example stands for the *testing.T that an example does not have.
type example struct{ cleanups []func() }

func (*example) Helper()                  {}
func (*example) Context() context.Context { return context.Background() }
func (e *example) Cleanup(f func())       { e.cleanups = append(e.cleanups, f) }
func (*example) Errorf(format string, args ...any) {
	first, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	fmt.Println("FAIL:", first)
}
func (e *example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (e *example) end() {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}

func ExampleNew() {
	t := &example{} // the *testing.T
	defer t.end()

	m := materializertest.New(t, nil)
	lists := materializertest.Register(m, lists)
	if _, err := lists.Append(t.Context(), "monday", added{"bread"}, added{"milk"}); err != nil {
		t.Fatalf("%v", err)
	}
	m.Settle()
	v, err := lists.Get(t.Context(), "monday")
	fmt.Println(v.State.Items, err)
	// Output: [bread milk] <nil>
}

// In a bubble of testing/synctest the hour until the second attempt takes no time.
func ExampleMaterializer_Settle() {
	TestClosedShop := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			open := time.Now().Add(time.Hour)
			spec := lists
			spec.Fold = func(l list, op materializer.Operation[added]) (list, error) {
				if time.Now().Before(open) {
					return l, materializer.RetryAfter(time.Hour, fmt.Errorf("the shop is closed"))
				}
				return lists.Fold(l, op)
			}
			m := materializertest.New(t, nil)
			c := materializertest.Register(m, spec)
			if _, err := c.Append(t.Context(), "monday", added{"bread"}); err != nil {
				t.Fatal(err)
			}
			m.Settle()
			if v, err := c.Get(t.Context(), "monday"); err != nil || len(v.State.Items) != 1 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	_ = TestClosedShop
}

// Who is meant to be parked is returned, and fails no test.
func ExampleMaterializer_SettleParked() {
	t := &example{}
	defer t.end()

	spec := lists
	spec.Fold = func(l list, op materializer.Operation[added]) (list, error) {
		return l, materializer.Permanent(fmt.Errorf("no %s today", op.Body.Item))
	}
	m := materializertest.New(t, nil)
	c := materializertest.Register(m, spec)
	if _, err := c.Append(t.Context(), "monday", added{"bread"}); err != nil {
		t.Fatalf("%v", err)
	}
	for _, doc := range m.SettleParked() {
		fmt.Println(doc.Key, "at seq", doc.Failure.Seq, "-", doc.Failure.Error)
	}
	// Output: lists/monday at seq 1 - no bread today
}

// Two documents that grow in one piece of memory overwrite each other.
func ExampleCheckFold() {
	t := &example{}
	sample := map[string][]added{"monday": {{"bread"}, {"milk"}}, "friday": {{"fish"}}}

	materializertest.CheckFold(t, lists, sample, nil)
	fmt.Println("the fold is pure")

	room := make([]string, 0, 100)
	spec := lists
	spec.Fold = func(l list, op materializer.Operation[added]) (list, error) {
		if op.Seq == 1 {
			l.Items = room
		}
		l.Items = append(l.Items, op.Body.Item)
		return l, nil
	}
	materializertest.CheckFold(t, spec, sample, nil)
	// Output:
	// the fold is pure
	// FAIL: materializertest: collection lists: document friday at seq 1, materializertest_test.added{Item:fish}: the view is another one when others have been folded since: they share memory
}

// A backend of one's own takes the place of the store in memory.
func ExampleCheckCrashes() {
	t := &example{}
	stores := 0
	materializertest.CheckCrashes(t, lists, map[string][]added{"monday": {{"bread"}, {"milk"}}},
		&materializertest.CrashOptions[added]{
			Open: func() (store.Backend, error) {
				stores++
				return memory.New(nil), nil
			},
		})
	fmt.Println("every end is a good one:", stores > 10)
	// Output: every end is a good one: true
}
