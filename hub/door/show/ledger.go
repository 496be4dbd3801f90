package show

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/eviction"
)

// book is how the bindings of a placement stand, as the scheduler judges evictions and drains by it.
func (v *View) book(p *api.Placement) *eviction.Book {
	in, name := eviction.Input{Placement: p, Freezes: v.records.Frozen()}, p.Key()
	if schedule, _, found := v.records.Schedules.Get(name); found {
		in.Schedule = &schedule
	}
	if release, _, found := v.records.Releases.Get(name); found {
		in.Release = &release
	}
	if stored, _, found := v.records.Specs[api.KindDisruptionBudget].Get(name); found {
		if b, err := api.SpecOf[api.ClusterResourcePlacementDisruptionBudget](&stored); err == nil {
			in.Budget = &b.Spec
		}
	}
	in.Known = func(member string) (known eviction.Known) {
		known.Result = v.results.Of(member, name)
		record, _, seen := v.records.Seen.Get(member)
		known.Silent = !seen || record.State == api.MemberUnknown
		if lock, _, held := v.records.Locks.Get(member); held {
			known.Holder = lock.Owner
		}
		return known
	}
	return eviction.Open(in)
}

// drainOf is how far a member has come that is drained.
func (v *View) drainOf(member string) *api.MemberDrain {
	drain := &api.MemberDrain{}
	for _, entry := range v.records.Placements.All() {
		if !v.names(entry.Name, member) {
			continue
		}
		p, err := v.records.Placement(&entry)
		if err != nil { // a problem of its own, see unreadableProblems
			continue
		}
		stage, reason := v.book(p).Progress(member)
		switch stage {
		case eviction.Leaving:
			drain.Leaving++
		case eviction.Waits:
			drain.Waits++
		case eviction.Stays:
			drain.Stays++
		default:
			continue
		}
		if len(drain.Placements) < api.MaxDrainedPlacements {
			drain.Placements = append(drain.Placements, api.DrainedPlacement{Placement: entry.Name, Stage: string(stage), Reason: reason})
		}
	}
	return drain
}

// Evicted says what would come of an eviction, as all stands.
func (v *View) Evicted(asked *api.PlacementEvictionSpec) string {
	book := eviction.Open(eviction.Input{})
	if stored, revision, found := v.records.Placements.Get(asked.PlacementName); found {
		if p, err := v.records.Placement(&store.Entry[api.Spec]{Name: asked.PlacementName, Value: stored, Revision: revision}); err == nil {
			book = v.book(p)
		}
	}
	return "as all stands: " + book.Judge(asked.ClusterName).Message
}

// Drained says what would come of the placements on a member that is drained, as all stands.
func (v *View) Drained(member string) (lines []string) {
	for _, p := range v.drainOf(member).Placements {
		line := p.Placement + " " + strings.ToLower(p.Stage)
		if p.Stage == string(eviction.Leaving) {
			line = p.Placement + " leaves"
		}
		if p.Reason != "" {
			line += ": " + p.Reason
		}
		lines = append(lines, line)
	}
	return lines
}

// names says that the schedule or the release of a placement names a member; both are sorted.
func (v *View) names(placement, member string) bool {
	schedule, _, _ := v.records.Schedules.Get(placement)
	_, bound := slices.BinarySearchFunc(schedule.Bindings, member, func(b api.Binding, name string) int { return cmp.Compare(b.Member, name) })
	release, _, _ := v.records.Releases.Get(placement)
	_, released := slices.BinarySearchFunc(release.Entries, member, func(e api.ReleaseEntry, name string) int { return cmp.Compare(e.Member, name) })
	return bound || released
}

// held lists who has a hold of members: locks first, then placements that are on the way to one, or off.
func (v *View) held(fleet *api.FleetStatus, moving []api.MemberHold) {
	var holds []api.MemberHold
	for _, lock := range v.records.Locks.All() {
		holds = append(holds, api.MemberHold{Member: lock.Name, Holder: lock.Value.Owner, Since: lock.Value.Since})
	}
	slices.SortStableFunc(moving, func(a, b api.MemberHold) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Holder, b.Holder))
	})
	holds = append(holds, moving...)
	fleet.Held, fleet.HeldTotal = holds[:min(len(holds), api.MaxHolds)], len(holds)
}

// withdraws says that a member is to give up what a release has there.
func withdraws(release *api.Release) bool {
	return release != nil && slices.ContainsFunc(release.Entries, func(e api.ReleaseEntry) bool { return e.Withdrawn })
}
