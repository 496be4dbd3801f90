package door

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/envelope"
	"flotilla/core/overlay"
	"flotilla/core/phrase"
	"flotilla/hub/door/records"
)

// annotationRestarted is what kubectl sets on the pods of a workload to have them made anew.
const annotationRestarted = "kubectl.kubernetes.io/restartedAt"

// restarted are the kinds of workloads whose pods are made anew when their template changes.
var restarted = map[string]bool{"Deployment": true, "StatefulSet": true, "DaemonSet": true}

// restart has members make the pods of a placement anew, as fast as it rolls out: the templates of its workloads on the hub
// change, as kubectl changes them.
func (d *Door) restart(ctx context.Context, request *api.RolloutRequest) (*api.RolloutResponse, error) {
	p, f, err := d.steer(request)
	if err != nil {
		return nil, err
	}
	if first := f.answered(p, request); first != nil {
		first.Action = api.ActionRestarted
		return first, nil
	}
	if notes := f.steeringOf(p.Placement); len(notes) > 0 {
		return nil, &api.Failure{Code: api.CodeConflict, Message: fmt.Sprintf("restarting %s: it is %s", p.stored.Object, notes[0]), Next: "flotilla rollout resume " + records.Typed(p.stored.Object)}
	}
	answer := &api.RolloutResponse{Object: p.stored.Object, Action: api.ActionRestarted}
	patches, left, err := d.restarts(ctx, f, f.selected(p.Placement).Manifests)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		answer.Notes = append(answer.Notes, "not restarted, because they lie in envelopes as texts: "+phrase.Enumerate(left))
	}
	if len(patches) == 0 || len(patches) > maxDocuments {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("restarting %s: it selects %s, expected 1 to %d", p.stored.Object, phrase.Count(len(patches), "workload"), maxDocuments), Next: "flotilla rollout history " + records.Typed(p.stored.Object)}
	}
	if err := d.patchAll(ctx, f, patches); err != nil {
		return nil, err
	}
	f.audit(records.EventName(p.stored.Object), "RolloutRestarted", phrase.Count(len(patches), "object")+" changed on the hub")
	if cut := f.cuts[p.Key()]; cut != nil {
		answer.Revision = cut.Index
	}
	if others := f.cutBeside(p.Key()); len(others) > 0 {
		answer.Notes = append(answer.Notes, "other placements select some of it, and restart it too: "+phrase.Enumerate(others))
	}
	if request.DryRun {
		return answer, nil
	}
	if err := d.commit(ctx, f); err != nil {
		return nil, fmt.Errorf("restarting %s: %w", p.stored.Object, err)
	}
	return answer, nil
}

// cutBeside are the other placements whose snapshots the draft cuts.
func (f *draft) cutBeside(placement string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.cuts)), func(key string) bool { return key == placement })
}

// restarts are merge patches, by the object of the hub that is patched, and the workloads that cannot be.
func (d *Door) restarts(ctx context.Context, f *draft, manifests []api.Manifest) (patches map[api.ObjectRef]map[string]any, left []string, err error) {
	patches = map[api.ObjectRef]map[string]any{}
	for i := range manifests {
		m := &manifests[i]
		switch {
		case content.GroupOf(m.APIVersion) != "apps" || !restarted[m.Kind]:
		case m.Envelope == "":
			patches[m.ObjectRef] = f.templateOf()
		default:
			outer, key, err := d.wherein(ctx, f, m)
			if err != nil {
				return nil, nil, err
			}
			if key == "" {
				left = append(left, m.String())
				continue
			}
			if patches[outer] == nil {
				patches[outer] = map[string]any{"data": map[string]any{}}
			}
			patches[outer]["data"].(map[string]any)[key] = f.templateOf()
		}
	}
	return patches, left, nil
}

// wherein is the envelope that an object lies in, and under which key; no key where it is a text.
func (d *Door) wherein(ctx context.Context, f *draft, m *api.Manifest) (outer api.ObjectRef, key string, err error) {
	head, found := f.index.EnvelopeOf(m)
	if !found {
		return outer, "", nil
	}
	body, err := d.bodyOf(ctx, &head)
	if err != nil {
		return outer, "", err
	}
	var tree map[string]any
	if err := kjson.Unmarshal(body, &tree); err != nil {
		return outer, "", fmt.Errorf("reading %s: %w", head.Object, err)
	}
	if envelope.Of(tree) == envelope.Config {
		return head.Object, "", nil
	}
	for _, item := range envelope.Open(tree) {
		if content.RefOf(item.Object) == m.ObjectRef {
			return head.Object, item.Key, nil
		}
	}
	return head.Object, "", nil
}

// templateOf is a patch of a workload whose pods are to be made anew.
func (f *draft) templateOf() map[string]any {
	annotations := map[string]any{annotationRestarted: f.now.UTC().Format(time.RFC3339)}
	return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}}}
}

// patchAll applies merge patches to what is stored, as single changes that an apply keeps.
func (d *Door) patchAll(ctx context.Context, f *draft, patches map[api.ObjectRef]map[string]any) error {
	refs := slices.SortedFunc(maps.Keys(patches), func(a, b api.ObjectRef) int { return strings.Compare(a.String(), b.String()) })
	bodies, overlays := make([]json.RawMessage, len(refs)), make([]map[string]any, len(refs))
	for i, ref := range refs {
		table, name := d.records.Place(ref)
		stored, _, found := table.Get(name)
		if !found {
			return d.records.Missing(ref)
		}
		body, err := d.bodyOf(ctx, &stored)
		if err != nil {
			return err
		}
		patch, err := json.Marshal(patches[ref])
		if err != nil {
			return fmt.Errorf("encoding: %w", err)
		}
		if bodies[i], err = overlay.Patch(body, patch); err != nil {
			return fmt.Errorf("patching %s: %w", ref, err)
		}
		held, err := d.overlayOf(ctx, &stored)
		if err != nil {
			return err
		}
		if overlays[i], err = overlay.Extend(held, patch); err != nil {
			return fmt.Errorf("patching %s: %w", ref, err)
		}
	}
	documents, wrong := d.readAll(bodies)
	f.refused = *wrong
	for i := range documents {
		documents[i].overlay = overlays[i]
	}
	return f.applyAll(ctx, documents)
}
