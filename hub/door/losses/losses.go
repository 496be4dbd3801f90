// Package losses counts what a draft takes away from members, and holds it against how much may go unasked. Package draft uses it.
package losses

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/phrase"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// Losses are what a draft takes away from members.
type Losses struct {
	records *records.Tables
	bounds  guard.Bounds
	objects map[string]int            // by member
	wholes  map[string]int            // by placement: of how many members it goes
	held    map[string][]api.HeldLoss // by placement: what snapshots take, as the roller finds it
}

// Of are the losses by the deletion of objects that are going, where that is true, and by snapshots that are cut, by the key of their placement.
func Of(tables *records.Tables, bounds guard.Bounds, going map[api.ObjectRef]bool, cuts map[string]*api.Snapshot) *Losses {
	l := &Losses{records: tables, bounds: bounds, objects: map[string]int{}, wholes: map[string]int{}, held: map[string][]api.HeldLoss{}}
	var refs []api.ObjectRef
	for ref, goes := range going {
		switch ref.Kind {
		case api.KindMemberCluster, api.KindClusterResourcePlacement, api.KindResourcePlacement:
			if goes {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, func(a, b api.ObjectRef) int { return strings.Compare(a.APIVersion+a.String(), b.APIVersion+b.String()) })
	for _, ref := range refs {
		l.deletes(ref)
	}
	for key, cut := range cuts {
		l.prunes(key, cut)
	}
	return l
}

// Leaves notes of how many members a placement goes, beside what the draft says.
func (l *Losses) Leaves(placement string, members int) {
	l.wholes[placement] = max(l.wholes[placement], members)
}

// deletes counts what goes with a placement, or with a member.
func (l *Losses) deletes(ref api.ObjectRef) {
	r := l.records
	table, name := r.Place(ref)
	switch table {
	case r.Placements:
		stored, _, _ := table.Get(name)
		if p, err := api.SpecOf[api.Placement](&stored); err == nil && abandons(p) {
			return
		}
		release, _, _ := r.Releases.Get(name)
		for i := range release.Entries {
			if e := &release.Entries[i]; !e.Withdrawn {
				l.wholes[name]++
				l.objects[e.Member] += l.length(name, e.Snapshot)
			}
		}
	case r.Members:
		stored, _, _ := table.Get(name)
		m, err := api.SpecOf[api.MemberCluster](&stored)
		if err == nil && m.Spec.DeleteOptions != nil && m.Spec.DeleteOptions.WhenLeaving == api.WhenLeavingDelete {
			l.objects[name] = max(l.objects[name], l.has(name))
		}
	}
}

// prunes counts what members lose that get a snapshot.
func (l *Losses) prunes(key string, cut *api.Snapshot) {
	release, _, _ := l.records.Releases.Get(key)
	lost := map[int64]int{}
	for i := range release.Entries {
		e := &release.Entries[i]
		if e.Withdrawn || e.UID != cut.UID {
			continue
		}
		n, known := lost[e.Snapshot]
		if !known {
			from, _, _ := l.records.Snapshots.Get(subjects.SnapshotName(key, e.Snapshot))
			n = len(guard.Lost(from.Manifests, cut.Manifests, 0))
			lost[e.Snapshot] = n
		}
		if n == 0 {
			continue
		}
		whole := len(cut.Manifests) == 0
		if whole {
			l.wholes[key]++
		}
		l.objects[e.Member] += n
		l.held[key] = append(l.held[key], api.HeldLoss{
			Placement: key, UID: e.UID, Member: e.Member, Loss: api.Loss{Objects: n, Of: e.Generation, To: cut.Index, Whole: whole},
		})
	}
}

// Beyond says what is beyond the bounds, nothing where nothing is.
func (l *Losses) Beyond() string {
	for _, placement := range slices.Sorted(maps.Keys(l.wholes)) {
		release, _, _ := l.records.Releases.Get(placement)
		if n := l.wholes[placement]; l.bounds.Exceeded(n, len(release.Entries)) {
			return fmt.Sprintf("placement %s from %d of %s", placement, n, phrase.Count(len(release.Entries), "member"))
		}
	}
	var members []string
	for _, member := range slices.Sorted(maps.Keys(l.objects)) {
		if n := l.objects[member]; n > l.bounds.Count && l.bounds.Exceeded(n, l.has(member)) {
			members = append(members, fmt.Sprintf("%d of %s of %s", n, phrase.Count(l.has(member), "object"), member))
		}
	}
	if len(members) == 0 {
		return ""
	}
	return phrase.List(members, 3)
}

// Approvals are of what snapshots take.
func (l *Losses) Approvals(of api.WithdrawalApproval) (ops []store.Op) {
	for _, key := range slices.Sorted(maps.Keys(l.held)) {
		next := of
		next.Header, next.Of, next.Losses = api.NewHeader(api.KindApproval), api.AuditObject(api.AuditPlacement, key), l.held[key]
		name := guard.ApprovalOfPlacement(key)
		ops = append(ops, l.records.Approvals.Put(name, &next, l.records.Approvals.Revision(name)))
	}
	return ops
}

// has is how many objects a member has of all placements.
func (l *Losses) has(member string) int { return l.records.ObjectsOn(member) }

func (l *Losses) length(placement string, snapshot int64) int {
	s, _, _ := l.records.Snapshots.Get(subjects.SnapshotName(placement, snapshot))
	return len(s.Manifests)
}

// abandons says that what is placed stays on members when the placement goes.
func abandons(p *api.Placement) bool {
	d := p.Spec.Strategy.DeleteStrategy
	return d != nil && d.PropagationPolicy == api.PropagationAbandon
}
