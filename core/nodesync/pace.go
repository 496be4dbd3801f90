package nodesync

import "time"

// dueAt is when a node may be told of again, or must be. What changes is told together.
func (s *Sync) dueAt(t *node) time.Time {
	at := t.told.Add(s.pace.Resync)
	if t.stored < t.version {
		at = t.told.Add(s.pace.Interval)
	}
	if open := s.paced.Add(s.pace.Interval); open.After(at) {
		return open
	}
	return at
}

// coverAt is when the inventory is to be told before nodes that lost pods: not before nodes that gained
// some may be told instead, nor before the interval of the inventory is over. Nodes that lost some wait for
// that no longer than the interval.
func (s *Sync) coverAt(now time.Time) time.Time {
	at := s.inventory.toldAt.Add(s.pace.Interval)
	for _, t := range s.nodes {
		if due := s.dueAt(t); due.After(now) && due.After(at) && t.failures == 0 && len(t.came()) > 0 && !t.loses() {
			at = due
		}
	}
	if most := s.owing.Add(s.pace.Interval); !s.owing.IsZero() && most.Before(at) {
		return most
	}
	return at
}

// sooner is the earlier of two times; the zero time is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
