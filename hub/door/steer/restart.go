package steer

import (
	"context"
	"fmt"
	"time"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/envelope"
	"flotilla/core/phrase"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/records"
)

// annotationRestarted is what kubectl sets on the pods of a workload to have them made anew.
const annotationRestarted = "kubectl.kubernetes.io/restartedAt"

// restarted are the kinds of workloads whose pods are made anew when their template changes.
var restarted = map[string]bool{"Deployment": true, "StatefulSet": true, "DaemonSet": true}

// Restart has members make the pods of a placement anew, as fast as it rolls out: the templates of its workloads on the hub
// change, as kubectl changes them.
func (s *Steerer) Restart(ctx context.Context, request *api.RolloutRequest) (*api.RolloutResponse, error) {
	p, err := s.find(request)
	if err != nil {
		return nil, err
	}
	if first := p.answered(request); first != nil {
		first.Action = api.ActionRestarted
		return first, nil
	}
	if err := p.asSeen(request.Basis); err != nil {
		return nil, err
	}
	if notes := p.Steering(p.placement); len(notes) > 0 {
		return nil, &api.Failure{Code: api.CodeConflict, Message: fmt.Sprintf("restarting %s: it is %s", p.stored.Object, notes[0]), Next: "flotilla rollout resume " + records.Typed(p.stored.Object)}
	}
	answer := &api.RolloutResponse{Object: p.stored.Object, Action: api.ActionRestarted, Basis: p.basis(request)}
	patches, left, err := s.restarts(ctx, p, p.Selected(p.placement).Manifests)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		answer.Notes = append(answer.Notes, "not restarted, because they lie in envelopes as texts: "+phrase.Enumerate(left))
	}
	if len(patches) == 0 || len(patches) > draft.MaxDocuments {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("restarting %s: it selects %s, expected 1 to %d", p.stored.Object, phrase.Count(len(patches), "workload"), draft.MaxDocuments), Next: "flotilla rollout history " + records.Typed(p.stored.Object)}
	}
	if err := p.PatchAll(ctx, patches); err != nil {
		return nil, err
	}
	p.Audit(p.stored.Object, "RolloutRestarted", phrase.Count(len(patches), "object")+" changed on the hub")
	if cut := p.Cut(p.placement.Key()); cut != nil {
		answer.Revision = cut.Index
	}
	if others := p.CutBeside(p.placement.Key()); len(others) > 0 {
		answer.Notes = append(answer.Notes, "other placements select some of it, and restart it too: "+phrase.Enumerate(others))
	}
	if request.DryRun {
		return answer, nil
	}
	if err := p.Commit(ctx); err != nil {
		return nil, fmt.Errorf("restarting %s: %w", p.stored.Object, err)
	}
	return answer, nil
}

// restarts are merge patches, by the object of the hub that is patched, and the workloads that cannot be.
func (s *Steerer) restarts(ctx context.Context, f *steered, manifests []api.Manifest) (patches map[api.ObjectRef]map[string]any, left []string, err error) {
	patches = map[api.ObjectRef]map[string]any{}
	since := bundles.Since(ctx, f.Now().Time)
	for i := range manifests {
		m := &manifests[i]
		switch {
		case content.GroupOf(m.APIVersion) != "apps" || !restarted[m.Kind]:
		case m.Envelope == "":
			patches[m.ObjectRef] = templateOf(since)
		default:
			outer, key, err := s.wherein(ctx, f, m)
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
			patches[outer]["data"].(map[string]any)[key] = templateOf(since)
		}
	}
	return patches, left, nil
}

// wherein is the envelope that an object lies in, and under which key; no key where it is a text.
func (s *Steerer) wherein(ctx context.Context, f *steered, m *api.Manifest) (outer api.ObjectRef, key string, err error) {
	head, found := f.Index().EnvelopeOf(m)
	if !found {
		return outer, "", nil
	}
	body, err := s.desk.BodyOf(ctx, &head)
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
func templateOf(now time.Time) map[string]any {
	annotations := map[string]any{annotationRestarted: now.UTC().Format(time.RFC3339)}
	return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}}}
}
