package show

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/status"
	"flotilla/hub/door/records"
)

// OnMember answers what a member holds, and who has a hold of it.
func (v *View) OnMember(_ context.Context, request *api.MemberRequest) (any, error) {
	name := request.Name
	_, _, admitted := v.records.Members.Get(name)
	_, _, seen := v.records.Seen.Get(name)
	on := &api.OnMember{Member: name, Placements: v.placementsOn(name)}
	if !admitted && !seen && len(on.Placements) == 0 {
		return nil, records.NotFound(api.ObjectRef{Kind: api.KindMemberCluster, Name: name})
	}
	on.Runs, on.RunsTotal = v.runsOn(name)
	on.Evictions = v.evictionsOn(name)
	if lock, _, held := v.records.Locks.Get(name); held {
		on.Lock = &api.MemberHold{Member: name, Holder: lock.Owner, Since: lock.Since}
	}
	return on, nil
}

func (v *View) placementsOn(member string) []api.PlacementOn {
	on := []api.PlacementOn{}
	for _, entry := range v.records.Placements.All() {
		if !v.names(entry.Name, member) {
			continue
		}
		p, err := v.records.Placement(&entry)
		if err != nil { // a problem of its own, see unreadableProblems
			continue
		}
		in := v.groundOf(p)
		alone(&in, member)
		st := status.NewFold(in, v.said(entry.Name)).Show(in.Previous, in.JudgeFrom, in.Now, false)
		on = append(on, entriesOf(&st, entry.Name, member)...)
	}
	return on
}

// alone leaves of what a placement does on members what it does on one.
func alone(in *status.Input, member string) {
	if in.Schedule != nil {
		schedule := *in.Schedule
		schedule.Bindings = slices.DeleteFunc(slices.Clone(schedule.Bindings), func(b api.Binding) bool { return b.Member != member })
		in.Schedule = &schedule
	}
	if in.Release != nil {
		release := *in.Release
		release.Entries = slices.DeleteFunc(slices.Clone(release.Entries), func(e api.ReleaseEntry) bool { return e.Member != member })
		in.Release = &release
	}
}

func entriesOf(st *api.PlacementStatus, placement, member string) (on []api.PlacementOn) {
	for i := range st.PlacementStatuses {
		if e := &st.PlacementStatuses[i]; e.ClusterName == member {
			on = append(on, api.PlacementOn{Placement: placement, Snapshot: e.ObservedResourceIndex, State: e.State, Since: e.Since, Message: e.Message})
		}
	}
	for i := range st.Withdrawals {
		if w := &st.Withdrawals[i]; len(on) == 0 {
			on = append(on, api.PlacementOn{Placement: placement, State: api.EntryWithdrawing, Since: w.Since, Message: w.Message})
		}
	}
	return on
}

// runsOn are the runs that name a member, the newest first, and how many there are.
func (v *View) runsOn(member string) ([]api.RunOn, int) {
	type dated struct {
		api.RunOn
		began metav1.Time
	}
	var found []dated
	for _, entry := range v.records.Runs.All() {
		if on, there := standingIn(&entry.Value, member); there {
			found = append(found, dated{on, entry.Value.Status.StartTime})
		}
	}
	slices.SortFunc(found, func(a, b dated) int { return cmp.Or(b.began.Compare(a.began.Time), cmp.Compare(a.Run, b.Run)) })
	runs := []api.RunOn{}
	for i := range found[:min(len(found), api.MaxRunsOn)] {
		runs = append(runs, found[i].RunOn)
	}
	return runs, len(found)
}

func standingIn(run *api.UpdateRunStatus, member string) (api.RunOn, bool) {
	for i := range run.Stages {
		for k := range run.Stages[i].Groups {
			members := run.Stages[i].Groups[k].Members
			at, there := slices.BinarySearchFunc(members, member, func(m api.MemberUpdateStatus, name string) int { return cmp.Compare(m.Name, name) })
			if !there {
				continue
			}
			m := &members[at]
			since := m.Status.CompletedTime
			if since.IsZero() {
				since = m.Status.StartTime
			}
			return api.RunOn{Run: run.Run, Content: run.Content != nil, Stage: run.Stages[i].Name, State: m.Status.State, Since: since, Message: cmp.Or(m.Message, m.Reason)}, true
		}
	}
	return api.RunOn{}, false
}

// evictionsOn are those that name a member, the newest first.
func (v *View) evictionsOn(member string) (on []api.EvictionOn) {
	for _, entry := range v.records.Specs[api.KindEviction].All() {
		asked, err := api.SpecOf[api.ClusterResourcePlacementEviction](&entry.Value)
		if err != nil || asked.Spec.ClusterName != member {
			continue
		}
		one := api.EvictionOn{Name: entry.Name, Placement: asked.Spec.PlacementName, Created: entry.Value.Created, State: "Pending"}
		if record, _, judged := v.records.Evictions.Get(entry.Name); judged && record.UID == entry.Value.UID {
			one.State, one.Message = outcome(record.Conditions)
		}
		on = append(on, one)
	}
	slices.SortFunc(on, func(a, b api.EvictionOn) int {
		return cmp.Or(b.Created.Compare(a.Created.Time), cmp.Compare(a.Name, b.Name))
	})
	return on[:min(len(on), api.MaxRunsOn)]
}

// outcome is what became of an eviction.
func outcome(conditions []metav1.Condition) (state, message string) {
	state = "Pending"
	for _, c := range conditions {
		switch {
		case c.Status == metav1.ConditionFalse:
			return "Refused", c.Message
		case c.Type == api.EvictionExecuted:
			state, message = "Executed", c.Message
		}
	}
	return state, message
}
