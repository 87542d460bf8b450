package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// pair does the same to a table and to its model. Arguments are taken modulo
// what there is, so that any numbers make a run.
type pair struct {
	table   *Table
	model   *model
	keys    []store.Key
	tickets []Ticket // all that were ever given
	now     time.Time
	ticks   time.Duration // so that no two due times are equal
}

func newPair(limit, takers int) *pair {
	p := &pair{
		table: NewTable(limit, takers),
		model: &model{limit: limit, takers: takers, documents: make(map[store.Key]*modelDocument)},
		now:   epoch,
	}
	for i := range 12 {
		p.keys = append(p.keys, store.Key{Collection: string(rune('a' + i%2)), ID: fmt.Sprint(i / 2)})
	}
	return p
}

func (p *pair) key(i int) store.Key { return p.keys[i%len(p.keys)] }

func (p *pair) due(i int) time.Time {
	p.ticks++
	return p.now.Add(time.Duration(i%16)*time.Second + p.ticks)
}

func (p *pair) signal(t failer, i int) {
	if got, want := p.table.Signal(p.key(i)), p.model.signal(p.key(i)); got != want {
		t.Fatalf("signal %s: %v, want %v", p.key(i), got, want)
	}
}

func (p *pair) signalAll(i, n int) {
	var keys []store.Key
	for j := range n {
		keys = append(keys, p.key(i+j*5))
	}
	p.table.SignalAll(keys)
	for _, k := range keys {
		p.model.signal(k)
	}
}

func (p *pair) take(t failer, size int) {
	ctx := context.Background()
	if len(p.model.queue) == 0 {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		ctx = ended
	}
	buf := make([]Ticket, 1+size%4)
	n, _ := p.table.Take(ctx, buf)
	var got []store.Key
	for _, ticket := range buf[:n] {
		got = append(got, ticket.Key)
	}
	if want := p.model.take(len(buf)); !slices.Equal(got, want) {
		t.Fatalf("took %v, want %v", got, want)
	}
	p.tickets = append(p.tickets, buf[:n]...)
}

// done gives back n of the latest tickets, some of them for the second time.
func (p *pair) done(t failer, back, n, verdict, wait int) {
	var tickets []Ticket
	var results []Result
	for i := range min(n, len(p.tickets)) {
		tickets = append(tickets, p.tickets[len(p.tickets)-1-(back+i)%len(p.tickets)])
		r := Result{Verdict: Verdict((verdict + i) % 3)}
		if r.Verdict == Delay || (verdict+i)%2 == 1 {
			r.Until = p.due(wait)
		}
		results = append(results, r)
	}
	var requeued, wantRequeued []store.Key
	got := p.table.Done(tickets, results, func(k store.Key, signals int) {
		requeued = append(requeued, k)
		if signals == 0 {
			t.Fatalf("%s was requeued by no signal", k)
		}
	})
	want := 0
	for i, ticket := range tickets {
		accepted, again := p.model.done(ticket.Key, ticket.turn, results[i])
		if accepted {
			want++
		}
		if again {
			wantRequeued = append(wantRequeued, ticket.Key)
		}
	}
	p.model.poked = p.model.poked || p.model.wantsRead()
	if got != want || !slices.Equal(requeued, wantRequeued) {
		t.Fatalf("done: %d accepted, requeued %v; want %d, %v", got, requeued, want, wantRequeued)
	}
}

func (p *pair) delay(i, wait int) {
	due := p.due(wait)
	p.table.Delay(p.key(i), due)
	p.model.delay(p.key(i), due)
}

func (p *pair) wake(t failer, seconds int) {
	p.now = p.now.Add(time.Duration(seconds%8) * time.Second)
	if got, want := p.table.Wake(p.now), p.model.wake(p.now); !got.Equal(want) {
		t.Fatalf("wake: next %s, want %s", got, want)
	}
}

func (p *pair) reread() {
	p.table.Reread()
	p.model.reread, p.model.poked = true, true
}

func (p *pair) beginRead(t failer) {
	if got, want := p.table.BeginRead(), p.model.beginRead(); got != want {
		t.Fatalf("begin read: %v, want %v", got, want)
	}
}

func (p *pair) endRead() {
	p.table.EndRead()
	p.model.reading = false
}

// compare fails if one could tell the table from the model.
func (p *pair) compare(t failer) {
	t.Helper()
	for _, k := range p.keys {
		if got, want := p.table.State(k), p.model.state(k); got != want {
			t.Fatalf("%s is %s, want %s", k, got, want)
		}
	}
	if got := p.table.Counts(); got != p.model.counts {
		t.Fatalf("counts\n%+v, want\n%+v", got, p.model.counts)
	}
	var ids []string
	for _, k := range p.model.queue {
		ids = append(ids, k.ID)
	}
	if got := queued(p.table); !slices.Equal(got, ids) {
		t.Fatalf("run queue %v, want %v", got, ids)
	}
	if p.table.reread != p.model.reread || !p.table.rereadAt.Equal(p.model.rereadAt) {
		t.Fatalf("reread %v at %s, want %v at %s", p.table.reread, p.table.rereadAt, p.model.reread, p.model.rereadAt)
	}
	if got, want := p.table.Complete(), !p.model.reread && !p.model.reading && p.model.rereadAt.IsZero(); got != want {
		t.Fatalf("complete: %v, want %v", got, want)
	}
	for k, d := range p.model.documents {
		if got := p.table.Due(k); !got.Equal(d.due) {
			t.Fatalf("%s is due at %s, want %s", k, got, d.due)
		}
	}
	poked := len(p.table.wake) > 0
	if poked != p.model.poked {
		t.Fatalf("the feed is woken: %v, want %v", poked, p.model.poked)
	}
	if poked {
		<-p.table.wake
		p.model.poked = false
	}
	check(t, p.table)
}
