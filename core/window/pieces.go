package window

import "sort"

// occurrence returns occurrence k before blackouts.
func (s *Schedule) occurrence(k int) span {
	from := s.clock.instant(s.days.at(k), s.startTime)
	return span{from, from + s.duration}
}

// firstAfter returns the first occurrence that ends after an instant.
func (s *Schedule) firstAfter(at int64) int {
	// Two days back cover a window across midnight in any zone.
	k := max(0, s.days.before(s.clock.date(at)-2))
	for s.occurrence(k).to <= at {
		k++
	}
	return k
}

// piece returns the first part of an occurrence, free of blackouts, that ends after an instant, and
// the number of its occurrence. There is none when it would begin more than the horizon later.
func (s *Schedule) piece(at int64) (span, int, bool) {
	for k := s.firstAfter(at); ; k++ {
		rest := s.occurrence(k)
		if rest.from-at > Horizon {
			return span{}, 0, false
		}
		for p, ok := s.free(rest); ok; p, ok = s.free(rest) {
			if p.to > at {
				return p, k, p.from-at <= Horizon
			}
			rest.from = p.to
		}
	}
}

// free returns the first part of a span that no blackout covers.
func (s *Schedule) free(p span) (span, bool) {
	for _, b := range s.blackouts[s.past(p.from):] {
		if b.from > p.from {
			p.to = min(p.to, b.from)
			break
		}
		p.from = b.to
	}
	return p, p.from < p.to
}

// forward follows a window that ends at end with occurrence k through the occurrences that touch it.
// It reports false when the window is still open at the horizon.
func (s *Schedule) forward(end int64, k int, at int64) (int64, bool) {
	if s.seamless {
		for _, b := range s.blackouts[s.past(end):] {
			if b.from >= end {
				return b.from, b.from-at <= Horizon
			}
		}
		return 0, false
	}
	for end-at <= Horizon {
		k++
		following := s.occurrence(k)
		if following.from > end || s.blocked(end) {
			return end, true
		}
		if p, ok := s.free(span{end, following.to}); ok {
			end = p.to
		}
	}
	return 0, false
}

// back follows a window that begins at from in occurrence k through the occurrences that touch it.
func (s *Schedule) back(from int64, k int) int64 {
	if s.seamless {
		return max(s.occurrence(0).from, s.lastBlocked(from))
	}
	for k > 0 && !s.blocked(from-1) {
		k--
		earlier := s.occurrence(k)
		if earlier.to < from {
			break
		}
		from = min(from, max(earlier.from, s.lastBlocked(from)))
	}
	return from
}

// blocked reports whether a blackout covers an instant.
func (s *Schedule) blocked(at int64) bool {
	past := s.past(at)
	return past < len(s.blackouts) && s.blackouts[past].from <= at
}

// lastBlocked returns the end of the last blackout that ended by an instant, farthest past without one.
func (s *Schedule) lastBlocked(at int64) int64 {
	if past := s.past(at); past > 0 {
		return s.blackouts[past-1].to
	}
	return -farAway
}

// past is how many blackouts have ended by an instant.
func (s *Schedule) past(at int64) int {
	return sort.Search(len(s.blackouts), func(i int) bool { return s.blackouts[i].to > at })
}
