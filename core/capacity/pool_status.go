package capacity

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/validate/budgets"
)

// StatusOfPool is the status of a pool; record is nil while the disruptor has not looked at it, or has
// looked at an earlier pool of its name.
func StatusOfPool(p *api.NodePool, record *api.PoolRecord) api.NodePoolStatus {
	status := api.NodePoolStatus{Lint: budgets.Lint(p)}
	if record != nil {
		status.Members = record.Members
	}
	for i := range status.Members {
		status.Nodes += status.Members[i].Nodes
		status.Disrupting += status.Members[i].Disrupting
	}
	if p.DeletionTimestamp != nil {
		status.Unconfirmed, _ = PoolRemains(record)
	}
	return status
}

// PoolRemains says what the deletion of a pool waits for, and whether that is nothing: that all its nodes
// are gone from every member, as the disruptor saw after it saw the deletion.
func PoolRemains(record *api.PoolRecord) (waits []string, over bool) {
	if record == nil || !record.Deleting {
		return []string{"the hub to count its nodes"}, false
	}
	for i := range record.Members {
		switch m := &record.Members[i]; {
		case m.Unknown != "":
			waits = append(waits, m.Member+": "+m.Unknown)
		case m.Nodes == 1:
			waits = append(waits, m.Member+": 1 node")
		case m.Nodes > 0:
			waits = append(waits, fmt.Sprintf("%s: %d nodes", m.Member, m.Nodes))
		}
	}
	return waits, len(waits) == 0
}
