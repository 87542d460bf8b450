package position_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/store/position"
)

// The own position passed a number that was drawn and not yet registered, because
// another writer's report came between.
func TestBug9424_11045_ReportBetweenDrawingAndRegistering(t *testing.T) {
	var tr *position.Tracker
	counter := position.Stored(7)
	tr = position.NewTracker(position.Options{Origin: 7, Allocate: func(_ context.Context, n int, after position.Stored) ([]position.Stored, error) {
		counter++
		mine := counter // drawn, and nobody knows but the counter
		for i := range 10 {
			counter++
			hear(t, tr, at(2, position.Number(counter)))
			if tr.Completed() >= position.Number(mine) || tr.CompletedBy(1).Number >= position.Number(mine) || tr.Token().Includes(at(1, position.Number(mine))) {
				t.Fatalf("after %d reports the token is %s, and %d is not registered", i+1, tr.Token(), mine)
			}
		}
		return []position.Stored{mine}, nil
	}})
	admit(t, tr, at(2, 7))
	m := joined(t, tr, 1)
	p := reserved(t, m)
	finish(t, m, p)
	if got := tr.Token(); got != position.TokenAt(18) {
		t.Errorf("token is %s", got)
	}
}

// The first event of a new writer was skipped, as it was not in the minimum.
func TestBug16473_FirstEventOfANewWriter(t *testing.T) {
	runScript(t, position.Up, 0, `
		A: join old
		A: open old = 1 2 3 4 5 6 7
		A: finish old 1 2 3 4 5 6 7
		R: admit old 7
		N: admit old 7
		N: join new
		N: P new=7
		A: admit new 7
		R: admit new 7
		N: open new = 8
		A: open old = 9
		A: finish old 9
		R: hear old 9
		R: U 7
		R: token m7~1.9
		A: U 7
		N: finish new 8
		R: hear new 8
		R: U 9
	`)
}

// The greatest number of a writer was taken for its position, though lower ones
// were open.
func TestBug8374_PositionIsNotTheGreatestNumber(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	m := joined(t, tr, 1)
	ps, err := m.ReserveMany(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, m, ps[0], ps[1], ps[2], ps[4])
	stored := tr.Standings()
	restarted := position.NewTracker(position.Options{})
	if err := restarted.Admit(stored...); err != nil {
		t.Fatal(err)
	}
	for _, p := range []position.Position{ps[0], ps[1], ps[2], ps[4]} {
		restarted.Saw(p)
	}
	if restarted.Token().Includes(ps[3]) || restarted.Completed() != 3 {
		t.Errorf("after a restart the token is %s, and %s is open", restarted.Token(), ps[3])
	}
}

// A new writer was assumed to be at zero, and one that returned where it had been.
func TestBug8419_NewAndReturningWritersStartAtTheCompletedPosition(t *testing.T) {
	runScript(t, position.Up, 0, `
		A: admit two 1000 one 3<
		A: U 1000
		A: join new
		A: P new=1000
		A: join one
		A: P one=1000
		A: U 1000
		A: token m1000
	`)
}

// What follows the completed position stood still, as one writer was idle.
func TestBug8499_IdleWritersHoldNobodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		busy, idle, reader := position.NewTracker(position.Options{}), position.NewTracker(position.Options{}), position.NewTracker(position.Options{})
		m := joined(t, busy, 1)
		joined(t, idle, 2)
		for _, from := range []*position.Tracker{busy, idle} {
			for _, to := range []*position.Tracker{busy, idle, reader} {
				if from != to {
					follow(ctx, from, to)
				}
			}
		}
		synctest.Wait()
		for range 100 {
			p := reserved(t, m)
			finish(t, m, p)
			synctest.Wait() // no time passes
			if reader.Completed() != p.Number || busy.Completed() != p.Number {
				t.Fatalf("reader is at %s, busy at %s, %s is finished", reader.Token(), busy.Token(), p)
			}
		}
		cancel()
	})
}

// One number stood for the cut and was moved by each report, past what others had
// open; and numbers, positions and cuts were all the same type.
func TestBug8536_NoBareIntegersCrossTheAPI(t *testing.T) {
	for _, v := range []any{
		position.Token{}, &position.Tracker{}, &position.Member{}, position.StoreToken{}, position.Position{},
		position.Range{}, position.Direction(0), position.TokenAt, position.NewToken, position.Between,
	} {
		check := func(name string, f reflect.Type) {
			for i := range f.NumIn() + f.NumOut() {
				in := i < f.NumIn()
				var arg reflect.Type
				if in {
					arg = f.In(i)
				} else {
					arg = f.Out(i - f.NumIn())
				}
				switch arg.Kind() {
				case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Int32, reflect.Uint32:
					if arg.PkgPath() == "" && !(in && strings.HasSuffix(name, "ReserveMany")) {
						t.Errorf("%s has a bare %s", name, arg)
					}
				}
			}
		}
		typ := reflect.TypeOf(v)
		if typ.Kind() == reflect.Func {
			check(typ.String(), typ)
		}
		for m := range typ.Methods() {
			check(typ.String()+"."+m.Name, m.Type)
		}
	}
	runScript(t, position.Up, 0, `
		R: admit a 7 b 7
		R: hear a 9
		R: token m7~1.9
		R: hear a 12
		R: token m7~1.12
		R: hear b 11
		R: token m12
	`)
}

// Rows sorted by the name of their writer moved a position back or failed.
func TestBug13585_OrderOfWhatIsStoredDoesNotMatter(t *testing.T) {
	for _, d := range []position.Direction{position.Up, position.Down} {
		standings := []position.Standing{
			{Writer: 1, Epoch: 3, Completed: 9, Written: 9},
			{Writer: 2, Epoch: 1, Completed: 5, Written: 5},
			{Writer: 3, Epoch: 2, State: position.Left, Completed: 30, Written: 4},
			{Writer: 4, Epoch: 7, State: position.Fenced, Completed: 12, Written: 2},
		}
		rows := []position.Position{d.At(1, d.Stored(6)), d.At(0, d.Stored(7)), d.At(1, d.Stored(8)), d.At(2, d.Stored(5)), d.At(0, d.Stored(11))}
		for range 100 {
			rand.Shuffle(len(standings), func(i, j int) { standings[i], standings[j] = standings[j], standings[i] })
			rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			tr := position.NewTracker(position.Options{Direction: d})
			if err := tr.Admit(standings...); err != nil {
				t.Fatal(err)
			}
			for _, p := range rows {
				tr.Saw(p)
			}
			if got := tr.Token().String(); got != "m9~3.30~4.12" {
				t.Fatalf("%s, from %v and %v: token is %s", d, standings, rows, got)
			}
		}
	}
}

// Tokens went backwards over a restart: numbers at the end had no rows.
func TestBug17226_TokensDoNotGoBackOverARestart(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	m := joined(t, tr, 1)
	for range 10 {
		finish(t, m, reserved(t, m)) // nothing is written at them
	}
	before := tr.Token()
	restarted := position.NewTracker(position.Options{})
	if err := restarted.Admit(tr.Standings()...); err != nil {
		t.Fatal(err)
	}
	if _, err := restarted.Fence(1, 1, 10); err != nil {
		t.Fatal(err)
	}
	again, err := restarted.Join(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if now := restarted.Token(); !before.AtMost(now) {
		t.Errorf("before the restart %s, after it %s", before, now)
	}
	if p := reserved(t, again); before.Includes(p) {
		t.Errorf("%s is new and in %s", p, before)
	}
}

// A reader waited for a token beyond what a restarted process knew of, because
// one of the tables of the stream was not read at the start; and the first remedy
// bounded it by the token of another stream.
func TestBug17274_TokenBeyondWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := position.NewTracker(position.Options{})
		joined(t, tr, 1)
		future := token(t, "m3~1.7")
		over := background(func() error { return tr.Wait(t.Context(), future) })
		if done, _ := over(); done {
			t.Fatal("7 is not known")
		}
		if err := tr.Wait(t.Context(), future.Bound(tr.Seen())); err != nil {
			t.Errorf("bounded by the stream's own counter: %v", err)
		}
		tr.Saw(at(1, 7)) // the other table
		if done, err := over(); !done || err != nil {
			t.Errorf("after the other table was read: %t, %v", done, err)
		}
	})
}
