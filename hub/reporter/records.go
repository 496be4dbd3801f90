package reporter

import (
	"slices"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/status"
	"flotilla/subjects"
)

// records are the tables a status depends on.
type records struct {
	placements *store.Table[api.Spec]
	members    *store.Table[api.Spec]
	snapshots  *store.Table[api.Snapshot]
	seen       *store.Table[api.MemberRecord]
	schedules  *store.Table[api.Schedule]
	releases   *store.Table[api.Release]
	statuses   *store.Records[api.PlacementStatus]
	results    *watch.Values[api.PlacementResult]
	log        zerolog.Logger

	bound, released *store.Inverse
}

func newRecords(s *store.Store) *records {
	a := s.State.As(subjects.Reporter)
	return &records{
		placements: store.Reads[api.Spec](a, subjects.PlacementSpecs),
		members:    store.Reads[api.Spec](a, subjects.MemberSpecs),
		snapshots:  store.Reads[api.Snapshot](a, subjects.Snapshots),
		seen:       store.Reads[api.MemberRecord](a, subjects.Members),
		schedules:  store.Reads[api.Schedule](a, subjects.Schedules),
		releases:   store.Reads[api.Release](a, subjects.Releases),
		statuses:   store.Writes[api.PlacementStatus](a, subjects.Statuses),
		results:    watch.ValuesOf[api.PlacementResult](s.Results),
		log:        s.Conn.Log,
		bound:      store.Bound(a),
		released:   store.Released(a),
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
	p, err := api.SpecOf[api.Placement](&spec)
	if err != nil {
		return in, 0, err
	}
	in.Placement = *p
	if in.Latest, err = store.LatestSnapshot(r.snapshots, name, spec.UID); err != nil {
		return in, 0, err
	}
	release, _, found, err := r.releases.Find(name)
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
	schedule, _, found, err := r.schedules.Find(name)
	if err != nil || !found {
		return in, revision, err
	}
	in.Schedule = &schedule
	for i := range schedule.Bindings {
		if err := r.addMember(&in, schedule.Bindings[i].Member, name); err != nil {
			return in, 0, err
		}
	}
	return in, revision, nil
}

func (r *records) addMember(in *status.Input, member, placement string) error {
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

func (r *records) view(member string) (status.Member, error) {
	record, _, found, err := r.seen.Find(member)
	if err != nil || !found {
		return status.Member{}, err
	}
	return status.Member{State: record.State, LastSeen: record.LastSeen.Time, Since: record.Since.Time}, nil
}

// on lists the placements that are bound or released to a member.
func (r *records) on(member string) []string {
	all := append(r.bound.Of(member), r.released.Of(member)...)
	slices.Sort(all)
	return slices.Compact(all)
}
