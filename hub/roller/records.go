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

	bound, released bus.Inverse // of schedules and releases
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
	spec, _, found, err := r.placements.Find(name)
	if err != nil {
		return in, 0, err
	}
	if found {
		p, err := spec.DecodePlacement()
		if err != nil {
			return in, 0, err
		}
		in.Placement = *p
	}
	if in.Latest, err = r.latest(name, spec.UID); err != nil {
		return in, 0, err
	}
	schedule, _, found, err := r.schedules.Find(name)
	if err != nil {
		return in, 0, err
	}
	if found {
		in.Schedule = &schedule
		for i := range schedule.Bindings {
			if err := r.addMember(&in, schedule.Bindings[i].Member, name); err != nil {
				return in, 0, err
			}
		}
	}
	release, revision, found, err := r.releases.Find(name)
	if err != nil {
		return in, 0, err
	}
	if found {
		in.Release = &release
		for i := range release.Entries {
			if err := r.addMember(&in, release.Entries[i].Member, name); err != nil {
				return in, 0, err
			}
		}
	}
	return in, revision, nil
}

func (r *records) addMember(in *rollout.Input, member, placement string) error {
	if _, known := in.Members[member]; known {
		return nil
	}
	view, err := r.view(member)
	if err != nil {
		return err
	}
	in.Members[member] = view
	if result, _ := r.results.Get(subjects.ResultKey(member, subjects.CommandPlacement, placement)); result != nil {
		in.Results[member] = result
	}
	return nil
}

// view is what a rollout sees of a member: its spec says whether it is part of the fleet, its record
// how it does.
func (r *records) view(member string) (rollout.MemberView, error) {
	spec, _, found, err := r.members.Find(member)
	if err != nil {
		return rollout.MemberView{}, err
	}
	if !found {
		return rollout.MemberView{Gone: true}, nil
	}
	record, _, _, err := r.seen.Find(member)
	if err != nil {
		return rollout.MemberView{}, err
	}
	v := rollout.MemberView{State: record.State}
	if spec.Deleted == nil {
		return v, nil
	}
	v.Leaving = true
	if mc, err := spec.DecodeMember(); err == nil && mc.Spec.DeleteOptions != nil {
		v.WhenLeaving = mc.Spec.DeleteOptions.WhenLeaving
	}
	return v, nil
}

// latest is the newest snapshot of a placement, nil while it has none.
func (r *records) latest(placement, uid string) (*api.Snapshot, error) {
	all, err := r.snapshots.FindGroup(placement)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Value.UID == uid {
			return &all[i].Value, nil
		}
	}
	return nil, err
}

// noteSchedule and noteRelease keep the members that a placement is bound and released to.
func (r *records) noteSchedule(placement string) {
	schedule, _, _, err := r.schedules.Find(placement)
	if err != nil {
		return // they stay as they were
	}
	members := make([]string, len(schedule.Bindings))
	for i := range schedule.Bindings {
		members[i] = schedule.Bindings[i].Member
	}
	r.bound.Set(placement, members)
}

func (r *records) noteRelease(placement string) {
	release, _, _, err := r.releases.Find(placement)
	if err != nil {
		return
	}
	members := make([]string, len(release.Entries))
	for i := range release.Entries {
		members[i] = release.Entries[i].Member
	}
	r.released.Set(placement, members)
}

// on lists the placements that are bound or released to a member.
func (r *records) on(member string) []string {
	all := append(r.bound.Of(member), r.released.Of(member)...)
	slices.Sort(all)
	return slices.Compact(all)
}
