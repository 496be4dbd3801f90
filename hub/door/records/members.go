package records

import (
	"time"

	"flotilla/bus/store"
	"flotilla/core/api"
)

// MembersAfter is the fleet as it would be once some MemberClusters, by name, were applied. What members hold is shared
// and must not be changed.
func (r *Tables) MembersAfter(changed map[string]*api.MemberCluster, now time.Time) ([]api.Member, error) {
	entries, err := r.Members.FindAll()
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(changed))
	members := make([]api.Member, 0, len(entries)+len(changed))
	for i := range entries {
		name := entries[i].Name
		after, isChanged := changed[name]
		known[name] = isChanged
		next, err := r.memberAfter(&entries[i], after, now)
		if err != nil {
			return nil, err
		}
		members = append(members, next)
	}
	for name, m := range changed {
		if !known[name] {
			members = append(members, api.MemberFrom(m, r.joining(name, m), now))
		}
	}
	return members, nil
}

// memberAfter is a member as it would be with another MemberCluster, as it is when that is nil.
func (r *Tables) memberAfter(entry *store.Entry[api.Spec], after *api.MemberCluster, now time.Time) (api.Member, error) {
	stored, err := r.member(entry)
	if err != nil {
		return api.Member{}, err
	}
	if after != nil {
		return api.MemberFrom(after, r.recordWithout(stored, after), now), nil
	}
	record, revision, seen := r.Seen.Get(entry.Name)
	if !seen {
		return api.MemberFrom(stored, nil, now), nil
	}
	// Of two records of one bucket the newer one has the higher revision, so a pair has one that no other pair had.
	m, err := r.parsed.members.Of(entry.Name, max(entry.Revision, revision), func() (api.Member, error) {
		return api.MemberFrom(stored, &record, now), nil
	})
	m.LastHeartbeat = api.LastHeartbeat(&record, now)
	return m, err
}

// recordWithout is the record of a member without the labels that only its former MemberCluster gave.
func (r *Tables) recordWithout(before, after *api.MemberCluster) *api.MemberRecord {
	record, _, seen := r.Seen.Get(before.Name)
	if !seen {
		return nil
	}
	labels := map[string]string{}
	for key, value := range record.Labels {
		if given, own := before.Labels[key]; own && given == value && after.Labels[key] == "" {
			continue
		}
		labels[key] = value
	}
	record.Labels = labels
	return &record
}

// joining is the record of a member that a document would admit, as it would be then.
func (r *Tables) joining(name string, m *api.MemberCluster) *api.MemberRecord {
	record, _, seen := r.Seen.Get(name)
	if !seen {
		return nil
	}
	record.UID, record.State = string(m.UID), api.MemberReady
	return &record
}

// RecordAfter is the record of a member without labels that its MemberCluster used to give.
func (r *Tables) RecordAfter(name string, after *api.MemberCluster) *api.MemberRecord {
	stored, revision, found := r.Members.Get(name)
	if !found {
		return nil
	}
	before, err := r.member(&store.Entry[api.Spec]{Name: name, Value: stored, Revision: revision})
	if err != nil {
		return nil
	}
	return r.recordWithout(before, after)
}
