package position

import "math"

// ledger knows which numbers of one writer are open. A finished number is kept
// only as long as it can still become the writer's position: between two open
// numbers that is the greatest. So memory follows what is open, however much was
// finished behind a slow one. Finishing costs a look-up and a few words.
type ledger struct {
	pages      map[int64]*page
	head, tail *page // all pages in order; the tail stays, also when it is empty
	spare      *page // one that was dropped, for the next
	open       int   // how many numbers are open
	marks      marks
	// written is the greatest finished number that has nothing open, and nothing
	// being reserved, before it.
	written Number
	// free is the greatest number up to which everything is finished. It has no
	// meaning if the ledger is idle.
	free Number
}

func newLedger(start Number) *ledger {
	return &ledger{pages: map[int64]*page{}, written: start, free: start}
}

// idle reports whether nothing is open and nothing is being reserved.
func (l *ledger) idle() bool { return l.open == 0 && l.marks.first == nil }

// settled returns the number up to which it is known what the writer has
// reserved: a reservation under way draws a number above its mark.
func (l *ledger) settled() Number {
	if l.marks.first == nil {
		return math.MaxInt64
	}
	return l.marks.first.at
}

// reserve adds an open number. It reports false if the number is there already.
// The number must be above the mark that it was drawn under.
func (l *ledger) reserve(n Number) bool {
	p := l.page(pageOf(n))
	if p == nil {
		p = l.add(pageOf(n))
	}
	bit := bitOf(n)
	if p.open.has(bit) || p.done.has(bit) {
		return false
	}
	p.open.set(bit)
	p.count++
	l.open++
	if p == l.head {
		l.settle()
	}
	return true
}

// finish turns an open number into a finished one. It reports false if the number
// is not open.
func (l *ledger) finish(n Number) bool {
	p := l.page(pageOf(n))
	if p == nil || !p.open.has(bitOf(n)) {
		return false
	}
	p.open.clear(bitOf(n))
	p.done.set(bitOf(n))
	p.count--
	l.open--
	atHead := p == l.head
	l.drop(p)
	if atHead { // before another page there is something open, or unsettled
		l.settle()
	}
	return true
}

// unmark ends a reservation under way.
func (l *ledger) unmark(m *mark) {
	before := l.settled()
	l.marks.remove(m)
	if l.settled() > before && l.tail != nil {
		for p := l.tail.prev; p != nil && p.end() > before; {
			prev := p.prev
			l.drop(p)
			p = prev
		}
	}
	l.settle()
}

// settle works out written and free.
func (l *ledger) settle() {
	settled := l.settled()
	l.free = settled
	for p := l.head; p != nil; p = p.next {
		l.written = max(l.written, p.below)
		p.below = none
		limit := min(settled, p.start()+Number(p.open.lowest())-1)
		l.written = max(l.written, p.finished(limit))
		if p.count > 0 || settled <= p.end() {
			l.free = limit
			return
		}
	}
}

// page returns the page with an index, or nil.
func (l *ledger) page(index int64) *page {
	if l.tail != nil && l.tail.index == index {
		return l.tail
	}
	return l.pages[index]
}

// add makes a page that is not there yet. It is the last one, or close to it:
// only what was reserved since the number was asked for can be above it.
func (l *ledger) add(index int64) *page {
	p := l.spare
	l.spare = nil
	if p == nil {
		p = new(page)
	}
	*p = page{index: index, below: none, prev: l.tail}
	for p.prev != nil && p.prev.index > index {
		p.next, p.prev = p.prev, p.prev.prev
	}
	if p.next != nil {
		// What is below the next page was settled, so it is below this one too.
		p.below, p.next.below = p.next.below, none
		p.next.prev = p
	} else {
		l.tail = p
	}
	if p.prev != nil {
		p.prev.next = p
		l.drop(p.prev)
	} else {
		l.head = p
	}
	l.pages[index] = p
	return p
}

// drop removes a page that has nothing open and cannot get anything any more.
func (l *ledger) drop(p *page) {
	if p.count > 0 || p == l.tail || p.end() > l.settled() {
		return
	}
	p.next.below = max(p.next.below, p.finished(p.end())) // which is above p.below
	p.next.prev = p.prev
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		l.head = p.next
	}
	delete(l.pages, p.index)
	l.spare = p
}

// numbers calls yield with each open number, ascending.
func (l *ledger) numbers(yield func(Number)) {
	for p := l.head; p != nil; p = p.next {
		for left := p.open; ; {
			bit := left.lowest()
			if bit == pageSize {
				break
			}
			left.clear(uint(bit))
			yield(p.start() + Number(bit))
		}
	}
}

// marks are the reservations under way, in the order in which they began.
type marks struct{ first, last *mark }

// mark is the greatest number known when a reservation began. What it draws is
// greater, and not known before it returns.
type mark struct {
	at         Number
	prev, next *mark
}

// add adds a mark. It is at least as great as all before it.
func (ms *marks) add(at Number) *mark {
	m := &mark{at: at, prev: ms.last}
	if m.prev != nil {
		m.prev.next = m
	} else {
		ms.first = m
	}
	ms.last = m
	return m
}

func (ms *marks) remove(m *mark) {
	if m.prev != nil {
		m.prev.next = m.next
	} else {
		ms.first = m.next
	}
	if m.next != nil {
		m.next.prev = m.prev
	} else {
		ms.last = m.prev
	}
}
