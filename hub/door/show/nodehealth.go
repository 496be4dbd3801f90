package show

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/health"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// nodeHealth counts the NodePools, their nodes on all members, and by phase the disruptions that have not ended, and adds
// the problems of both.
func (v *View) nodeHealth(fleet *api.FleetStatus) {
	for _, entry := range v.records.Specs[api.KindNodePool].All() {
		fleet.NodePools++
		record := v.records.PoolRecord(&entry.Value)
		for i := 0; record != nil && i < len(record.Members); i++ {
			fleet.Nodes += record.Members[i].Nodes
		}
		pool, err := records.Decoded[api.NodePool](v.records, &entry)
		if err != nil { // a problem of its own, see unreadableProblems
			continue
		}
		status := capacity.StatusOfPool(pool, record)
		fleet.Problems = append(fleet.Problems, health.Pool(entry.Name, entry.Value.Created, entry.Value.Deleted, &status)...)
	}
	var members []health.Disruptions
	pooled := v.pooled()
	for _, entry := range v.records.Disruptions.All() {
		for i := range entry.Value.Disruptions {
			if one := &entry.Value.Disruptions[i]; one.Ended.IsZero() {
				if fleet.Disruptions == nil {
					fleet.Disruptions = map[string]int{}
				}
				fleet.Disruptions[one.Phase]++
			}
		}
		members = append(members, v.disruptionsOf(&entry.Value, pooled[entry.Name]))
	}
	fleet.Problems = append(fleet.Problems, health.OfDisruptions(members, v.store.Now())...)
}

func (v *View) disruptionsOf(record *api.DisruptionRecord, pooled bool) health.Disruptions {
	seen, _, _ := v.records.Seen.Get(record.Member)
	lock, _, held := v.records.Locks.Get(record.Member)
	return health.Disruptions{
		Record: record, Pooled: pooled, State: seen.State,
		Elsewhere: held && lock.Holder != subjects.CommandDisruption+"/"+record.Member,
		Told: func(id string) metav1.Time {
			if result, _ := v.drains.Get(subjects.ResultKey(record.Member, subjects.CommandDisruption, id)); result != nil {
				return result.Changed
			}
			return metav1.Time{}
		},
	}
}

// pooled are the members that have nodes of a NodePool, or may have.
func (v *View) pooled() map[string]bool {
	out := map[string]bool{}
	for _, entry := range v.records.Pools.All() {
		for i := range entry.Value.Members {
			if m := &entry.Value.Members[i]; m.Nodes > 0 || m.Unknown != "" {
				out[m.Member] = true
			}
		}
	}
	return out
}
