package door

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// listed is how many unconfirmed members an event names.
const listed = 20

// finish ends the deletion called key once nothing is unconfirmed, or when it timed out; what was not
// confirmed by then is told in an event and stays in the release.
func (d *Door) finish(ctx context.Context, key string) (time.Time, error) {
	kind, name, _ := strings.Cut(key, ":")
	table := d.records.members
	if kind == subjects.KindPlacement {
		table = d.records.placements
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	stored, revision, found := table.Get(name)
	if !found {
		d.decoded.drop(name)
		return time.Time{}, nil
	}
	if stored.Deleted == nil {
		return time.Time{}, nil
	}
	if !d.store.State.Synced() {
		return time.Time{}, bus.ErrNotSynced
	}
	unconfirmed := d.unconfirmedMembers(&stored, name)
	if kind == subjects.KindMember {
		unconfirmed = d.unconfirmedPlacements(name)
	}
	deadline := stored.Deleted.Add(d.options.DeleteTimeout)
	if len(unconfirmed) > 0 && time.Now().Before(deadline) {
		return deadline, nil
	}
	return time.Time{}, d.end(ctx, &stored, revision, unconfirmed)
}

func (d *Door) finishFailed(key string, err error, delay time.Duration) {
	d.options.Log.Warn().Err(err).Str("deletion", key).Dur("retry", delay).Msg("finishing a deletion")
}

// unconfirmedMembers are those that a placement is still released to, or withdrawn from without an
// answer.
func (d *Door) unconfirmedMembers(stored *api.Spec, name string) []string {
	release, _, found := d.records.releases.Get(name)
	if !found {
		return d.unreleased(stored, name)
	}
	var members []string
	for i := range release.Entries {
		if release.Entries[i].UID == stored.UID {
			members = append(members, release.Entries[i].Member)
		}
	}
	return members
}

// unreleased are members that were picked and whose release is still to be written.
func (d *Door) unreleased(stored *api.Spec, name string) []string {
	schedule, _, found := d.records.schedules.Get(name)
	if !found || schedule.UID != stored.UID {
		return nil
	}
	var members []string
	for i := range schedule.Bindings {
		members = append(members, schedule.Bindings[i].Member)
	}
	return members
}

// unconfirmedPlacements are those that a leaving member still holds as far as the hub knows.
func (d *Door) unconfirmedPlacements(member string) []string {
	var placements []string
	for _, release := range d.records.releases.All() {
		for i := range release.Value.Entries {
			if release.Value.Entries[i].Member == member {
				placements = append(placements, release.Name)
				break
			}
		}
	}
	return placements
}

// end removes the spec of an object whose deletion is over, and a placement's snapshots.
func (d *Door) end(ctx context.Context, stored *api.Spec, revision uint64, unconfirmed []string) error {
	f := d.newDraft(stored.Request)
	table, name := d.records.place(stored.Object)
	f.erase(stored.Object, revision)
	if table == d.records.placements {
		for _, snapshot := range d.records.snapshots.Group(name) {
			f.ops = append(f.ops, bus.Delete(d.records.snapshots.Key(snapshot.Name), snapshot.Revision))
		}
	}
	f.audit(auditName(stored.Object), "Deleted", stored.Object.String())
	event := &f.events[len(f.events)-1]
	event.By = "door"
	if len(unconfirmed) > 0 {
		event.Type, event.Reason = "Warning", "DeletedUnconfirmed"
		event.Message = fmt.Sprintf("%s: not confirmed within %s by %s", stored.Object, d.options.DeleteTimeout, enumerate(unconfirmed))
	}
	if err := d.commit(ctx, f); err != nil {
		return fmt.Errorf("finishing the deletion of %s: %w", stored.Object, err)
	}
	return nil
}

// enumerate lists the first of names and says how many more there are.
func enumerate(names []string) string {
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}
