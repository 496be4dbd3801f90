package draft

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/phrase"
	"flotilla/subjects"
)

// taking is what a draft takes away from members.
type taking struct {
	f       *Draft
	objects map[string]int            // by member
	wholes  map[string]int            // by placement: of how many members it goes
	losses  map[string][]api.HeldLoss // by placement: what prunes take, as the roller finds it
}

// Taking refuses, when deletions take away more than may be taken at once, with what that is; not says that nothing was
// done. With yes whoever asks knows, and nothing of it is held again.
func (f *Draft) Taking(yes bool, not string) error {
	t := f.taking()
	if yes {
		t.approve()
		return nil
	}
	if beyond := t.beyond(); beyond != "" {
		return &api.Failure{
			Code: api.CodeLimit, Next: "repeat the command with --yes",
			Message: not + ": it would take away " + beyond + ", more than may go unasked",
		}
	}
	return nil
}

// Held says what members would lose that is held until somebody approves it, nothing where nothing is. Left are how many
// members placements leave, by their key, beside what the draft says.
func (f *Draft) Held(left map[string]int) string {
	t := f.taking()
	for placement, members := range left {
		t.wholes[placement] = max(t.wholes[placement], members)
	}
	return t.beyond()
}

func (f *Draft) taking() *taking {
	t := &taking{f: f, objects: map[string]int{}, wholes: map[string]int{}, losses: map[string][]api.HeldLoss{}}
	for _, ref := range slices.SortedFunc(maps.Keys(f.going), inOrder) {
		if f.going[ref] {
			t.deletes(ref)
		}
	}
	for key, cut := range f.cuts {
		t.prunes(key, cut)
	}
	return t
}

func inOrder(a, b api.ObjectRef) int {
	return strings.Compare(a.APIVersion+a.String(), b.APIVersion+b.String())
}

// deletes counts what goes with a placement, or with a member.
func (t *taking) deletes(ref api.ObjectRef) {
	r := t.f.records
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
				t.wholes[name]++
				t.objects[e.Member] += t.length(name, e.Snapshot)
			}
		}
	case r.Members:
		stored, _, _ := table.Get(name)
		m, err := api.SpecOf[api.MemberCluster](&stored)
		if err == nil && m.Spec.DeleteOptions != nil && m.Spec.DeleteOptions.WhenLeaving == api.WhenLeavingDelete {
			t.objects[name] = max(t.objects[name], t.has(name))
		}
	}
}

// prunes counts what members lose that get a snapshot.
func (t *taking) prunes(key string, cut *api.Snapshot) {
	release, _, _ := t.f.records.Releases.Get(key)
	lost := map[int64]int{}
	for i := range release.Entries {
		e := &release.Entries[i]
		if e.Withdrawn || e.UID != cut.UID {
			continue
		}
		n, known := lost[e.Snapshot]
		if !known {
			from, _, _ := t.f.records.Snapshots.Get(subjects.SnapshotName(key, e.Snapshot))
			n = len(guard.Lost(from.Manifests, cut.Manifests, 0))
			lost[e.Snapshot] = n
		}
		if n == 0 {
			continue
		}
		whole := len(cut.Manifests) == 0
		if whole {
			t.wholes[key]++
		}
		t.objects[e.Member] += n
		t.losses[key] = append(t.losses[key], api.HeldLoss{
			Placement: key, UID: e.UID, Member: e.Member, Loss: api.Loss{Objects: n, Of: e.Generation, To: cut.Index, Whole: whole},
		})
	}
}

// beyond says what is beyond the bounds, nothing where nothing is.
func (t *taking) beyond() string {
	bounds := t.f.desk.options.Bounds
	for _, placement := range slices.Sorted(maps.Keys(t.wholes)) {
		release, _, _ := t.f.records.Releases.Get(placement)
		if n := t.wholes[placement]; bounds.Exceeded(n, len(release.Entries)) {
			return fmt.Sprintf("placement %s from %d of %s", placement, n, phrase.Count(len(release.Entries), "member"))
		}
	}
	var members []string
	for _, member := range slices.Sorted(maps.Keys(t.objects)) {
		if n := t.objects[member]; n > bounds.Count && bounds.Exceeded(n, t.has(member)) {
			members = append(members, fmt.Sprintf("%d of %s of %s", n, phrase.Count(t.has(member), "object"), member))
		}
	}
	if len(members) == 0 {
		return ""
	}
	return phrase.List(members, 3)
}

// approve adds that what prunes take was approved.
func (t *taking) approve() {
	f := t.f
	for _, key := range slices.Sorted(maps.Keys(t.losses)) {
		name := guard.ApprovalOfPlacement(key)
		next := &api.WithdrawalApproval{
			Header: api.NewHeader(api.KindApproval), Of: api.AuditObject(api.AuditPlacement, key), By: f.by.Name, At: f.now,
			Request: f.request, Losses: t.losses[key],
		}
		f.ops = append(f.ops, f.records.Approvals.Put(name, next, f.records.Approvals.Revision(name)))
	}
}

// has is how many objects a member has of all placements.
func (t *taking) has(member string) int { return t.f.records.ObjectsOn(member) }

func (t *taking) length(placement string, snapshot int64) int {
	s, _, _ := t.f.records.Snapshots.Get(subjects.SnapshotName(placement, snapshot))
	return len(s.Manifests)
}

// abandons says that what is placed stays on members when the placement goes.
func abandons(p *api.Placement) bool {
	d := p.Spec.Strategy.DeleteStrategy
	return d != nil && d.PropagationPolicy == api.PropagationAbandon
}
