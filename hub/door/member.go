package door

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/subjects"
)

// admit makes a member part of the fleet: it writes its MemberCluster, with the label keys its agent may
// set: those of the request, or else those that it offers now. Where the member is part of it already,
// what the request does not name stays as it is.
func (d *Door) admit(ctx context.Context, request *api.AdmitRequest) (*api.ApplyResult, error) {
	if err := subjects.CheckLabel("member", request.Name); err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: err.Error()}
	}
	if err := d.expected(request); err != nil {
		return nil, err
	}
	allowed, note := request.AllowLabels, ""
	switch {
	case len(allowed) > 0:
	case request.Expect != nil && request.Expect.Offered != nil:
		allowed, note = liveness.Allowable(request.Expect.Offered)
	default:
		allowed, note = d.offered(request.Name)
	}
	result, err := d.admitted(ctx, request, allowed)
	if err != nil {
		return nil, err
	}
	if note != "" {
		result.Notes = append(result.Notes, note)
	}
	return result, nil
}

func (d *Door) admitted(ctx context.Context, request *api.AdmitRequest, allowed []string) (*api.ApplyResult, error) {
	if stored, _, found := d.records.Members.Get(request.Name); found {
		return d.readmit(ctx, request, &stored, allowed)
	}
	body, err := json.Marshal(api.MemberCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: api.GroupCluster + "/v1", Kind: api.KindMemberCluster},
		ObjectMeta: metav1.ObjectMeta{
			Name: request.Name, Labels: request.Labels, Annotations: allowing(allowed),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("admitting %s: %w", request.Name, err)
	}
	f := d.desk.New(request.By, request.Request)
	if err := f.Create(ctx, body); err != nil {
		return nil, err
	}
	if err := f.Commit(ctx); err != nil {
		return nil, fmt.Errorf("admitting %s: %w", request.Name, err)
	}
	return &f.Results[0], nil
}

func allowing(keys []string) map[string]string {
	if len(keys) == 0 {
		return nil
	}
	return map[string]string{api.AnnotationAgentLabels: strings.Join(keys, ",")}
}

// offered are the label keys that the member's agent sends now. The note says what is left out of them.
func (d *Door) offered(member string) (keys []string, note string) {
	entry, found := d.store.Heartbeats.Get(member)
	if !found {
		return nil, "no heartbeat of " + member + " yet: start its agent; to allow the labels it offers, repeat: flotilla member admit " + member
	}
	beat, err := watch.Decode[api.Heartbeat](entry)
	if err != nil {
		return nil, "its heartbeat cannot be read: " + err.Error()
	}
	return liveness.Allowable(slices.Sorted(maps.Keys(beat.Labels)))
}

// readmit changes a member that is part of the fleet. Keys that the request names replace those that are
// allowed, keys that the agent offers are added to them.
func (d *Door) readmit(ctx context.Context, request *api.AdmitRequest, stored *api.Spec, allowed []string) (*api.ApplyResult, error) {
	if len(request.AllowLabels) == 0 {
		var err error
		if allowed, err = widened(stored, allowed); err != nil {
			return nil, err
		}
	}
	metadata := map[string]any{}
	if len(allowed) > 0 {
		metadata["annotations"] = allowing(allowed)
	}
	if len(request.Labels) > 0 {
		metadata["labels"] = request.Labels
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("admitting %s: %w", request.Name, err)
	}
	return d.patch(ctx, &api.PatchRequest{Asked: request.Asked, Request: request.Request, Object: stored.Object, Patch: patch})
}

// widened are the label keys to allow so that those offered are, beside what a member's spec allows
// already; none when all of them are allowed.
func widened(stored *api.Spec, offered []string) ([]string, error) {
	var spec api.MemberCluster
	if err := json.Unmarshal(stored.Body, &spec); err != nil {
		return nil, fmt.Errorf("reading %s: %w", stored.Object, err)
	}
	labels := make(map[string]string, len(offered))
	for _, key := range offered {
		labels[key] = ""
	}
	_, refused := liveness.Labels(stored.Object.Name, &spec, labels)
	if len(refused) == 0 {
		return nil, nil
	}
	keys := slices.Collect(maps.Keys(refused))
	for key := range strings.SplitSeq(spec.Annotations[api.AnnotationAgentLabels], ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
