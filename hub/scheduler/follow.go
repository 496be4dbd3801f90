package scheduler

import (
	"errors"
	"maps"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

// follow brings the fleet in step with a member's records and wakes the placements it may concern.
func (s *Scheduler) follow(name string) error {
	now := s.store.Now()
	member, err := s.records.member(name, now)
	if errors.Is(err, bus.ErrNotFound) {
		s.mu.Lock()
		gone := s.fleet.Remove(name)
		delete(s.drained, name)
		s.mu.Unlock()
		if gone {
			s.wakeAll(name, now)
		}
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, known := s.fleet.Member(name)
	turned := !known || turns(&before, &member)
	properties, spaces := differing(before.Properties, member.Properties), spacesDiffer(&before, &member)
	if turned || len(properties) > 0 || spaces != nil {
		s.fleet.Set(member)
		s.noteDrain(&member)
	}
	s.mu.Unlock()
	if turned {
		s.wakeAll(name, now)
		return nil
	}
	for _, placement := range s.interests.naming(properties) {
		s.wakeLater(placement, now)
	}
	if spaces != nil {
		for _, placement := range s.interests.within(spaces) {
			s.queue.AddAt(placementKey+placement, now.Add(settle))
		}
	}
	return nil
}

// catchUp takes in every member that changed. Those that cannot be read have a key of their own in the
// queue, which tells of them and tries again (D5).
func (s *Scheduler) catchUp() {
	s.following.Lock()
	defer s.following.Unlock()
	for _, name := range s.news.Take() {
		_ = s.follow(name)
	}
}

// spacesDiffer says for which namespaces a and b are not alike, nil when they are for all.
func spacesDiffer(a, b *api.Member) func(namespace string) bool {
	switch {
	case a.NamespaceCondition != b.NamespaceCondition || a.NamespacesKnown != b.NamespacesKnown:
		return func(string) bool { return true }
	case slices.Equal(a.Namespaces, b.Namespaces):
		return nil
	}
	return func(namespace string) bool {
		return slices.Contains(a.Namespaces, namespace) != slices.Contains(b.Namespaces, namespace)
	}
}

// turns reports whether anything but properties and namespaces differs. What differs in the ages of states that stay
// the same does not count.
func turns(a, b *api.Member) bool {
	return !maps.Equal(a.Labels, b.Labels) || !slices.Equal(a.Agent.Stated, b.Agent.Stated) || !slices.Equal(a.Taints, b.Taints) ||
		a.HasAgent != b.HasAgent || a.Joined != b.Joined || a.Leaving != b.Leaving || a.UID != b.UID ||
		a.Healthy != b.Healthy || !a.HealthChanged.Equal(b.HealthChanged) || !a.LastHeartbeat.Equal(b.LastHeartbeat)
}

// differing lists the properties that a and b do not have alike.
func differing(a, b map[string]string) []string {
	var names []string
	for name, value := range a {
		if now, kept := b[name]; !kept || now != value {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, had := a[name]; !had {
			names = append(names, name)
		}
	}
	return names
}

// wakeAll wakes every placement after a member turned: at once those that it may join or leave, the
// others later, for their verdicts.
func (s *Scheduler) wakeAll(member string, now time.Time) {
	for _, entry := range s.records.placements.All() {
		if s.interests.eager(entry.Name) || s.binds(entry.Name, member) {
			s.queue.AddAt(placementKey+entry.Name, now.Add(settle))
			continue
		}
		s.wakeLater(entry.Name, now)
	}
}

// wakeLater wakes a placement, at most once per pause.
func (s *Scheduler) wakeLater(name string, now time.Time) {
	s.queue.AddAt(placementKey+name, s.interests.due(name, now, s.options.Pause))
}

// binds reports whether the placement is bound to the member.
func (s *Scheduler) binds(placement, member string) bool {
	current, _, found := s.records.schedules.Get(placement)
	if !found {
		return false
	}
	_, bound := slices.BinarySearchFunc(current.Bindings, member, func(b api.Binding, name string) int {
		switch {
		case b.Member < name:
			return -1
		case b.Member > name:
			return 1
		}
		return 0
	})
	return bound
}
