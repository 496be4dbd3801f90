package door

import (
	"context"
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/overlay"
)

// patch applies a JSON merge patch (RFC 7386) to what is stored and then does what apply does with the
// outcome: the same rules, the same faults.
func (d *Door) patch(ctx context.Context, request *api.PatchRequest) (*api.ApplyResult, error) {
	if err := d.view.RefuseGate(request.Object); err != nil {
		return nil, err
	}
	if failure := forbidden(request.By, []api.ObjectRef{request.Object}); failure != nil {
		return nil, failure
	}
	table, name := d.records.Place(request.Object)
	stored, revision, found := table.Get(name)
	if !found {
		return nil, d.records.Missing(request.Object)
	}
	f := d.newDraft(request.By, request.Request)
	if f.request != "" && stored.Request == f.request {
		result := f.repeated(api.ApplyResult{Object: stored.Object}, &stored, revision)
		return &result, nil
	}
	if first := f.earlier(stored.Object, stored.Earlier); first != nil {
		return first, nil
	}
	body, err := d.bodyOf(ctx, &stored)
	if err != nil {
		return nil, err
	}
	patched, err := overlay.Patch(body, request.Patch)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("patching %s: %s", stored.Object, err)}
	}
	held, err := d.overlayOf(ctx, &stored)
	if err != nil {
		return nil, err
	}
	extended, err := overlay.Extend(held, request.Patch)
	if err != nil {
		return nil, fmt.Errorf("patching %s: %w", stored.Object, err)
	}
	if err := d.fillDraft(ctx, f, patched, extended, request.ResourceVersion, &stored); err != nil {
		return nil, err
	}
	if !request.DryRun {
		if err := d.commit(ctx, f); err != nil {
			return nil, fmt.Errorf("patching %s: %w", stored.Object, err)
		}
	}
	return &f.results[0], nil
}

// fillDraft decides about one document that must stay the object that is stored.
func (d *Door) fillDraft(ctx context.Context, f *draft, body json.RawMessage, extended map[string]any, version string, stored *api.Spec) error {
	documents, wrong := d.readAll([]json.RawMessage{body})
	f.refused = *wrong
	if len(wrong.faults) == 0 && documents[0].Object != stored.Object {
		return &api.Failure{
			Code:    api.CodeInvalid,
			Message: fmt.Sprintf("patching %s: found a patch that makes it %s, expected apiVersion, kind, name and namespace to stay", stored.Object, documents[0].Object),
		}
	}
	_, digests, err := unredacted(body, nil, f.door.store.Keys)
	if err != nil {
		return err
	}
	f.refused.refuseDigests(1, &documents[0], digests)
	documents[0].ResourceVersion, documents[0].overlay = version, extended
	return f.applyAll(ctx, documents)
}

// bodyOf returns the stored body of an object, without what the hub sets.
func (d *Door) bodyOf(ctx context.Context, stored *api.Spec) (json.RawMessage, error) {
	if stored.Digest == "" {
		return withoutServerSet(stored.Body)
	}
	body, err := d.store.Content.Get(ctx, stored.Digest)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", stored.Object, err)
	}
	return body, nil
}

func withoutServerSet(body json.RawMessage) (json.RawMessage, error) {
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		for _, field := range []string{"uid", "generation", "creationTimestamp", "deletionTimestamp"} {
			delete(metadata, field)
		}
	}
	stripped, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return stripped, nil
}
