package door

import (
	"context"
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/status"
	"flotilla/subjects"
)

// rendering is how objects are shown.
type rendering struct {
	brief  bool // without the entries of members
	values bool // of Secrets
}

// render returns an object as Kubernetes would show it: body, metadata that the hub sets, status.
func (d *Door) render(ctx context.Context, entry *bus.Entry[api.Spec], as rendering) (json.RawMessage, error) {
	table, name := d.records.place(entry.Value.Object)
	switch table {
	case d.records.members:
		return d.renderMember(&entry.Value, entry.Revision, d.placedByMember()[name])
	case d.records.placements:
		return d.renderPlacement(entry, as.brief)
	case d.records.specs[api.KindNodePool]:
		return d.renderPool(entry)
	case d.records.specs[entry.Value.Object.Kind]:
		return d.renderUpgrade(entry, as.brief)
	}
	body, err := d.store.Content.Get(ctx, entry.Value.Digest)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", entry.Value.Object, err)
	}
	return d.completeContent(&entry.Value, entry.Revision, body, as.values)
}

// completeContent shows a body that is placed, with digests in the place of values of Secrets unless they are wanted.
func (d *Door) completeContent(spec *api.Spec, revision uint64, body json.RawMessage, values bool) (json.RawMessage, error) {
	if values {
		return d.complete(spec, revision, body, nil)
	}
	var tree map[string]any
	if err := kjson.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", spec.Object, err)
	}
	content.Redact(tree, d.store.Keys)
	return d.completeTree(spec, revision, tree, nil)
}

// complete adds to a stored body the metadata that the hub sets, and a status.
func (d *Door) complete(spec *api.Spec, revision uint64, body json.RawMessage, status any) (json.RawMessage, error) {
	var tree map[string]any
	if err := kjson.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", spec.Object, err)
	}
	return d.completeTree(spec, revision, tree, status)
}

func (d *Door) completeTree(spec *api.Spec, revision uint64, tree map[string]any, status any) (json.RawMessage, error) {
	metadata, _ := tree["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{"name": spec.Object.Name}
		tree["metadata"] = metadata
	}
	metadata["resourceVersion"] = fmt.Sprintf("%d.%d", d.store.Term.Epoch, revision)
	metadata["uid"] = spec.UID
	metadata["generation"] = spec.Generation
	metadata["creationTimestamp"] = spec.Created
	if spec.Deleted != nil {
		metadata["deletionTimestamp"] = spec.Deleted
	}
	if status != nil {
		tree["status"] = status
	}
	rendered, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", spec.Object, err)
	}
	return rendered, nil
}

// placementStatus is a PlacementStatus as users read it, without what only records need.
type placementStatus struct {
	api.PlacementStatus
	Kind      string `json:"kind,omitempty"`
	Level     int    `json:"level,omitempty"`
	Placement string `json:"placement,omitempty"`
	UID       string `json:"uid,omitempty"`
	Mark      any    `json:"mark,omitempty"`
	Alarms    any    `json:"alarms,omitempty"`
}

// renderPlacement shows a placement, brief without the entries of members, however many there are. Its
// status is aggregated from what the caches hold now: whoever applies and then asks never reads of the
// content before.
func (d *Door) renderPlacement(entry *bus.Entry[api.Spec], brief bool) (json.RawMessage, error) {
	p, err := d.decoded.placement(entry)
	if err != nil {
		return d.renderUnreadable(entry, err)
	}
	in := d.statusOf(p)
	full := status.Aggregate(in)
	if brief {
		if r := full.Rollout; r != nil {
			r.HeldUpBy = r.HeldUpBy[:min(len(r.HeldUpBy), 1)]
		}
		full.PlacementStatuses, full.SelectedResources = nil, nil
		return d.complete(&entry.Value, entry.Revision, entry.Value.Body, placementStatus{PlacementStatus: full})
	}
	full.PlacementStatuses = status.Members(in)
	if in.Latest != nil {
		full.SelectedResources = identifiers(in.Latest.Manifests)
	}
	return d.complete(&entry.Value, entry.Revision, entry.Value.Body, placementStatus{PlacementStatus: full})
}

// statusOf gathers what the status of a placement depends on.
func (d *Door) statusOf(p *api.Placement) status.Input {
	name := p.Key()
	in := status.Input{
		Placement: *p, Latest: d.records.latest(name, string(p.UID)), Results: map[string]*api.PlacementResult{},
		Members: map[string]status.Member{}, Now: d.store.Now(), JudgeFrom: d.judgeFrom,
	}
	members := map[string]bool{}
	if schedule, _, found := d.records.schedules.Get(name); found && schedule.UID == string(p.UID) {
		in.Schedule = &schedule
		for i := range schedule.Bindings {
			members[schedule.Bindings[i].Member] = true
		}
	}
	if release, _, found := d.records.releases.Get(name); found {
		in.Release = &release
		for i := range release.Entries {
			members[release.Entries[i].Member] = true
		}
	}
	for member := range members {
		d.addMember(&in, member, name)
	}
	if record, _, found := d.records.statuses.Get(name); found && record.UID == string(p.UID) {
		in.Previous = &record
	}
	return in
}

func (d *Door) addMember(in *status.Input, member, placement string) {
	if record, _, found := d.records.seen.Get(member); found {
		in.Members[member] = status.Member{State: record.State, LastSeen: record.LastSeen.Time, Since: record.Since.Time}
	}
	entry, found := d.store.Results.Get(subjects.ResultKey(member, subjects.CommandPlacement, placement))
	if !found {
		return
	}
	if result, err := bus.Decode[api.PlacementResult](entry); err == nil {
		in.Results[member] = &result
	}
}

func identifiers(manifests []api.Manifest) []api.ResourceIdentifier {
	found := make([]api.ResourceIdentifier, len(manifests))
	for i := range manifests {
		found[i] = identifier(manifests[i].ObjectRef)
	}
	return found
}
