package door

import (
	"context"
	"encoding/json"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/capacity"
)

// poolRecord is what the disruptor says of the NodePool that stored is of, nil while it says nothing of it.
func (r *records) poolRecord(stored *api.Spec) *api.PoolRecord {
	record, _, found := r.pools.Get(stored.Object.Name)
	if !found || record.UID != stored.UID {
		return nil
	}
	return &record
}

// renderPool shows a NodePool with its nodes on all members.
func (d *Door) renderPool(entry *bus.Entry[api.Spec]) (json.RawMessage, error) {
	pool, err := api.SpecOf[api.NodePool](&entry.Value)
	if err != nil {
		return d.complete(&entry.Value, entry.Revision, entry.Value.Body, nil)
	}
	return d.complete(&entry.Value, entry.Revision, entry.Value.Body, capacity.StatusOfPool(pool, d.records.poolRecord(&entry.Value)))
}

// finishPool ends the deletion of a NodePool once none of its nodes is left on any member. It waits for that
// without end, as a finalizer does.
func (d *Door) finishPool(ctx context.Context, stored *api.Spec, revision uint64) error {
	if _, _, _, err := d.records.pools.Find(stored.Object.Name); err != nil {
		return err
	}
	if _, over := capacity.PoolRemains(d.records.poolRecord(stored)); !over {
		return nil // the disruptor's next record wakes us
	}
	return d.end(ctx, stored, revision, nil)
}
