package inmemory

// channelRoom is the buffer of a channel whose workers are there from the start.
const channelRoom = 1024

type plainChannel struct {
	ids    []string
	queued chan string
}

func newChannel(n need) queue {
	room := channelRoom
	if n.backlog {
		room = len(n.ids)
	}
	return &plainChannel{ids: n.ids, queued: make(chan string, room)}
}

func (c *plainChannel) signal(document int) { c.queued <- c.ids[document] }

func (c *plainChannel) work(run func(id string)) {
	for id := range c.queued {
		run(id)
	}
}

func (c *plainChannel) stop() { close(c.queued) }

func (c *plainChannel) cycle(document int) {
	c.queued <- c.ids[document]
	<-c.queued
}
