package door

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/show"
	"flotilla/subjects"
)

// finish ends the deletion called key once nothing is unconfirmed, or when it timed out; what was not
// confirmed by then is told in an event and stays in the release.
func (d *Door) finish(ctx context.Context, key string) (time.Time, error) {
	kind, name, _ := strings.Cut(key, ":")
	table := d.waiting(kind)
	if err := d.desk.Take(ctx); err != nil {
		return time.Time{}, err
	}
	defer d.desk.Leave()
	stored, revision, found, err := table.Find(name)
	if err != nil {
		return time.Time{}, err
	}
	if !found {
		d.records.Forget(name)
		return time.Time{}, nil
	}
	if stored.Deleted == nil || len(stored.Finalizers) > 0 { // who takes the last one away wakes us
		return time.Time{}, nil
	}
	if !d.store.State.Synced() {
		return time.Time{}, bus.ErrNotSynced
	}
	if kind == subjects.KindNodePool {
		return time.Time{}, d.finishPool(ctx, &stored, revision)
	}
	left, err := d.view.Remains(kind, name, &stored)
	if err != nil || left.Standing > 0 {
		return time.Time{}, err // the roller is to withdraw it: its release wakes us
	}
	deadline := show.Later(stored.Deleted.Time, left.Since).Add(d.options.DeleteTimeout)
	if len(left.Names) > 0 && d.store.Now().Before(deadline) {
		return deadline, nil
	}
	if kind == subjects.KindMember {
		d.view.Departed.Forget(name)
	}
	if kind == subjects.KindMember && len(left.Names) > 0 {
		w := d.view.Withdrawal(name)
		w.Since = metav1.NewTime(left.Since)
		d.view.Departed.Note(name, stored.UID, &api.UnconfirmedResponse{Members: []api.Withdrawal{w}, Placements: left.Names})
	}
	return time.Time{}, d.end(ctx, &stored, revision, left.Names)
}

// waiting are the specs of a kind whose deletion waits.
func (d *Door) waiting(kind string) *store.Records[api.Spec] {
	switch kind {
	case subjects.KindPlacement:
		return d.records.Placements
	case subjects.KindNodePool:
		return d.records.Specs[api.KindNodePool]
	}
	return d.records.Members
}

func (d *Door) finishFailed(key string, err error, delay time.Duration) {
	d.options.Log.Warn().Err(err).Str("deletion", key).Dur("retry", delay).Msg("finishing a deletion")
}

// end removes what is stored of an object whose deletion is over.
func (d *Door) end(ctx context.Context, stored *api.Spec, revision uint64, unconfirmed []string) error {
	f := d.desk.New(draft.Door(), stored.Request)
	f.End(stored, revision, unconfirmed, d.options.DeleteTimeout)
	if err := f.Commit(ctx); err != nil {
		return fmt.Errorf("finishing the deletion of %s: %w", stored.Object, err)
	}
	return nil
}

// finishPool ends the deletion of a NodePool once none of its nodes is left on any member. It waits for that
// without end, as a finalizer does.
func (d *Door) finishPool(ctx context.Context, stored *api.Spec, revision uint64) error {
	if _, _, _, err := d.records.Pools.Find(stored.Object.Name); err != nil {
		return err
	}
	if _, over := capacity.PoolRemains(d.records.PoolRecord(stored)); !over {
		return nil // the disruptor's next record wakes us
	}
	return d.end(ctx, stored, revision, nil)
}
