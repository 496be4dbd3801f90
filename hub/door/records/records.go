package records

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/guard"
	"flotilla/core/validate"
	"flotilla/core/verdict"
	"flotilla/subjects"
)

// Tables are what the door reads of bucket state.
type Tables struct {
	State      *store.State
	Placements *store.Records[api.Spec]
	Members    *store.Records[api.Spec]
	Objects    *store.Records[api.Spec]
	Snapshots  *store.Records[api.Snapshot]
	Seen       *store.Table[api.MemberRecord]
	Runs       *store.Table[api.UpdateRunStatus]
	Staged     *placed.StagedRuns
	Profiles   *store.Table[api.AutoUpgradeProfileStatus]
	// Specs are those of named kinds, by kind.
	Specs map[string]*store.Records[api.Spec]
	ofRollouts
	ofDisruptor
	ofGuards

	parsed parsed
}

// ofRollouts is what rooms decided about where placements go, and how.
type ofRollouts struct {
	Schedules  *store.Table[api.Schedule]
	Releases   *store.Table[api.Release]
	Renderings *store.Table[api.Rendered]
	Evictions  *store.Table[api.EvictionRecord]
	Verdicts   *store.Table[verdict.Verdicts]
	Checks     *store.Table[api.CheckRecord]
}

// ofDisruptor is what the disruptor writes of pools and of members.
type ofDisruptor struct {
	Pools       *store.Table[api.PoolRecord]
	Disruptions *store.Table[api.DisruptionRecord]
	Locks       *store.Table[api.MemberLock]
}

// ofGuards is what people say of what is to stay as it is.
type ofGuards struct {
	Freezes   *store.Records[api.Freeze]
	Approvals *store.Records[api.WithdrawalApproval]
}

// New returns the tables of a state, for the door.
func New(s *store.State) *Tables {
	a := s.As(subjects.Door)
	r := &Tables{
		State:      s,
		Placements: store.Writes[api.Spec](a, subjects.PlacementSpecs),
		Members:    store.Writes[api.Spec](a, subjects.MemberSpecs),
		Objects:    store.Writes[api.Spec](a, subjects.ObjectSpecs),
		Snapshots:  store.Writes[api.Snapshot](a, subjects.Snapshots),
		Seen:       store.Reads[api.MemberRecord](a, subjects.Members),
		Runs:       store.Reads[api.UpdateRunStatus](a, subjects.Runs),
		Staged:     placed.StagedRunsOf(a),
		Profiles:   store.Reads[api.AutoUpgradeProfileStatus](a, subjects.Profiles),
		Specs:      specsOf(a),
		ofRollouts: ofRollouts{
			Schedules:  store.Reads[api.Schedule](a, subjects.Schedules),
			Releases:   store.Reads[api.Release](a, subjects.Releases),
			Renderings: store.Reads[api.Rendered](a, subjects.Renderings),
			Evictions:  store.Reads[api.EvictionRecord](a, subjects.Evictions),
			Verdicts:   store.Reads[verdict.Verdicts](a, subjects.Verdicts),
			Checks:     store.Reads[api.CheckRecord](a, subjects.Checks),
		},
		ofDisruptor: ofDisruptor{
			Pools:       store.Reads[api.PoolRecord](a, subjects.Pools),
			Disruptions: store.Reads[api.DisruptionRecord](a, subjects.Disruptions),
			Locks:       store.Reads[api.MemberLock](a, subjects.Locks),
		},
		ofGuards: ofGuards{
			Freezes:   store.Writes[api.Freeze](a, subjects.Freezes),
			Approvals: store.Writes[api.WithdrawalApproval](a, subjects.Approvals),
		},
	}
	r.follow()
	return r
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
	case inNamespaces(ref.Kind):
		return r.Specs[ref.Kind], api.Keyed(ref.Namespace, ref.Name)
	case r.Specs[ref.Kind] != nil:
		return r.Specs[ref.Kind], ref.Name
	}
	return r.Objects, content.Key(ref)
}

// Frozen finds the freezes.
func (r *Tables) Frozen() guard.Freezes { return guard.Read(r.Freezes.Find) }

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

// History are the snapshots of a placement that are kept, oldest first, without those of a former one of its name.
func (r *Tables) History(placement, uid string) []*api.Snapshot {
	kept := r.Snapshots.Group(placement)
	past := make([]*api.Snapshot, 0, len(kept))
	for i := range kept {
		if kept[i].Value.UID == uid {
			past = append(past, &kept[i].Value)
		}
	}
	return past
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
	return Decoded[api.MemberCluster](r, entry)
}

// Cluster is the MemberCluster of a name, false where nobody admitted the member; one whose body cannot be read has its
// metadata alone. It is shared and must not be changed.
func (r *Tables) Cluster(name string) (*api.MemberCluster, bool) {
	spec, revision, found := r.Members.Get(name)
	if !found {
		return nil, false
	}
	m, err := r.member(&store.Entry[api.Spec]{Name: name, Value: spec, Revision: revision})
	if err != nil {
		m = &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(spec.UID), Labels: spec.Labels, CreationTimestamp: spec.Created, DeletionTimestamp: spec.Deleted,
		}}
	}
	return m, true
}

// IsDrained says that a member, stored with a revision, is to give up what placements have on it.
func (r *Tables) IsDrained(stored *api.Spec, revision uint64) bool {
	m, err := r.member(&store.Entry[api.Spec]{Name: stored.Object.Name, Value: *stored, Revision: revision})
	return err == nil && api.Draining(m.Spec.Taints)
}

// Forget drops what is kept of a placement, or of a member, that is gone.
func (r *Tables) Forget(name string) {
	r.parsed.placements.Drop(name)
	r.parsed.objects[api.KindMemberCluster].Drop(name)
	r.parsed.members.Drop(name)
}
