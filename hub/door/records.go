package door

import (
	"sync"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/validate"
	"flotilla/core/verdict"
	"flotilla/subjects"
)

// records are the tables the door reads.
type records struct {
	state      *bus.State
	placements *bus.Records[api.Spec]
	members    *bus.Records[api.Spec]
	objects    *bus.Records[api.Spec]
	snapshots  *bus.Records[api.Snapshot]
	schedules  *bus.Table[api.Schedule]
	releases   *bus.Table[api.Release]
	verdicts   *bus.Table[verdict.Verdicts]
	statuses   *bus.Table[api.PlacementStatus]
	seen       *bus.Table[api.MemberRecord]
	users      *bus.Records[api.User]
	identities *bus.Table[api.Identity]
	upgrades   *upgrades
	// specs are those of named kinds, by kind.
	specs map[string]*bus.Records[api.Spec]
	pools *bus.Table[api.PoolRecord]
	// disruptions and locks are the disruptor's, of members.
	disruptions *bus.Table[api.DisruptionRecord]
	locks       *bus.Table[api.MemberLock]
}

func newRecords(s *bus.State) *records {
	a := s.As(subjects.Door)
	return &records{
		state:      s,
		placements: bus.Writes[api.Spec](a, subjects.PlacementSpecs),
		members:    bus.Writes[api.Spec](a, subjects.MemberSpecs),
		objects:    bus.Writes[api.Spec](a, subjects.ObjectSpecs),
		snapshots:  bus.Writes[api.Snapshot](a, subjects.Snapshots),
		schedules:  bus.Reads[api.Schedule](a, subjects.Schedules),
		releases:   bus.Reads[api.Release](a, subjects.Releases),
		verdicts:   bus.Reads[verdict.Verdicts](a, subjects.Verdicts),
		statuses:   bus.Reads[api.PlacementStatus](a, subjects.Statuses),
		seen:       bus.Reads[api.MemberRecord](a, subjects.Members),
		users:      bus.Writes[api.User](a, subjects.Users),
		identities: bus.Reads[api.Identity](a, subjects.Identities),
		upgrades:   newUpgrades(a),
		specs:      specsOf(a),
		pools:      bus.Reads[api.PoolRecord](a, subjects.Pools),

		disruptions: bus.Reads[api.DisruptionRecord](a, subjects.Disruptions),
		locks:       bus.Reads[api.MemberLock](a, subjects.Locks),
	}
}

// place says where the spec of an object lies: its table and its name there.
func (r *records) place(ref api.ObjectRef) (table *bus.Records[api.Spec], name string) {
	switch {
	case !validate.Known(ref.APIVersion, ref.Kind) && ref.APIVersion != "":
		return r.objects, content.Key(ref)
	case ref.Kind == api.KindMemberCluster:
		return r.members, ref.Name
	case ref.Kind == api.KindClusterResourcePlacement:
		return r.placements, ref.Name
	case ref.Kind == api.KindResourcePlacement:
		return r.placements, ref.Namespace + "/" + ref.Name
	case r.specs[ref.Kind] != nil:
		return r.specs[ref.Kind], ref.Name
	}
	return r.objects, content.Key(ref)
}

// latest is the newest snapshot of a placement, nil while it has none.
func (r *records) latest(placement, uid string) *api.Snapshot {
	return newest(r.snapshots.Group(placement), uid)
}

// newest is the last of snapshots, sorted by index, that is of the object with that uid.
func newest(snapshots []bus.Entry[api.Snapshot], uid string) *api.Snapshot {
	for i := len(snapshots) - 1; i >= 0; i-- {
		if snapshots[i].Value.UID == uid {
			return &snapshots[i].Value
		}
	}
	return nil
}

// shelf keeps an index of all content in step with its table: changes are noted as they come and
// followed when the index is used.
type shelf struct {
	objects *bus.Records[api.Spec]
	mu      sync.Mutex
	changed map[string]struct{}
	index   *content.Index
}

func newShelf(objects *bus.Records[api.Spec], skipped []string) *shelf {
	s := &shelf{objects: objects, changed: map[string]struct{}{}, index: content.NewIndex()}
	s.index.Reserve(skipped...)
	objects.OnChange(s.note)
	return s
}

func (s *shelf) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed[name] = struct{}{}
}

// current returns an index of what the table holds now, which the caller may change.
func (s *shelf) current() *content.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.changed {
		head, _, found, err := s.objects.Find(name)
		switch {
		case err != nil:
			continue // it is not gone
		case found:
			s.index.Set(head)
		default:
			s.index.RemoveKey(name)
		}
		delete(s.changed, name)
	}
	return s.index.Clone()
}

// lingers says that a member has left and the registrar is still to forget it: its record has the uid of a spec
// that is gone. To people such a member is gone; what its agent says next begins it anew.
func (r *records) lingers(record *api.MemberRecord) bool {
	_, _, found, err := r.members.Find(record.Name)
	return record.UID != "" && !found && err == nil
}
