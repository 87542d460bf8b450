package dispatcher

import "time"

// sample measures how long documents are queued, one at a time: looking at the
// clock for each would cost a signal more than all the rest of it. The table's
// lock guards it.
type sample struct {
	next   uint32 // how many pushes until the next one begins; 0 is never soon
	slot   uint32 // slot+1 of the entry that is measured; 0 is none
	since  time.Time
	waited time.Duration
	ended  bool
	to     func(time.Duration)
}

// sampleEvery is how many documents are queued for one that is measured, if none
// is being measured already.
const sampleEvery = 64

// SampleWaits makes the table tell f how long a document was queued when a
// worker takes it, for one document in 64 and the first one. f is called outside
// of the lock, by whoever takes. SampleWaits must be called before anything else.
func (t *Table) SampleWaits(f func(time.Duration)) {
	t.sample.to, t.sample.next = f, 1
}

func (s *sample) begin(slot uint32) {
	s.next = sampleEvery
	if s.to != nil && s.slot == 0 {
		s.slot, s.since = slot+1, time.Now()
	}
}

func (s *sample) end() {
	s.slot, s.waited, s.ended = 0, time.Since(s.since), true
}

// report returns what there is to tell, and whom; nil if there is nothing.
func (s *sample) report() (time.Duration, func(time.Duration)) {
	if !s.ended {
		return 0, nil
	}
	s.ended = false
	return s.waited, s.to
}
