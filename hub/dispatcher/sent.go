package dispatcher

import (
	"sync"
	"time"

	"flotilla/bus"
)

// sent remembers what each member was sent last, and when.
type sent struct {
	mu       sync.Mutex
	heads    map[string]bus.CommandHead
	times    map[string]time.Time
	reported map[string]int
}

func newSent() *sent {
	return &sent{heads: map[string]bus.CommandHead{}, times: map[string]time.Time{}, reported: map[string]int{}}
}

func (s *sent) remember(head bus.CommandHead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads[head.Member] = head
}

func (s *sent) head(member string) bus.CommandHead {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[member]
}

func (s *sent) at(member string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[member] = now
}

func (s *sent) freeAt(member string, interval time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.times[member]
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
