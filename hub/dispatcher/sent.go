package dispatcher

import (
	"sync"
	"time"

	"flotilla/bus/streams"
	"flotilla/core/api"
)

// address is one subject of commands: a kind of a member.
type address struct{ member, kind string }

// sent remembers what was sent to each address last, and when.
type sent struct {
	mu       sync.Mutex
	heads    map[address]streams.CommandHead
	given    map[address]api.Order // the newest that a command was sent with
	times    map[address]time.Time
	doubts   map[address]struct{} // what is stored there may be something else
	reported map[string]int       // by member
	keyless  map[string]struct{}  // members whose agent has no key that a command can be sealed to
}

func newSent() *sent {
	return &sent{heads: map[address]streams.CommandHead{}, given: map[address]api.Order{}, times: map[address]time.Time{}, doubts: map[address]struct{}{}, reported: map[string]int{}, keyless: map[string]struct{}{}}
}

func (s *sent) remember(head streams.CommandHead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := address{head.Member, head.Kind}
	s.heads[to] = head
	s.give(to, head.Order)
	if head.To != "" {
		delete(s.keyless, head.Member)
	}
}

// give notes an order; the lock is held.
func (s *sent) give(to address, order api.Order) { s.given[to] = newest(s.given[to], order) }

// unknown notes that a command was sent of which nobody knows whether it is stored: its member may have read it.
func (s *sent) unknown(to address, order api.Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.give(to, order)
	s.doubts[to] = struct{}{}
}

// last is the newest order that a command was sent with: that of the one that is stored, unless that one was lost.
func (s *sent) last(to address) api.Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given[to]
}

// doubt remembers that what is stored at an address must be read before anything is sent there.
func (s *sent) doubt(to address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts[to] = struct{}{}
}

func (s *sent) doubted(to address) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, doubted := s.doubts[to]
	return doubted
}

// correct takes over what is stored at an address.
func (s *sent) correct(head streams.CommandHead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := address{head.Member, head.Kind}
	s.heads[to] = head
	s.give(to, head.Order)
	delete(s.doubts, to)
}

// differing lists the addresses at which something else is stored than was sent there.
func (s *sent) differing(stored []streams.CommandHead) []address {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []address
	listed := map[address]bool{}
	for _, head := range stored {
		to := address{head.Member, head.Kind}
		if listed[to] = true; s.heads[to].Sequence != head.Sequence || s.heads[to].Newest != head.Newest {
			found = append(found, to)
		}
	}
	for to, head := range s.heads {
		if head.Sequence > 0 && !listed[to] {
			found = append(found, to)
		}
	}
	return found
}

// known says whether anything is remembered of an address.
func (s *sent) known(to address) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.heads[to]
	return known
}

func (s *sent) forget(to address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heads, to)
	delete(s.given, to)
	delete(s.times, to)
	delete(s.doubts, to)
	delete(s.reported, to.member)
	delete(s.keyless, to.member)
}

func (s *sent) head(to address) streams.CommandHead {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[to]
}

func (s *sent) at(to address, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[to] = now
}

func (s *sent) freeAt(to address, interval time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.times[to]
	if !known {
		return time.Time{}
	}
	return last.Add(interval)
}

// firstReport says whether a level has not been reported yet for a member.
func (s *sent) firstReport(member string, level int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reported[member] == level {
		return false
	}
	s.reported[member] = level
	return true
}

// firstKeyless says whether it has not been reported yet that a member has no key.
func (s *sent) firstKeyless(member string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, reported := s.keyless[member]
	s.keyless[member] = struct{}{}
	return !reported
}

// outdated says whether a member was reported at another level than this one.
func (s *sent) outdated(member string, level int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	reported, known := s.reported[member]
	return known && reported != level
}
