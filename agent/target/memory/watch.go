package memory

import (
	"context"

	"flotilla/agent/target"
)

// watchBuffer is how many changes a slow reader may be behind before it misses some.
const watchBuffer = 1024

// Watch reports changes until ctx ends; then the channel is closed.
func (m *Member) Watch(ctx context.Context) <-chan target.Change {
	changes := make(chan target.Change, watchBuffer)
	m.mu.Lock()
	defer m.unlock()
	m.watchers[changes] = struct{}{}
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.unlock()
		delete(m.watchers, changes)
		close(changes)
	})
	return changes
}

func (m *Member) notify(c target.Change) {
	for w := range m.watchers {
		select {
		case w <- c:
		default:
		}
	}
}
