package kube

import (
	"context"
	"sync"

	"flotilla/agent/target"
)

// unread is how many changes wait for one who watches, before more are lost to it.
const unread = 256

// changes tells those who watch what changed.
type changes struct {
	mu       sync.Mutex
	watchers map[chan target.Change]struct{}
}

func (c *changes) watch(ctx context.Context) <-chan target.Change {
	told := make(chan target.Change, unread)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watchers == nil {
		c.watchers = map[chan target.Change]struct{}{}
	}
	c.watchers[told] = struct{}{}
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, told)
		close(told)
	})
	return told
}

func (c *changes) tell(change target.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for watcher := range c.watchers {
		select {
		case watcher <- change:
		default: // it looks by itself now and then
		}
	}
}
