package reporter

import (
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/status"
	"flotilla/subjects"
)

// records are the tables a status depends on.
type records struct {
	placements  *bus.Table[api.Spec]
	members     *bus.Table[api.Spec]
	snapshots   *bus.Table[api.Snapshot]
	seen        *bus.Table[api.MemberRecord]
	schedules   *bus.Table[api.Schedule]
	releases    *bus.Table[api.Release]
	statuses    *bus.Table[api.PlacementStatus]
	disruptions *bus.Table[api.DisruptionRecord]
	results     *bus.Values[api.PlacementResult]
	log         zerolog.Logger

	bound bus.Inverse // of schedules
}

func newRecords(s *bus.Store) *records {
	return &records{
		placements:  bus.TableOf[api.Spec](s.State, subjects.PlacementSpecs),
		members:     bus.TableOf[api.Spec](s.State, subjects.MemberSpecs),
		snapshots:   bus.TableOf[api.Snapshot](s.State, subjects.Snapshots),
		seen:        bus.TableOf[api.MemberRecord](s.State, subjects.Members),
		schedules:   bus.TableOf[api.Schedule](s.State, subjects.Schedules),
		releases:    bus.TableOf[api.Release](s.State, subjects.Releases),
		statuses:    bus.TableOf[api.PlacementStatus](s.State, subjects.Statuses),
		disruptions: bus.TableOf[api.DisruptionRecord](s.State, subjects.Disruptions),
		results:     bus.ValuesOf[api.PlacementResult](s.Results),
		log:         s.Conn.Log,
	}
}

// gather collects what the status of a placement depends on, and the revision of the status as it
// stands, 0 when there is none. A placement without spec has no UID.
func (r *records) gather(name string, now time.Time) (status.Input, uint64, error) {
	in := status.Input{Results: map[string]*api.PlacementResult{}, Members: map[string]status.Member{}, Now: now}
	previous, revision, found, err := r.statuses.Find(name)
	if found {
		in.Previous = &previous
	} else if err != nil {
		r.log.Warn().Err(err).Msg("writing a status over")
	}
	spec, _, found, err := r.placements.Find(name)
	if err != nil {
		return in, 0, err
	}
	if !found {
		return in, revision, nil
	}
	p, err := spec.DecodePlacement()
	if err != nil {
		return in, 0, err
	}
	in.Placement = *p
	if in.Latest, err = r.latest(name, spec.UID); err != nil {
		return in, 0, err
	}
	release, _, found, err := r.releases.Find(name)
	if err != nil {
		return in, 0, err
	}
	if found {
		in.Release = &release
	}
	schedule, _, found, err := r.schedules.Find(name)
	if err != nil || !found {
		return in, revision, err
	}
	in.Schedule = &schedule
	for i := range schedule.Bindings {
		member := schedule.Bindings[i].Member
		if in.Members[member], err = r.view(member); err != nil {
			return in, 0, err
		}
		if result, _ := r.results.Get(subjects.ResultKey(member, subjects.CommandPlacement, name)); result != nil {
			in.Results[member] = result
		}
	}
	return in, revision, nil
}

func (r *records) view(member string) (status.Member, error) {
	record, _, found, err := r.seen.Find(member)
	if err != nil || !found {
		return status.Member{}, err
	}
	return status.Member{State: record.State, LastSeen: record.LastSeen.Time}, nil
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

// noteSchedule keeps the members that a placement is bound to.
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

// on lists the placements that are bound to a member.
func (r *records) on(member string) []string { return r.bound.Of(member) }
