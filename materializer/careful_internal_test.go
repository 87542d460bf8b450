package materializer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// The lane passes over what another process has left behind as long as the pool has it
// in hand, and looks again when it is given back, not at the next sweep.
func TestLaneLooksAgainWhenThePoolGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		m, err := New(st, Config{Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		type nothing struct{}
		c, err := Register(m, Spec[nothing, nothing]{
			Name: "texts", Version: 1,
			Fold: func(s nothing, _ Operation[nothing]) (nothing, error) { return s, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Append(t.Context(), "d", nothing{}); err != nil {
			t.Fatal(err)
		}
		me := "me"
		m.sharing.name.Store(&me)
		e := newEngine(m, func(error) {}, nil)
		var key store.Key
		for row, err := range st.Runnable(t.Context(), m.generations()) {
			if err != nil {
				t.Fatal(err)
			}
			key = row.Key
		}
		if _, err := st.Lease(t.Context(), "dead", store.LeaseTerms{For: time.Second, Most: time.Second}, []store.Key{key}, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)

		m.table.Signal(key)
		tickets := make([]dispatcher.Ticket, 1)
		if _, err := m.table.Take(context.Background(), tickets); err != nil {
			t.Fatal(err)
		}
		e.lane.look(t, false)
		e.Done(tickets, []dispatcher.Result{{Verdict: dispatcher.Done}})
		select {
		case <-m.suspects.poke:
		default:
			t.Error("the lane is not told that the document is back")
		}
		e.lane.look(t, true)
		e.Done(tickets, []dispatcher.Result{{Verdict: dispatcher.Done}})
		select {
		case <-m.suspects.poke:
			t.Error("the lane is told of what it has not passed over")
		default:
		}
	})
}

// look reads the suspects and checks whether there is one.
func (l *lane) look(t *testing.T, want bool) {
	t.Helper()
	wait, err := l.fill(t.Context())
	_, found := l.next()
	if err != nil || wait > 0 || found != want {
		t.Errorf("suspect found: %v, want %v (wait %v, %v)", found, want, wait, err)
	}
}
