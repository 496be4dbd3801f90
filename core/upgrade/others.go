package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// Others is what is known of operations on members that are not those of a planned run.
type Others struct {
	// Locks are those that are held, Runs all runs, Disruptions those of members' nodes.
	Locks       []api.MemberLock
	Runs        []api.UpdateRunStatus
	Disruptions []api.DisruptionRecord
}

// Ends is when the operations of others are expected to end, by member: that of another run as that run
// expects it, that of a disruption after the median of those that ended. A member whose operation is not
// in it is held for nobody knows how long (A64).
func (o *Others) Ends(fleet *Fleet, a Assumptions) map[string]time.Time {
	ends := map[string]time.Time{}
	usual := o.usualDisruption()
	for i := range o.Locks {
		lock := &o.Locks[i]
		if end, known := o.runEnd(lock.Member, lock.Holder, a); known {
			ends[lock.Member] = end
		} else if since, going := o.disruptedSince(lock.Member); going && !strings.HasPrefix(lock.Owner, "run ") && usual > 0 {
			ends[lock.Member] = since.Add(usual)
		}
	}
	for _, name := range fleet.Names() {
		if op := fleet.members[name].Inventory.CurrentOperation; op != "" && ends[name].IsZero() {
			if end, known := o.runEnd(name, op, a); known {
				ends[name] = end
			}
		}
	}
	return ends
}

// runEnd is when an operation of a run on a member is expected to end.
func (o *Others) runEnd(member, operation string, a Assumptions) (time.Time, bool) {
	for i := range o.Runs {
		run := &o.Runs[i]
		m, found := stage.MemberStatus(run, member)
		if !found || m.OperationID != operation || m.Status.State != api.StateRunning {
			continue
		}
		own := DurationsOf(o.Runs[i : i+1])
		took, basis := a.of(run.Policy, &own, m)
		return m.Status.StartTime.Add(took), basis != BasisDefault
	}
	return time.Time{}, false
}

// usualDisruption is the median of the disruptions that ended, 0 when none has.
func (o *Others) usualDisruption() time.Duration {
	var took []time.Duration
	o.each(func(_ string, d *api.Disruption) {
		if !d.Decided.IsZero() && d.Ended.After(d.Decided.Time) {
			took = append(took, d.Ended.Sub(d.Decided.Time))
		}
	})
	return median(took)
}

// disruptedSince is when the latest disruption of a member that goes on was decided.
func (o *Others) disruptedSince(member string) (since time.Time, going bool) {
	o.each(func(name string, d *api.Disruption) {
		if name == member && d.Ended.IsZero() && !d.Decided.IsZero() && d.Decided.After(since) {
			since, going = d.Decided.Time, true
		}
	})
	return since, going
}

func (o *Others) each(f func(member string, d *api.Disruption)) {
	for i := range o.Disruptions {
		for j := range o.Disruptions[i].Disruptions {
			f(o.Disruptions[i].Member, &o.Disruptions[i].Disruptions[j])
		}
	}
}

// held is an operation of somebody else on a member of a simulation.
type held struct {
	member string
	by     string
	ends   time.Time // zero: nobody knows
}

// hold notes what others do on the members of the run, and when it is expected to end.
func (s *Simulation) hold(ends map[string]time.Time) {
	for _, name := range s.View.Fleet.Names() {
		m := s.View.Fleet.members[name]
		owner, locked := s.View.Locks[name]
		status, ours := stage.MemberStatus(&s.Status, name)
		op := m.Inventory.CurrentOperation
		if !ours || !locked && (op == "" || op == status.OperationID) {
			continue
		}
		if !locked {
			owner = "somebody else (" + op + ")"
		}
		end := ends[name]
		if !end.IsZero() && end.Before(s.Now) {
			end = s.Now
		}
		s.others = append(s.others, held{member: name, by: owner, ends: end})
	}
	slices.SortStableFunc(s.others, func(a, b held) int { return stage.SoonestFirst(a.ends, b.ends) })
}

// freed ends what others do on members and is expected to have ended by now.
func (s *Simulation) freed() {
	for len(s.others) > 0 && !s.others[0].ends.IsZero() && !s.others[0].ends.After(s.Now) {
		name := s.others[0].member
		s.others = s.others[1:]
		delete(s.View.Locks, name)
		if m, found := s.View.Fleet.Member(name); found && m.Inventory.CurrentOperation != "" {
			inventory := m.Inventory
			inventory.CurrentOperation = ""
			s.observe(name, inventory)
		}
	}
}

// tellHeld has the members that are still held at the end say for whom they wait.
func (s *Simulation) tellHeld() {
	tree := stage.New(&s.Status, nil, s.Now)
	by := map[string]string{}
	for i := range s.others {
		by[s.others[i].member] = s.others[i].by
	}
	for i := range tree.Status.Stages {
		stage.EachMember(tree.Own(i), func(m *api.MemberUpdateStatus) {
			if by[m.Name] != "" && heldUp(m) {
				m.Message = fmt.Sprintf("waits for an operation of %s, end unknown", by[m.Name])
			}
		})
	}
	s.Status = tree.Status
}

func heldUp(m *api.MemberUpdateStatus) bool {
	return m.Status.State == api.StatePending && (m.Reason == api.ReasonLockedByRun || m.Reason == api.ReasonOperationInProgress)
}
