package position_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/refold-go/refold/store/position"
	"pgregory.net/rapid"
)

// cluster is some processes that write to one stream, each with a tracker and
// with a naive one beside it, and what is true about the stream.
type cluster struct {
	*rapid.T
	counter   position.Number
	processes []*process
	open      map[position.Position]bool // drawn and not finished, by living writers
	lives     map[position.Writer]*life
	reports   []position.Standing
}

type process struct {
	tracker *position.Tracker
	naive   *naive
	fenced  map[position.Writer]position.Epoch // fenced here up to there
	last    position.Token
	drawing chan drawing // from the allocator, which waits for numbers
}

// life is the last one of a writer.
type life struct {
	home   *process
	member *position.Member
	epoch  position.Epoch
	ended  bool // has left, or the epoch was raised
	left   bool
	end    position.Number // what Fence is told
	open   []position.Position
	draws  []*draw
}

// draw is a reservation under way.
type draw struct {
	mark    position.Number
	numbers []position.Stored // drawn and not registered
	request drawing
	result  chan []position.Position
}

type drawing struct {
	n      int
	answer chan []position.Stored
}

func newCluster(t *rapid.T) *cluster {
	c := &cluster{T: t, open: map[position.Position]bool{}, lives: map[position.Writer]*life{}}
	for range 3 {
		p := &process{naive: newNaive(), fenced: map[position.Writer]position.Epoch{}, drawing: make(chan drawing)}
		p.tracker = position.NewTracker(position.Options{
			Allocate: func(_ context.Context, n int, _ position.Stored) ([]position.Stored, error) {
				d := drawing{n, make(chan []position.Stored)}
				p.drawing <- d
				return <-d.answer, nil
			},
		})
		c.processes = append(c.processes, p)
	}
	return c
}

func (c *cluster) pick(n int, what string) int { return rapid.IntRange(0, n-1).Draw(c.T, what) }

// join begins a life: what is over is fenced everywhere, and the new one admitted
// everywhere, before it reserves.
func (c *cluster) join(w position.Writer) {
	last := c.lives[w]
	epoch := position.Epoch(1)
	if last != nil {
		if !last.ended {
			return
		}
		epoch = last.epoch + 1
		for _, p := range c.processes {
			c.fence(p, w)
		}
	}
	l := &life{home: c.processes[c.pick(len(c.processes), "home")], epoch: epoch}
	c.lives[w] = l
	m, err := l.home.tracker.Join(w, epoch)
	if err != nil {
		c.Fatal(err)
	}
	l.member = m
	l.home.naive.start(w, true, 0)
	s := m.Standing()
	for _, p := range c.processes {
		if p != l.home {
			if err := p.tracker.Admit(s); err != nil {
				c.Fatal(err)
			}
			p.naive.start(w, false, s.Completed)
			p.naive.hear(w, s.Completed, s.Written)
		}
	}
}

// fence tells one process that the last life of a writer is over.
func (c *cluster) fence(p *process, w position.Writer) {
	l := c.lives[w]
	if l == nil || !l.ended || p.fenced[w] == l.epoch || l.left && p == l.home {
		return
	}
	p.fenced[w] = l.epoch
	if _, err := p.tracker.Fence(w, l.epoch, l.end); err != nil {
		c.Fatal(err)
	}
	p.naive.end(w, l.end)
}

// kill raises the epoch where commits are checked: what is open will never be.
func (c *cluster) kill(w position.Writer, l *life) {
	for len(l.draws) > 0 {
		c.register(w, l, l.draws[0], true)
	}
	for _, p := range l.open {
		delete(c.open, p)
	}
	l.ended, l.end = true, c.counter
}

func (c *cluster) leave(l *life) {
	err := l.member.Leave()
	if (err == nil) != (len(l.open)+len(l.draws) == 0) {
		c.Fatalf("leaving with %d open and %d under way: %v", len(l.open), len(l.draws), err)
	}
	if err == nil {
		l.home.naive.leave(l.member.Writer())
		l.ended, l.left, l.end = true, true, c.counter
	}
}

// begin starts a reservation, which then stands before the counter.
func (c *cluster) begin(l *life) {
	d := &draw{mark: l.home.naive.mark(l.member.Writer()), result: make(chan []position.Position, 1)}
	n := 1 + c.pick(3, "how many")
	go func() {
		ps, _ := l.member.ReserveMany(context.Background(), n)
		d.result <- ps
	}()
	d.request = <-l.home.drawing
	l.draws = append(l.draws, d)
}

func (c *cluster) draw(w position.Writer, d *draw) {
	if d.numbers != nil {
		return
	}
	for range d.request.n {
		c.counter += 1 + position.Number(c.pick(2, "gap"))*position.Number(c.pick(200, "far"))
		d.numbers = append(d.numbers, position.Stored(c.counter))
		c.open[at(w, c.counter)] = true
	}
}

// register lets a reservation return.
func (c *cluster) register(w position.Writer, l *life, d *draw, burn bool) {
	c.draw(w, d)
	for _, n := range d.numbers {
		if burn {
			delete(c.open, at(w, position.Number(n)))
		}
	}
	d.request.answer <- d.numbers
	ps := <-d.result
	l.draws = slices.DeleteFunc(l.draws, func(other *draw) bool { return other == d })
	var numbers []position.Number
	for _, p := range ps {
		numbers = append(numbers, p.Number)
	}
	if len(ps) != len(d.numbers) {
		c.Fatalf("reserved %v of %v", ps, d.numbers)
	}
	l.open = append(l.open, ps...)
	l.home.naive.register(w, d.mark, numbers...)
}

func (c *cluster) finish(l *life) {
	i := c.pick(len(l.open), "which")
	p := l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	if err := l.member.Finish(p); err != nil {
		c.Fatal(err)
	}
	delete(c.open, p)
	l.home.naive.finish(p.Writer, p.Number)
}

// deliver gives any report made so far to any process.
func (c *cluster) deliver() {
	s := c.reports[c.pick(len(c.reports), "report")]
	p := c.processes[c.pick(len(c.processes), "to")]
	l := c.lives[s.Writer]
	err := p.tracker.Hear(s)
	over := s.Epoch < l.epoch || p.fenced[s.Writer] == l.epoch || l.left && p == l.home
	if (err != nil) != over {
		c.Fatalf("hearing of %s: %v", s, err)
	}
	if err == nil {
		p.naive.hear(s.Writer, s.Completed, s.Written)
	}
}

func (c *cluster) step() {
	w := position.Writer(1 + c.pick(4, "writer"))
	l := c.lives[w]
	switch what := c.pick(20, "step"); {
	case l == nil || l.ended:
		if what < 10 {
			c.join(w)
		} else {
			c.fence(c.processes[c.pick(len(c.processes), "where")], w)
		}
	case what == 0:
		c.kill(w, l)
	case what == 1:
		c.leave(l)
	case what < 6 && len(l.draws) < 4:
		c.begin(l)
	case what < 8 && len(l.draws) > 0:
		c.draw(w, l.draws[c.pick(len(l.draws), "draw")])
	case what < 12 && len(l.draws) > 0:
		c.register(w, l, l.draws[c.pick(len(l.draws), "draw")], false)
	case what < 17 && len(l.open) > 0:
		c.finish(l)
	case what < 18:
		c.reports = append(c.reports, l.member.Standing())
		c.reports = c.reports[max(0, len(c.reports)-12):]
	case len(c.reports) > 0:
		c.deliver()
	}
}

// check compares every tracker with the naive one and with the truth.
func (c *cluster) check() {
	for i, p := range c.processes {
		now := p.tracker.Token()
		want, err := p.naive.token()
		if err != nil || now != want || p.tracker.Completed() != now.Min() {
			c.Fatalf("process %d is at %s, want %s, %v", i, now, want, err)
		}
		if !p.last.AtMost(now) {
			c.Fatalf("process %d went from %s back to %s", i, p.last, now)
		}
		p.last = now
		for w := range c.lives {
			if got, want := p.tracker.CompletedBy(w).Number, p.naive.completedBy(w); got != want {
				c.Fatalf("process %d: writer %d is complete up to %d, want %d", i, w, got, want)
			}
			if got := p.tracker.WrittenBy(w).Number; got != p.naive.writers[w].at {
				c.Fatalf("process %d: writer %d wrote %d, want %d", i, w, got, p.naive.writers[w].at)
			}
		}
		for open := range c.open {
			if now.Includes(open) || p.tracker.CompletedBy(open.Writer).Number >= open.Number {
				c.Fatalf("process %d is at %s while %s is open", i, now, open)
			}
		}
	}
}

// settle lets everything end, after which all agree.
func (c *cluster) settle() {
	for _, w := range slices.Sorted(maps.Keys(c.lives)) {
		l := c.lives[w]
		for len(l.draws) > 0 {
			c.register(w, l, l.draws[0], false)
		}
		for len(l.open) > 0 && !l.ended {
			c.finish(l)
		}
		for _, p := range c.processes {
			c.fence(p, w)
		}
	}
	for range 2 { // the second round carries what the idle heard in the first
		for _, l := range c.lives {
			if !l.ended {
				for _, p := range c.processes {
					s := l.member.Standing()
					if err := p.tracker.Hear(s); err != nil {
						c.Fatal(err)
					}
					p.naive.hear(s.Writer, s.Completed, s.Written)
				}
			}
		}
	}
	c.check()
	for _, p := range c.processes[1:] {
		if got, want := p.tracker.Token(), c.processes[0].tracker.Token(); got != want {
			c.Fatalf("at the end one is at %s and one at %s", got, want)
		}
	}
}

// 100 runs of 1,000 steps, with the default of 100 checks.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		defer func() { // also after a failure, leave no goroutine
			for _, l := range c.lives {
				for _, d := range l.draws {
					close(d.request.answer)
				}
			}
		}()
		for range 1000 {
			c.step()
			c.check()
		}
		c.settle()
	})
}
