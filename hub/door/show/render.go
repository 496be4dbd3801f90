package show

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/content"
	"flotilla/core/health"
	"flotilla/core/status"
	"flotilla/hub/door/records"
)

// rendering is how objects are shown.
type rendering struct {
	brief   bool // without the entries of members
	values  bool // of Secrets
	managed bool // at one version, with what clients keep
	on      *standings
}

// render returns an object as Kubernetes would show it: body, metadata that the hub sets, status.
func (v *View) render(ctx context.Context, entry *store.Entry[api.Spec], as rendering) (json.RawMessage, error) {
	table, name := v.records.Place(entry.Value.Object)
	switch table {
	case v.records.Members:
		if as.managed {
			return v.renderRecordedMember(entry)
		}
		return v.renderMember(&entry.Value, entry.Revision, v.placedByMember()[name])
	case v.records.Placements:
		if as.managed {
			return v.renderRecordedPlacement(entry, as.brief)
		}
		return v.renderPlacement(entry, as.brief)
	case v.records.Specs[api.KindNodePool]:
		return v.renderPool(entry)
	case v.records.Specs[entry.Value.Object.Kind]:
		if entry.Value.Digest != "" && as.values {
			break
		}
		return v.renderUpgrade(entry, as.brief)
	}
	body, err := v.store.Content.Get(ctx, entry.Value.Digest)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", entry.Value.Object, err)
	}
	if table != v.records.Objects {
		return v.complete(&entry.Value, entry.Revision, body, nil)
	}
	return v.completeContent(&entry.Value, entry.Revision, body, as)
}

// completeContent shows a body that is placed and how it does, with digests in the place of values of Secrets unless they are
// wanted.
func (v *View) completeContent(spec *api.Spec, revision uint64, body json.RawMessage, as rendering) (json.RawMessage, error) {
	var tree map[string]any
	if err := kjson.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", spec.Object, err)
	}
	if !as.values {
		content.Redact(tree, v.store.Keys)
	}
	return v.completeTree(spec, revision, tree, as.on.tell(spec, tree))
}

// complete adds to a stored body the metadata that the hub sets, and a status.
func (v *View) complete(spec *api.Spec, revision uint64, body json.RawMessage, status any) (json.RawMessage, error) {
	var tree map[string]any
	if err := kjson.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", spec.Object, err)
	}
	return v.completeTree(spec, revision, tree, status)
}

func (v *View) completeTree(spec *api.Spec, revision uint64, tree map[string]any, status any) (json.RawMessage, error) {
	metadata, _ := tree["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{"name": spec.Object.Name}
		tree["metadata"] = metadata
	}
	metadata["resourceVersion"] = fmt.Sprintf("%v.%d", v.store.Term.Epoch, revision)
	metadata["uid"] = spec.UID
	metadata["generation"] = spec.Generation
	metadata["creationTimestamp"] = spec.Created
	if spec.Deleted != nil {
		metadata["deletionTimestamp"] = spec.Deleted
	}
	if spec.Set != "" {
		annotate(tree, api.AnnotationSet, spec.Set)
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
// Status is aggregated from what the caches hold now: whoever applies and then asks never reads of the
// content before.
func (v *View) renderPlacement(entry *store.Entry[api.Spec], brief bool) (json.RawMessage, error) {
	p, err := v.records.Placement(entry)
	if err != nil {
		return v.renderUnreadable(entry, err)
	}
	in := v.groundOf(p)
	full := status.NewFold(in, v.said(p.Key())).Show(in.Previous, in.JudgeFrom, in.Now, brief)
	if brief {
		return v.complete(&entry.Value, entry.Revision, entry.Value.Body, placementStatus{PlacementStatus: briefly(full)})
	}
	if in.Latest != nil {
		full.SelectedResources = identifiers(in.Latest.Manifests)
	}
	return v.complete(&entry.Value, entry.Revision, entry.Value.Body, placementStatus{PlacementStatus: full})
}

// briefly is a status without the entries of members, however many there are.
func briefly(status api.PlacementStatus) api.PlacementStatus {
	if status.Rollout != nil {
		rollout := *status.Rollout
		rollout.HeldUpBy = rollout.HeldUpBy[:min(len(rollout.HeldUpBy), 1)]
		status.Rollout = &rollout
	}
	status.PlacementStatuses, status.SelectedResources = nil, nil
	return status
}

// StatusOf gathers what the status of a placement depends on.
func (v *View) StatusOf(p *api.Placement) status.Input {
	in := v.groundOf(p)
	in.Results, in.Members = map[string]*api.PlacementResult{}, map[string]status.Member{}
	said := v.said(p.Key())
	add := func(member string) {
		result, state := said(member)
		if in.Members[member] = state; result != nil {
			in.Results[member] = result
		}
	}
	if in.Schedule != nil {
		for i := range in.Schedule.Bindings {
			add(in.Schedule.Bindings[i].Member)
		}
	}
	if in.Release != nil {
		for i := range in.Release.Entries {
			add(in.Release.Entries[i].Member)
		}
	}
	return in
}

// groundOf gathers what the status of a placement depends on but for what its members say.
func (v *View) groundOf(p *api.Placement) status.Input {
	name := p.Key()
	in := status.Input{
		Placement: *p, Latest: v.records.Latest(name, string(p.UID)), Now: v.store.Now(), JudgeFrom: v.began.Add(v.options.Grace),
		Frozen: v.records.Frozen().Of(api.FreezePlacements),
	}
	if schedule, _, found := v.records.Schedules.Get(name); found && schedule.UID == string(p.UID) {
		in.Schedule = &schedule
	}
	if release, _, found := v.records.Releases.Get(name); found {
		in.Release = &release
	}
	if checks, _, found := v.records.Checks.Get(name); found {
		in.Checks = &checks
	}
	if record, _, found := v.statuses.Get(name); found && record.UID == string(p.UID) {
		in.Previous = &record
	}
	return in
}

// said is what members say of a placement, and how they do.
func (v *View) said(placement string) status.Source {
	return func(member string) (result *api.PlacementResult, state status.Member) {
		if record, _, found := v.records.Seen.Get(member); found {
			state = status.Member{State: record.State, LastSeen: record.LastSeen.Time, Since: record.Since.Time}
		}
		result = v.results.Of(member, placement)
		return result, state
	}
}

func identifiers(manifests []api.Manifest) []api.ResourceIdentifier {
	found := make([]api.ResourceIdentifier, len(manifests))
	for i := range manifests {
		found[i] = manifests[i].Identifier()
	}
	return found
}

// renderUnreadable shows a placement of which only the head can be read.
func (v *View) renderUnreadable(entry *store.Entry[api.Spec], err error) (json.RawMessage, error) {
	bare := map[string]any{"apiVersion": entry.Value.Object.APIVersion, "kind": entry.Value.Object.Kind, "metadata": map[string]any{
		"name": entry.Value.Object.Name, "namespace": entry.Value.Object.Namespace,
	}}
	if entry.Value.Object.Namespace == "" {
		delete(bare["metadata"].(map[string]any), "namespace")
	}
	body, encoding := json.Marshal(bare)
	if encoding != nil {
		return nil, fmt.Errorf("encoding %s: %w", entry.Value.Object, encoding)
	}
	return v.complete(&entry.Value, entry.Revision, body, placementStatus{PlacementStatus: api.PlacementStatus{
		Conditions: []metav1.Condition{{
			Type: "Readable", Status: metav1.ConditionFalse, Reason: health.ReasonUnreadable, Message: err.Error() + ": apply or delete it",
			ObservedGeneration: entry.Value.Generation, LastTransitionTime: entry.Value.Created,
		}},
	}})
}

// renderPool shows a NodePool with its nodes on all members.
func (v *View) renderPool(entry *store.Entry[api.Spec]) (json.RawMessage, error) {
	pool, err := records.Decoded[api.NodePool](v.records, entry)
	if err != nil {
		return v.complete(&entry.Value, entry.Revision, entry.Value.Body, nil)
	}
	return v.complete(&entry.Value, entry.Revision, entry.Value.Body, capacity.StatusOfPool(pool, v.records.PoolRecord(&entry.Value)))
}
