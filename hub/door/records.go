package door

import (
	"sync"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/validate"
	"flotilla/subjects"
)

// records are the tables the door reads.
type records struct {
	state      *bus.State
	placements *bus.Table[api.Spec]
	members    *bus.Table[api.Spec]
	objects    *bus.Table[api.Spec]
	snapshots  *bus.Table[api.Snapshot]
	schedules  *bus.Table[api.Schedule]
	releases   *bus.Table[api.Release]
	verdicts   *bus.Table[api.Verdicts]
	statuses   *bus.Table[api.PlacementStatus]
	seen       *bus.Table[api.MemberRecord]
	users      *bus.Table[api.User]
	identities *bus.Table[api.Identity]
	upgrades   *upgrades
	// specs are those of named kinds, by kind.
	specs map[string]*bus.Table[api.Spec]
	pools *bus.Table[api.PoolRecord]
	// disruptions and locks are the disruptor's, of members.
	disruptions *bus.Table[api.DisruptionRecord]
	locks       *bus.Locks
}

func newRecords(s *bus.State) *records {
	return &records{
		state:      s,
		placements: bus.TableOf[api.Spec](s, subjects.PlacementSpecs),
		members:    bus.TableOf[api.Spec](s, subjects.MemberSpecs),
		objects:    bus.TableOf[api.Spec](s, subjects.ObjectSpecs),
		snapshots:  bus.TableOf[api.Snapshot](s, subjects.Snapshots),
		schedules:  bus.TableOf[api.Schedule](s, subjects.Schedules),
		releases:   bus.TableOf[api.Release](s, subjects.Releases),
		verdicts:   bus.TableOf[api.Verdicts](s, subjects.Verdicts),
		statuses:   bus.TableOf[api.PlacementStatus](s, subjects.Statuses),
		seen:       bus.TableOf[api.MemberRecord](s, subjects.Members),
		users:      bus.TableOf[api.User](s, subjects.Users),
		identities: bus.TableOf[api.Identity](s, subjects.Identities),
		upgrades:   newUpgrades(s),
		specs:      specsOf(s),
		pools:      bus.TableOf[api.PoolRecord](s, subjects.Pools),

		disruptions: bus.TableOf[api.DisruptionRecord](s, subjects.Disruptions),
		locks:       bus.LocksOf(s),
	}
}

// place says where the spec of an object lies: its table and its name there.
func (r *records) place(ref api.ObjectRef) (table *bus.Table[api.Spec], name string) {
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
	objects *bus.Table[api.Spec]
	mu      sync.Mutex
	changed map[string]struct{}
	index   *content.Index
}

func newShelf(objects *bus.Table[api.Spec], skipped []string) *shelf {
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
