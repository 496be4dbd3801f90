package store

import (
	"context"
	"sync"
	"time"

	"flotilla/bus"
)

// noted is up to which sequence of state the ledger holds every write, for those who wait for theirs.
type noted struct {
	mu    sync.Mutex
	at    uint64
	ended bool
	moved chan struct{} // closed, and another one, with each change
}

func newNoted() noted { return noted{moved: make(chan struct{})} }

// upTo says that all writes up to a sequence are noted.
func (n *noted) upTo(sequence uint64) {
	n.change(func() { n.at = max(n.at, sequence) })
}

// end says that nothing is noted any more.
func (n *noted) end() {
	n.change(func() { n.ended = true })
}

func (n *noted) change(how func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	how()
	close(n.moved)
	n.moved = make(chan struct{})
}

// await returns when the ledger holds the write with a sequence, so that whoever learns of it learns of its loss too.
// It does not wait for a ledger that ended, or that takes longer than a server may take to answer.
func (l *ledger) await(ctx context.Context, sequence uint64) {
	patience := time.NewTimer(bus.PublishTimeout)
	defer patience.Stop()
	for {
		l.noted.mu.Lock()
		done, moved := l.noted.ended || l.noted.at >= sequence, l.noted.moved
		l.noted.mu.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
