package roller

import (
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/rollout"
	"flotilla/subjects"
)

// records are the tables a release depends on.
type records struct {
	placements *bus.Table[api.Spec]
	members    *bus.Table[api.Spec]
	snapshots  *bus.Table[api.Snapshot]
	seen       *bus.Table[api.MemberRecord]
	schedules  *bus.Table[api.Schedule]
	releases   *bus.Table[api.Release]
	results    *bus.Values[api.PlacementResult]
}

func newRecords(s *bus.Store) *records {
	return &records{
		placements: bus.TableOf[api.Spec](s.State, subjects.PlacementSpecs),
		members:    bus.TableOf[api.Spec](s.State, subjects.MemberSpecs),
		snapshots:  bus.TableOf[api.Snapshot](s.State, subjects.Snapshots),
		seen:       bus.TableOf[api.MemberRecord](s.State, subjects.Members),
		schedules:  bus.TableOf[api.Schedule](s.State, subjects.Schedules),
		releases:   bus.TableOf[api.Release](s.State, subjects.Releases),
		results:    bus.ValuesOf[api.PlacementResult](s.Results),
	}
}

// gather collects what the release of a placement depends on, and the revision of the release as it
// stands, 0 when there is none. A placement without spec has no UID.
func (r *records) gather(name string, now time.Time) (rollout.Input, uint64, error) {
	in := rollout.Input{
		Results: map[string]*api.PlacementResult{}, Members: map[string]rollout.MemberView{}, Now: now,
	}
	spec, _, found := r.placements.Get(name)
	if found {
		p, err := spec.DecodePlacement()
		if err != nil {
			return in, 0, err
		}
		in.Placement = *p
	}
	in.Latest = r.latest(name, spec.UID)
	if schedule, _, found := r.schedules.Get(name); found {
		in.Schedule = &schedule
		for i := range schedule.Bindings {
			r.addMember(&in, schedule.Bindings[i].Member, name)
		}
	}
	release, revision, found := r.releases.Get(name)
	if found {
		in.Release = &release
		for i := range release.Entries {
			r.addMember(&in, release.Entries[i].Member, name)
		}
	}
	return in, revision, nil
}

func (r *records) addMember(in *rollout.Input, member, placement string) {
	if _, known := in.Members[member]; known {
		return
	}
	in.Members[member] = r.view(member)
	if result, _ := r.results.Get(subjects.ResultKey(member, subjects.CommandPlacement, placement)); result != nil {
		in.Results[member] = result
	}
}

// view is what a rollout sees of a member: its spec says whether it is part of the fleet, its record
// how it does.
func (r *records) view(member string) rollout.MemberView {
	spec, _, found := r.members.Get(member)
	if !found {
		return rollout.MemberView{Gone: true}
	}
	var v rollout.MemberView
	if record, _, found := r.seen.Get(member); found {
		v.State = record.State
	}
	if spec.Deleted == nil {
		return v
	}
	v.Leaving = true
	if mc, err := spec.DecodeMember(); err == nil && mc.Spec.DeleteOptions != nil {
		v.WhenLeaving = mc.Spec.DeleteOptions.WhenLeaving
	}
	return v
}

// latest is the newest snapshot of a placement, nil while it has none.
func (r *records) latest(placement, uid string) *api.Snapshot {
	all := r.snapshots.Group(placement)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Value.UID == uid {
			return &all[i].Value
		}
	}
	return nil
}

// on lists the placements that are bound or released to a member.
func (r *records) on(member string) []string {
	var placements []string
	for _, s := range r.schedules.All() {
		if slices.ContainsFunc(s.Value.Bindings, func(b api.Binding) bool { return b.Member == member }) {
			placements = append(placements, s.Name)
		}
	}
	for _, s := range r.releases.All() {
		if slices.ContainsFunc(s.Value.Entries, func(e api.ReleaseEntry) bool { return e.Member == member }) {
			placements = append(placements, s.Name)
		}
	}
	return placements
}
