package materializer

import "sync/atomic"

// sizes keeps the mean size of the views that were loaded of late, to guess how
// many of the next ones fit.
type sizes struct{ mean atomic.Int64 }

// add takes a size into the mean. Of two at once, one may get lost.
func (s *sizes) add(size int64) {
	mean := s.mean.Load()
	s.mean.Store(mean + (size-mean)/16)
}

// room returns how many views of the mean size fit into so many bytes, at least 1.
func (s *sizes) room(bytes int64) int {
	const most = 1 << 20
	return int(max(1, min(bytes/max(s.mean.Load(), 1), most)))
}
