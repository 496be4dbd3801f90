package scheduler

import (
	"slices"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/subjects"
)

// drain takes out of what is gathered the bindings to members that are drained, as far as the budget lets them go, and
// reports whether any has to wait: for the budget, or until what it is judged by can be read, which holds up nothing else.
func (s *Scheduler) drain(g *gathered) (waits bool) {
	members := s.drainedOf(g.in.Existing)
	switch {
	case len(members) == 0 || g.in.Deleting:
		return false
	case !s.store.Results.Synced():
		return true
	}
	book, err := s.records.book(g)
	if err != nil {
		s.options.Log.Warn().Err(err).Str("placement", g.in.Placement).Msg("draining")
		return true
	}
	gone, waits := book.Drain(members)
	for _, member := range gone {
		g.in.Drained = with(g.in.Drained, member)
		g.holds = []store.Op{g.released}
	}
	return waits
}

// gather is that of the records, without members among the drained whose drain ended.
func (s *Scheduler) gather(name string) (*gathered, bool, error) {
	g, found, err := s.records.gather(name, s.store.Now(), s.options.Thresholds)
	if found {
		g.in.Drained = slices.DeleteFunc(slices.Clone(g.in.Drained), func(member string) bool { return !s.isDrained(member) })
	}
	return g, found, err
}

// drainedOf are the members among bindings that are drained.
func (s *Scheduler) drainedOf(existing []schedule.Existing) (members []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := 0; i < len(existing) && len(s.drained) > 0; i++ {
		if s.drained[existing[i].Member] {
			members = append(members, existing[i].Member)
		}
	}
	return members
}

// isDrained says that a member is to give up what placements have on it.
func (s *Scheduler) isDrained(member string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.drained[member]
}

// noteDrain keeps which members are drained; the lock is held.
func (s *Scheduler) noteDrain(m *api.Member) {
	if api.Draining(m.Taints) {
		s.drained[m.Name] = true
	} else {
		delete(s.drained, m.Name)
	}
}

// watchEvictions wakes evictions that are asked for, and placements that wait to let go of members.
func (s *Scheduler) watchEvictions() {
	asked := func(name string) { s.queue.Add(evictionKey + name) }
	s.records.asked.OnChange(asked)
	s.records.outcomes.OnChange(asked)
	s.records.releases.OnChange(s.stir)
	s.records.budgets.OnChange(s.stir)
	s.records.locks.OnChange(s.stirAll)
	s.records.freezes.OnChange(s.stirAll)
	s.store.Results.OnChange(s.heard)
}

// heard wakes a placement that waits for what its members report.
func (s *Scheduler) heard(key string) {
	if _, kind, placement, ok := subjects.ParseResultKey(key); ok && kind == subjects.CommandPlacement {
		s.stir(placement)
	}
}

// stir wakes a placement that waits for more than its members' records.
func (s *Scheduler) stir(placement string) {
	if s.interests.waits(placement) {
		s.queue.AddAt(placementKey+placement, s.store.Now().Add(settle))
	}
}

// stirAll wakes every placement that does.
func (s *Scheduler) stirAll(string) {
	for _, placement := range s.interests.list(func(i *interest) bool { return i.waits }) {
		s.queue.AddAt(placementKey+placement, s.store.Now().Add(settle))
	}
}
