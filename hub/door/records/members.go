package records

import (
	"maps"
	"time"

	"flotilla/core/api"
)

// MembersAfter is the fleet as it would be once some MemberClusters, by name, were applied.
func (r *Tables) MembersAfter(changed map[string]*api.MemberCluster, now time.Time) ([]api.Member, error) {
	changed = maps.Clone(changed)
	var members []api.Member
	entries, err := r.Members.FindAll()
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		stored, err := api.SpecOf[api.MemberCluster](&entry.Value)
		if err != nil {
			return nil, err
		}
		after, isChanged := changed[entry.Name]
		if !isChanged {
			after = stored
		}
		delete(changed, entry.Name)
		members = append(members, api.MemberFrom(after, r.recordWithout(stored, after), now))
	}
	for name, m := range changed {
		members = append(members, api.MemberFrom(m, r.joining(name, m), now))
	}
	return members, nil
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
	stored, _, found := r.Members.Get(name)
	if !found {
		return nil
	}
	before, err := api.SpecOf[api.MemberCluster](&stored)
	if err != nil {
		return nil
	}
	return r.recordWithout(before, after)
}
