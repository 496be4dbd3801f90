package show

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/bus/store"
	"flotilla/core/api"
)

// shown is an object as it is shown; without a body it is gone.
type shown struct {
	body json.RawMessage
	// spec is the version of its spec, of objects that are shown at one version, and mark stays while they are shown the same.
	spec, mark string
}

// steadily is how often an object is read again that changes while it is read.
const steadily = 10

// show shows an object that is stored.
func (v *View) show(ctx context.Context, entry *store.Entry[api.Spec], as rendering) (shown, error) {
	if !as.managed {
		rendered, err := v.render(ctx, entry, as)
		return shown{body: rendered}, err
	}
	return v.showSteady(ctx, entry.Value.Object, as)
}

// showSteady shows an object at one version, which is that of the newest of the records that it is shown from: they are read
// again until none of them changed meanwhile, and nothing else goes into it.
func (v *View) showSteady(ctx context.Context, ref api.ObjectRef, as rendering) (shown, error) {
	table, name := v.records.Place(ref)
	for range steadily {
		before := v.revisions(ref)
		spec, revision, found := table.Get(name)
		if !found {
			return shown{}, nil
		}
		entry := &store.Entry[api.Spec]{Name: name, Value: spec, Revision: revision}
		rendered, err := v.render(ctx, entry, as)
		if err != nil {
			return shown{}, err
		}
		if !slices.Equal(before, v.revisions(ref)) {
			continue
		}
		told := ""
		if table == v.records.Objects {
			told = as.on.last
		}
		body, err := v.putManaged(ctx, &spec, rendered, as.values, v.version(slices.Max(before)))
		return shown{body: body, spec: v.version(revision), mark: v.marked(before, told)}, err
	}
	return shown{}, &api.Failure{Code: api.CodeUnavailable, Message: fmt.Sprintf("%s changes faster than it can be read: ask again", ref)}
}

// revisions are those of the records that an object is shown from, its spec first; 0 for one that is not there.
func (v *View) revisions(ref api.ObjectRef) []uint64 {
	r := v.records
	table, name := r.Place(ref)
	all := []uint64{table.Revision(name)}
	switch table {
	case r.Objects:
		return all
	case r.Members:
		return append(all, r.Seen.Revision(name))
	case r.Placements:
		return append(all, v.statuses.Revision(name))
	}
	switch ref.Kind {
	case api.KindNodePool:
		return append(all, r.Pools.Revision(name))
	case api.KindUpdateRun, api.KindClusterStagedUpdateRun, api.KindStagedUpdateRun:
		return append(all, r.Runs.Revision(name))
	case api.KindAutoUpgradeProfile:
		return append(all, r.Profiles.Revision(name))
	case api.KindEviction:
		return append(all, r.Evictions.Revision(name))
	}
	return all
}

// version is the resourceVersion of a revision.
func (v *View) version(revision uint64) string {
	return fmt.Sprintf("%d.%d", v.store.Term.Epoch, revision)
}

// renderRecordedPlacement shows a placement with the status that its record says.
func (v *View) renderRecordedPlacement(entry *store.Entry[api.Spec], brief bool) (json.RawMessage, error) {
	if _, err := v.records.Placement(entry); err != nil {
		return v.renderUnreadable(entry, err)
	}
	record, _, found := v.statuses.Get(entry.Name)
	if !found || record.UID != entry.Value.UID {
		return v.complete(&entry.Value, entry.Revision, entry.Value.Body, nil)
	}
	if brief {
		record = briefly(record)
	}
	return v.complete(&entry.Value, entry.Revision, entry.Value.Body, placementStatus{PlacementStatus: record})
}

// renderRecordedMember shows a member with the status that its record says.
func (v *View) renderRecordedMember(entry *store.Entry[api.Spec]) (json.RawMessage, error) {
	var status any
	if record, _, seen := v.records.Seen.Get(entry.Name); seen {
		status = recordedStatus(&record, record.LastSeen)
	}
	return v.complete(&entry.Value, entry.Revision, entry.Value.Body, status)
}
