package member

import (
	"errors"
	"sync"
)

// ErrTwin says that another agent proves itself as the same member.
var ErrTwin = errors.New("another agent proves itself as this member, from a copy of the data directory or with a stolen key")

// How many heartbeats of others between one's own make a twin, and how many of one's own in a row end it.
const (
	twinAfter = 2
	aloneFrom = 3
)

// twin notices another agent with the same identity: it stores heartbeats between those of this one.
type twin struct {
	mu    sync.Mutex
	last  uint64 // sequence of the heartbeat that was stored last, 0 when that is not known
	met   int    // heartbeats of others since this agent was alone
	alone int    // heartbeats of this agent in a row
}

// expected is the sequence that the newest heartbeat of the member has where nobody else stores any; 0 when that is not known.
func (t *twin) expected() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// stored notes that a heartbeat was stored, and whether the one before it was another's.
func (t *twin) stored(sequence uint64, after bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = sequence
	if after {
		t.met, t.alone = t.met+1, 0
		return
	}
	if t.alone++; t.alone >= aloneFrom {
		t.met = 0
	}
}

// unknown notes that a heartbeat may have been stored.
func (t *twin) unknown() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = 0
}

// there says that another agent is there.
func (t *twin) there() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.met >= twinAfter
}
