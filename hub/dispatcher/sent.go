package dispatcher

import (
	"sync"
	"time"

	"flotilla/bus"
)

// address is one subject of commands: a kind of a member.
type address struct{ member, kind string }

// sent remembers what was sent to each address last, and when.
type sent struct {
	mu       sync.Mutex
	heads    map[address]bus.CommandHead
	times    map[address]time.Time
	reported map[string]int // by member
}

func newSent() *sent {
	return &sent{heads: map[address]bus.CommandHead{}, times: map[address]time.Time{}, reported: map[string]int{}}
}

func (s *sent) remember(head bus.CommandHead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads[address{head.Member, head.Kind}] = head
}

func (s *sent) head(to address) bus.CommandHead {
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

// outdated says whether a member was reported at another level than this one.
func (s *sent) outdated(member string, level int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	reported, known := s.reported[member]
	return known && reported != level
}
