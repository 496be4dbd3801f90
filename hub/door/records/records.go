package records

import (
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/validate"
	"flotilla/subjects"
)

// Tables are what the door reads of bucket state.
type Tables struct {
	State      *store.State
	Placements *store.Records[api.Spec]
	Members    *store.Records[api.Spec]
	Objects    *store.Records[api.Spec]
	Snapshots  *store.Records[api.Snapshot]
	Schedules  *store.Table[api.Schedule]
	Releases   *store.Table[api.Release]
	Renderings *store.Table[api.Rendered]
	Seen       *store.Table[api.MemberRecord]
	Runs       *store.Table[api.UpdateRunStatus]
	Profiles   *store.Table[api.AutoUpgradeProfileStatus]
	// Specs are those of named kinds, by kind.
	Specs map[string]*store.Records[api.Spec]
	ofDisruptor

	parsed parsed
}

// ofDisruptor is what the disruptor writes of pools and of members.
type ofDisruptor struct {
	Pools       *store.Table[api.PoolRecord]
	Disruptions *store.Table[api.DisruptionRecord]
	Locks       *store.Table[api.MemberLock]
}

// parsed is what was made of records, once a revision, by name.
type parsed struct {
	placements store.Parsed[*api.Placement]
	clusters   store.Parsed[*api.MemberCluster]
	members    store.Parsed[api.Member]
}

// New returns the tables of a state, for the door.
func New(s *store.State) *Tables {
	a := s.As(subjects.Door)
	return &Tables{
		State:      s,
		Placements: store.Writes[api.Spec](a, subjects.PlacementSpecs),
		Members:    store.Writes[api.Spec](a, subjects.MemberSpecs),
		Objects:    store.Writes[api.Spec](a, subjects.ObjectSpecs),
		Snapshots:  store.Writes[api.Snapshot](a, subjects.Snapshots),
		Schedules:  store.Reads[api.Schedule](a, subjects.Schedules),
		Releases:   store.Reads[api.Release](a, subjects.Releases),
		Renderings: store.Reads[api.Rendered](a, subjects.Renderings),
		Seen:       store.Reads[api.MemberRecord](a, subjects.Members),
		Runs:       store.Reads[api.UpdateRunStatus](a, subjects.Runs),
		Profiles:   store.Reads[api.AutoUpgradeProfileStatus](a, subjects.Profiles),
		Specs:      specsOf(a),
		ofDisruptor: ofDisruptor{
			Pools:       store.Reads[api.PoolRecord](a, subjects.Pools),
			Disruptions: store.Reads[api.DisruptionRecord](a, subjects.Disruptions),
			Locks:       store.Reads[api.MemberLock](a, subjects.Locks),
		},
	}
}

// Place says where the spec of an object lies: its table and its name there.
func (r *Tables) Place(ref api.ObjectRef) (table *store.Records[api.Spec], name string) {
	switch {
	case !validate.Known(ref.APIVersion, ref.Kind) && ref.APIVersion != "":
		return r.Objects, content.Key(ref)
	case ref.Kind == api.KindMemberCluster:
		return r.Members, ref.Name
	case ref.Kind == api.KindClusterResourcePlacement:
		return r.Placements, ref.Name
	case ref.Kind == api.KindResourcePlacement:
		return r.Placements, ref.Namespace + "/" + ref.Name
	case ref.Kind == api.KindResourceOverride:
		return r.Specs[ref.Kind], api.OverrideKey(ref.Namespace, ref.Name)
	case r.Specs[ref.Kind] != nil:
		return r.Specs[ref.Kind], ref.Name
	}
	return r.Objects, content.Key(ref)
}

// Latest is the newest snapshot of a placement, nil while it has none.
func (r *Tables) Latest(placement, uid string) *api.Snapshot {
	snapshots := r.Snapshots.Group(placement)
	for i := len(snapshots) - 1; i >= 0; i-- {
		if snapshots[i].Value.UID == uid {
			return &snapshots[i].Value
		}
	}
	return nil
}

// Lingers says that a member has left and the registrar is still to forget it: its record has the uid of a spec
// that is gone. To people such a member is gone; what its agent says next begins it anew.
func (r *Tables) Lingers(record *api.MemberRecord) bool {
	_, _, found, err := r.Members.Find(record.Name)
	return record.UID != "" && !found && err == nil
}

// PoolRecord is what the disruptor says of the NodePool that stored is of, nil while it says nothing of it.
func (r *Tables) PoolRecord(stored *api.Spec) *api.PoolRecord {
	record, _, found := r.Pools.Get(stored.Object.Name)
	if !found || record.UID != stored.UID {
		return nil
	}
	return &record
}

// Placement is the placement of an entry, decoded once a revision; it is shared and must not be changed.
func (r *Tables) Placement(entry *store.Entry[api.Spec]) (*api.Placement, error) {
	return r.parsed.placements.Of(entry.Name, entry.Revision, func() (*api.Placement, error) { return api.SpecOf[api.Placement](&entry.Value) })
}

// member is the MemberCluster of an entry, decoded once a revision; it is shared and must not be changed.
func (r *Tables) member(entry *store.Entry[api.Spec]) (*api.MemberCluster, error) {
	return r.parsed.clusters.Of(entry.Name, entry.Revision, func() (*api.MemberCluster, error) { return api.SpecOf[api.MemberCluster](&entry.Value) })
}

// Forget drops what is kept of a placement, or of a member, that is gone.
func (r *Tables) Forget(name string) {
	r.parsed.placements.Drop(name)
	r.parsed.clusters.Drop(name)
	r.parsed.members.Drop(name)
}
