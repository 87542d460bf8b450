package position

import (
	"context"
	"iter"
)

// News returns what the other processes have to hear: the standing of each writer
// that joined or was fenced here, first as it is and then after each change. A
// reader that is slow gets the last standing of each and not those between. An
// idle writer's standing moves with the numbers of others, so that it holds back
// nobody; that a position was reserved is told with the next change. News ends
// with the cause of ctx, and never otherwise.
//
// A standing covers everything since the one before it. A number that is finished
// is covered by a standing that follows, with or without facts stored at it.
func (t *Tracker) News(ctx context.Context) iter.Seq2[Standing, error] {
	return func(yield func(Standing, error) bool) {
		told := map[Writer]Standing{}
		for {
			news, signal := t.news(told)
			for _, s := range news {
				if ctx.Err() != nil {
					break
				}
				if !yield(s, nil) {
					return
				}
			}
			if signal == nil && ctx.Err() == nil {
				continue
			}
			select {
			case <-signal:
			case <-ctx.Done():
				yield(Standing{}, context.Cause(ctx))
				return
			}
		}
	}
}

// news returns what changed since it was told, or else the signal of the next
// change.
func (t *Tracker) news(told map[Writer]Standing) ([]Standing, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var news []Standing
	for _, r := range t.sortedLocked() {
		if !r.owned {
			continue
		}
		s, last := t.standingLocked(r), told[r.writer]
		if s.Epoch != last.Epoch || s.State != last.State || s.Completed != last.Completed || s.Written != last.Written {
			told[r.writer] = s
			news = append(news, s)
		}
	}
	if news != nil {
		return news, nil
	}
	if t.signal == nil {
		t.signal = make(chan struct{})
	}
	return nil, t.signal
}
