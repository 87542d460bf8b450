package durable

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

// mill is Watermill in memory. Each document belongs to one of as many topics as
// there are handlers, so that no two handle one document at once.
type mill struct {
	channel   *gochannel.GoChannel
	handle    func(s *shard, msg *message.Message) error
	published atomic.Int64
	shards    [handlers]shard
	handled   atomic.Int64
}

// shard is what the handler of one topic keeps.
type shard struct {
	topic string
	views map[string][]byte // as JSON, as a store has them
	tally map[string]int
}

func newMill(handle func(s *shard, msg *message.Message) error) *mill {
	m := &mill{handle: handle, channel: gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: 1000}, watermill.NopLogger{})}
	for i := range m.shards {
		m.shards[i] = shard{topic: fmt.Sprintf("documents-%d", i), views: make(map[string][]byte), tally: make(map[string]int)}
	}
	return m
}

const documentKey = "document"

func (m *mill) publish(document string, body []byte) error {
	h := fnv.New32a()
	h.Write([]byte(document))
	msg := message.NewMessage(strconv.FormatInt(m.published.Add(1), 10), body)
	msg.Metadata.Set(documentKey, document)
	return m.channel.Publish(m.shards[h.Sum32()%handlers].topic, msg)
}

// subscribe has a goroutine a topic that reads its subscription.
func (m *mill) subscribe() (stop func() error, err error) {
	var reading sync.WaitGroup
	failed := make(chan error, handlers)
	for i := range m.shards {
		s := &m.shards[i]
		messages, err := m.channel.Subscribe(context.Background(), s.topic)
		if err != nil {
			return nil, err
		}
		reading.Go(func() {
			for msg := range messages {
				if err := m.handle(s, msg); err != nil {
					failed <- err
					return
				}
				m.handled.Add(1)
				msg.Ack()
			}
		})
	}
	return func() error {
		err := m.channel.Close()
		reading.Wait()
		close(failed)
		return errors.Join(err, <-failed)
	}, nil
}

// route has a router with a handler for each topic.
func (m *mill) route() (stop func() error, err error) {
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	for i := range m.shards {
		s, one := &m.shards[i], new(sync.Mutex) // a router handles messages of one topic at once
		router.AddConsumerHandler(s.topic, s.topic, m.channel, func(msg *message.Message) error {
			one.Lock()
			defer one.Unlock()
			if err := m.handle(s, msg); err != nil {
				return err
			}
			m.handled.Add(1)
			return nil
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.Background()) }()
	<-router.Running()
	return func() error { return errors.Join(router.Close(), <-ended) }, nil
}
