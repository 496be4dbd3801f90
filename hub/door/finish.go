package door

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// finish ends the deletion called key once nothing is unconfirmed, or when it timed out; what was not
// confirmed by then is told in an event and stays in the release.
func (d *Door) finish(ctx context.Context, key string) (time.Time, error) {
	kind, name, _ := strings.Cut(key, ":")
	table := d.waiting(kind)
	d.writing.Lock()
	defer d.writing.Unlock()
	stored, revision, found, err := table.Find(name)
	if err != nil {
		return time.Time{}, err
	}
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
	if kind == subjects.KindNodePool {
		return time.Time{}, d.finishPool(ctx, &stored, revision)
	}
	left, err := d.remains(kind, name, &stored)
	if err != nil || left.standing > 0 {
		return time.Time{}, err // the roller is to withdraw it: its release wakes us
	}
	deadline := later(stored.Deleted.Time, left.since).Add(d.options.DeleteTimeout)
	if len(left.names) > 0 && d.store.Now().Before(deadline) {
		return deadline, nil
	}
	if kind == subjects.KindMember {
		d.departed.forget(name)
	}
	if kind == subjects.KindMember && len(left.names) > 0 {
		w := d.withdrawal(name)
		w.Since = metav1.NewTime(left.since)
		d.departed.note(name, stored.UID, &api.UnconfirmedResponse{Members: []api.Withdrawal{w}, Placements: left.names})
	}
	return time.Time{}, d.end(ctx, &stored, revision, left.names)
}

// waiting are the specs of a kind whose deletion waits.
func (d *Door) waiting(kind string) *bus.Records[api.Spec] {
	switch kind {
	case subjects.KindPlacement:
		return d.records.placements
	case subjects.KindNodePool:
		return d.records.specs[api.KindNodePool]
	}
	return d.records.members
}

// remains are what a deletion waits for.
type remains struct {
	// names are the members, or for a member the placements, that have not confirmed.
	names []string
	// standing counts the entries of releases that are not withdrawn yet. While there are any the spec
	// must stay, however long ago it was deleted: it says whether objects go or are left where they are.
	standing int
	// since is when the last of them was withdrawn, zero when none was.
	since time.Time
}

func (r *remains) add(name string, entry *api.ReleaseEntry) {
	r.names = append(r.names, name)
	if !entry.Withdrawn {
		r.standing++
		return
	}
	r.since = later(r.since, entry.Since.Time)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (d *Door) remains(kind, name string, stored *api.Spec) (remains, error) {
	if kind == subjects.KindMember {
		return d.remainsOn(name)
	}
	var left remains
	release, _, found, err := d.records.releases.Find(name)
	if err != nil {
		return left, err
	}
	if !found {
		left.names, err = d.unreleased(stored, name)
		return left, err
	}
	for i := range release.Entries {
		if release.Entries[i].UID == stored.UID {
			left.add(release.Entries[i].Member, &release.Entries[i])
		}
	}
	return left, nil
}

// remainsOn are the placements that a leaving member still holds as far as the hub knows.
func (d *Door) remainsOn(member string) (remains, error) {
	var left remains
	releases, err := d.records.releases.FindAll()
	if err != nil {
		return left, err
	}
	for _, release := range releases {
		entries := release.Value.Entries
		at := slices.IndexFunc(entries, func(e api.ReleaseEntry) bool { return e.Member == member })
		if at >= 0 {
			left.add(release.Name, &entries[at])
		}
	}
	return left, nil
}

func (d *Door) finishFailed(key string, err error, delay time.Duration) {
	d.options.Log.Warn().Err(err).Str("deletion", key).Dur("retry", delay).Msg("finishing a deletion")
}

// unconfirmedMembers are those that a deleted placement waits for, for people.
func (d *Door) unconfirmedMembers(stored *api.Spec, name string) []string {
	left, _ := d.remains(subjects.KindPlacement, name, stored) // what is broken is a problem of its own
	return left.names
}

// unreleased are members that were picked and whose release is still to be written.
func (d *Door) unreleased(stored *api.Spec, name string) ([]string, error) {
	schedule, _, found, err := d.records.schedules.Find(name)
	if err != nil || !found || schedule.UID != stored.UID {
		return nil, err
	}
	var members []string
	for i := range schedule.Bindings {
		members = append(members, schedule.Bindings[i].Member)
	}
	return members, nil
}

// end removes the spec of an object whose deletion is over, and a placement's snapshots.
func (d *Door) end(ctx context.Context, stored *api.Spec, revision uint64, unconfirmed []string) error {
	f := d.newDraft(door, stored.Request)
	f.results = []api.ApplyResult{{
		Object: stored.Object, Action: api.ActionDeleting, UID: stored.UID, Generation: stored.Generation, ResourceVersion: f.version(revision),
	}}
	table, name := d.records.place(stored.Object)
	f.erase(stored.Object, revision)
	if table == d.records.placements {
		for _, snapshot := range d.records.snapshots.Group(name) {
			f.ops = append(f.ops, d.records.snapshots.Delete(snapshot.Name, snapshot.Revision))
		}
	}
	f.audit(auditName(stored.Object), "Deleted", stored.Object.String())
	event := &f.events[len(f.events)-1]
	if len(unconfirmed) > 0 {
		event.Type, event.Reason = "Warning", "DeletedUnconfirmed"
		event.Message = fmt.Sprintf("%s: not confirmed within %s by %s", stored.Object, d.options.DeleteTimeout, api.Enumerate(unconfirmed))
	}
	if err := d.commit(ctx, f); err != nil {
		return fmt.Errorf("finishing the deletion of %s: %w", stored.Object, err)
	}
	return nil
}
