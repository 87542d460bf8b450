package sqlite

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// TestQueue takes a group from a queue with these requests: s needs a sync, v
// does not, u is an Update, w was withdrawn, B is too big for others beside it, p may
// wait for long and o has waited for as long as it may.
func TestQueue(t *testing.T) {
	for _, test := range []struct {
		queue        string
		synced, lend bool   // what look says
		group, rest  string // what take takes with that level, and leaves
		as           *bool  // the level, if it is another
	}{
		{queue: ""},
		{queue: "w"},
		{queue: "v", group: "v"},
		{queue: "vsv", synced: true, group: "vsv"},
		{queue: "vwv", group: "vv"},
		{queue: "vvus", group: "vv", rest: "us"},
		{queue: "us", synced: true, lend: true},
		{queue: "wus", synced: true, lend: true},
		{queue: "vBs", synced: true, group: "vB", rest: "s"},
		{queue: "p", group: "p"},
		{queue: "pp", group: "pp"},
		{queue: "po", group: "po"},
		{queue: "pv", group: "v", rest: "p"},
		{queue: "psp", synced: true, group: "s", rest: "pp"},
		{queue: "opsp", synced: true, group: "os", rest: "pp"},
		{queue: "pus", group: "p", rest: "us"},
		{queue: "pwus", group: "p", rest: "us"},
		{queue: "psus", synced: true, group: "s", rest: "pus"},
		// Those that came after the level was chosen.
		{queue: "vsvs", synced: true, as: new(false), group: "vv", rest: "ss"},
		{queue: "svusv", synced: true, as: new(false), group: "v", rest: "susv"},
		{queue: "ps", synced: true, as: new(false), rest: "ps"},
	} {
		t.Run(test.queue, func(t *testing.T) {
			q := newQueue()
			names := map[*request]byte{}
			for _, c := range []byte(test.queue) {
				r := newRequest(nil, c == 's' || c == 'u', 10)
				switch c {
				case 'u':
					r.lend = make(chan *sql.Tx, 1)
				case 'w':
					r.state.Store(withdrawnByCaller)
				case 'p':
					r.by = time.Now().Add(time.Hour)
				case 'o':
					r.by = time.Now().Add(-1)
				case 'B':
					r.size = groupBytes
				}
				names[r] = c
				if err := q.push(r); err != nil {
					t.Fatal(err)
				}
			}
			spell := func(rs []*request) string {
				var s []byte
				for _, r := range rs {
					s = append(s, names[r])
				}
				return string(s)
			}
			some, synced, lend := q.look()
			if some != (test.group+test.rest != "" || test.lend) || synced != test.synced || (lend != nil) != test.lend {
				t.Errorf("look: %v, %v, %v", some, synced, lend)
			}
			if test.lend {
				return
			}
			if test.as != nil {
				synced = *test.as
			}
			group := q.take(nil, synced)
			if got := spell(group); got != test.group {
				t.Errorf("took %q, want %q", got, test.group)
			}
			if got := spell(q.requests); got != test.rest {
				t.Errorf("left %q, want %q", got, test.rest)
			}
			for _, r := range group {
				if r.take() {
					t.Error("one of the group could be taken again")
				}
			}
			q.close()
			if err := q.push(newRequest(nil, false, 0)); !errors.Is(err, store.ErrClosed) {
				t.Errorf("push after close: %v", err)
			}
		})
	}
}

func TestAGroupIsBounded(t *testing.T) {
	q := newQueue()
	for range groupRequests + 5 {
		q.push(newRequest(nil, false, 1))
	}
	if n := len(q.take(nil, false)); n != groupRequests {
		t.Errorf("took %d, want %d", n, groupRequests)
	}
	if n := len(q.take(nil, false)); n != 5 {
		t.Errorf("then %d, want 5", n)
	}
}
