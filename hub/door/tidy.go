package door

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/eviction"
	"flotilla/hub/door/draft"
)

// tidyKey is the one key of the tidier's queue.
const tidyKey = "kept"

// watchKept wakes the tidier when something came that is not kept for ever, and when something went that others are about.
func (d *Door) watchKept() {
	wake := func(string) { d.queues.tidier.Add(tidyKey) }
	d.records.Evictions.OnChange(wake)
	d.records.Approvals.OnChange(wake)
	d.records.Freezes.OnChange(wake)
	for _, of := range []interface {
		OnChange(f func(string))
		Revision(name string) uint64
	}{d.records.Placements, d.records.Members, d.records.Seen} {
		of.OnChange(func(name string) {
			if of.Revision(name) == 0 {
				wake(name)
			}
		})
	}
}

func (d *Door) tidyFailed(_ string, err error, delay time.Duration) {
	d.options.Log.Warn().Err(err).Dur("retry", delay).Msg("removing what is kept no longer")
}

// tidy removes evictions that are kept no longer, and freezes and approvals whose object is gone. It says when the next
// eviction is to go.
func (d *Door) tidy(ctx context.Context, _ string) (time.Time, error) {
	if err := d.desk.Take(ctx); err != nil {
		return time.Time{}, err
	}
	defer d.desk.Leave()
	if !d.store.State.Synced() {
		return time.Time{}, bus.ErrNotSynced
	}
	if ops := append(d.freezesOfNone(), d.approvalsOfNone()...); len(ops) > 0 {
		if _, err := d.store.Writer.Write(ctx, ops[:min(len(ops), draft.MaxDocuments)]...); err != nil {
			return time.Time{}, fmt.Errorf("removing freezes and approvals: %w", err)
		}
	}
	gone, next := eviction.Outlived(d.decided(), d.store.Now())
	if len(gone) == 0 {
		return next, nil
	}
	var refs []api.ObjectRef
	for _, name := range gone[:min(len(gone), draft.MaxDocuments)] { // what is left comes next: removing wakes again
		spec, _, _ := d.records.Specs[api.KindEviction].Get(name)
		refs = append(refs, spec.Object)
	}
	f := d.desk.New(draft.Door(), "")
	if _, err := f.Delete(ctx, refs, api.Expected{}); err != nil {
		return time.Time{}, err
	}
	if err := f.Commit(ctx); err != nil {
		return time.Time{}, fmt.Errorf("removing evictions: %w", err)
	}
	return next, nil
}

// decided are the evictions that were decided on.
func (d *Door) decided() (all []eviction.Decided) {
	for _, entry := range d.records.Evictions.All() {
		spec, _, found := d.records.Specs[api.KindEviction].Get(entry.Name)
		if !found || spec.UID != entry.Value.UID {
			continue
		}
		e := eviction.Decided{Name: entry.Name}
		for i := range entry.Value.Conditions {
			e.At = entry.Value.Conditions[i].LastTransitionTime.Time
		}
		all = append(all, e)
	}
	return all
}

// freezesOfNone removes the freezes of members that are not there. Of a member whose agent is heard still a freeze stays: it may
// be admitted again.
func (d *Door) freezesOfNone() (remove []store.Op) {
	for _, entry := range d.records.Freezes.All() {
		member := entry.Value.Member()
		seen, _, heard := d.records.Seen.Get(member)
		if member != "" && d.records.Members.Revision(member) == 0 && (!heard || d.records.Lingers(&seen)) {
			remove = append(remove, d.records.Freezes.Delete(entry.Name, entry.Revision))
		}
	}
	return remove
}

// approvalsOfNone removes the approvals of placements and members that are not there.
func (d *Door) approvalsOfNone() (remove []store.Op) {
	for _, entry := range d.records.Approvals.All() {
		kind, key, _ := strings.Cut(entry.Value.Of, "/")
		of := d.records.Placements
		if kind == api.AuditMember {
			of = d.records.Members
		}
		if of.Revision(key) == 0 {
			remove = append(remove, d.records.Approvals.Delete(entry.Name, entry.Revision))
		}
	}
	return remove
}
