package reporter

import (
	"slices"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/guard"
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
	checks     *store.Table[api.CheckRecord]
	statuses   *store.Records[api.PlacementStatus]
	freezes    *store.Table[api.Freeze]
	results    placed.Results

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
		checks:     store.Reads[api.CheckRecord](a, subjects.Checks),
		statuses:   store.Writes[api.PlacementStatus](a, subjects.Statuses),
		freezes:    store.Reads[api.Freeze](a, subjects.Freezes),
		results:    placed.ResultsOf(s),
		bound:      placed.Bound(a),
		released:   placed.Released(a),
	}
}

// gather collects what the status of a placement depends on but for what its members say; found is false for one
// without spec.
func (r *records) gather(name string) (in status.Input, found bool, err error) {
	spec, _, found, err := r.placements.Find(name)
	if err != nil || !found {
		return in, false, err
	}
	p, err := api.SpecOf[api.Placement](&spec)
	if err != nil {
		return in, false, err
	}
	in.Placement = *p
	in.Frozen = guard.Read(r.freezes.Find).Of(api.FreezePlacements)
	if in.Latest, err = placed.LatestSnapshot(r.snapshots, name, spec.UID); err != nil {
		return in, false, err
	}
	release, _, found, err := r.releases.Find(name)
	if err != nil {
		return in, false, err
	}
	if found {
		in.Release = &release
	}
	checks, _, found, err := r.checks.Find(name)
	if err != nil {
		return in, false, err
	}
	if found {
		in.Checks = &checks
	}
	schedule, _, found, err := r.schedules.Find(name)
	if err != nil {
		return in, false, err
	}
	if found {
		in.Schedule = &schedule
	}
	return in, true, nil
}

// previous is the status of a placement as it stands, nil when there is none or, with an error, when it cannot be
// read; its revision is 0 when there is none.
func (r *records) previous(name string) (*api.PlacementStatus, uint64, error) {
	stored, revision, found, err := r.statuses.Find(name)
	if !found {
		return nil, revision, err
	}
	return &stored, revision, nil
}

// said is what a member says of a placement, and how it does.
func (r *records) said(member, placement string) (*api.PlacementResult, status.Member, error) {
	view, err := r.view(member)
	return r.results.Of(member, placement), view, err
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
