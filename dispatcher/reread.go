package dispatcher

// Reread says that the store may have runnable documents without an entry.
func (t *Table) Reread() {
	t.mu.Lock()
	t.reread = true
	t.mu.Unlock()
	t.poke()
}

// BeginRead reports whether the store should be read now: something may be there
// and at least half of the table is free. It clears the mark, so that a signal
// that does not fit during the reading sets it again.
func (t *Table) BeginRead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.wantsReadLocked() {
		return false
	}
	t.reread, t.reading = false, true
	return true
}

// EndRead says that the reading that BeginRead began is over.
func (t *Table) EndRead() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading = false
}

// Complete reports whether each runnable document of the store must have an entry
// by now, or an announcement on its way: nothing was left to a later reading.
func (t *Table) Complete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.reread && !t.reading && t.rereadAt.IsZero()
}

// Woken receives when the feed has something to look at: BeginRead may have
// become true, or Wake has an earlier time to return.
func (t *Table) Woken() <-chan struct{} { return t.wake }

// wantsReadLocked waits for half of the table to be free, so that the rows which
// have an entry already are passed over once for as many new ones.
func (t *Table) wantsReadLocked() bool {
	return t.reread && t.counts.Queued+t.counts.Running <= t.limit/2
}

func (t *Table) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
