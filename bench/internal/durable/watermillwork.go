package durable

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/refold-go/refold/bench/internal/harness"
)

// run publishes n operations from all appenders while they are handled, and
// measures until the last is.
func (m *mill) run(n int, start func(*mill) (stop func() error, err error), publish func(i int) error) (harness.Figures, error) {
	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	stop, err := start(m)
	if err != nil {
		return nil, err
	}
	err = concurrently(n, appenders, publish)
	if err == nil {
		err = waitFor(func() bool { return m.handled.Load() >= int64(n) })
	}
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	f, err := figures(meter, n)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	f["runs/operation"] = 1
	return f, stop()
}

// watermillJob does the real job in memory.
func watermillJob(start func(*mill) (stop func() error, err error)) func(harness.Env) (harness.Figures, error) {
	return func(env harness.Env) (harness.Figures, error) {
		w, m := newWork(env.Size, 1, 1), newMill(refreshShard)
		f, err := m.run(len(w.appends), start, func(i int) error {
			body, err := json.Marshal(w.appends[i].operations[0])
			if err != nil {
				return err
			}
			return m.publish(w.appends[i].document, body)
		})
		if err != nil {
			return nil, err
		}
		views := make(map[string]view)
		for i := range m.shards {
			for document, body := range m.shards[i].views {
				var v view
				if err := json.Unmarshal(body, &v); err != nil {
					return nil, err
				}
				views[document] = v
			}
		}
		return f, w.check(views)
	}
}

// refreshShard is the job for one message.
func refreshShard(s *shard, msg *message.Message) error {
	document := msg.Metadata.Get(documentKey)
	var v view
	if stored := s.views[document]; stored != nil {
		if err := json.Unmarshal(stored, &v); err != nil {
			return err
		}
	}
	var op operation
	err := json.Unmarshal(msg.Payload, &op)
	if err != nil {
		return err
	}
	s.views[document], err = json.Marshal(v.add(op))
	return err
}

// watermillTally only counts.
func watermillTally(start func(*mill) (stop func() error, err error)) func(harness.Env) (harness.Figures, error) {
	return func(env harness.Env) (harness.Figures, error) {
		w := newWork(env.Size, 1, 1)
		m := newMill(func(s *shard, msg *message.Message) error {
			s.tally[msg.Metadata.Get(documentKey)]++
			return nil
		})
		f, err := m.run(len(w.appends), start, func(i int) error { return m.publish(w.appends[i].document, nil) })
		if err != nil {
			return nil, err
		}
		got := make(map[string]int)
		for i := range m.shards {
			for document, n := range m.shards[i].tally {
				got[document] = n
			}
		}
		return f, w.checkTally(got)
	}
}

// checkTally compares how many operations were counted of each document.
func (w work) checkTally(got map[string]int) error {
	for document, want := range w.want {
		if got[document] != int(want.N) {
			return fmt.Errorf("%d operations of %s were counted, want %d", got[document], document, want.N)
		}
	}
	return nil
}
