package draft

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/overlay"
)

// Create applies one document all of which is overlay: a file that is applied later takes over what it
// sets and keeps the rest.
func (f *Draft) Create(ctx context.Context, body json.RawMessage) error {
	read := f.desk.readAll([]json.RawMessage{body})
	var err error
	if read.All[0].overlay, err = overlay.Whole(body); err != nil {
		return err
	}
	return f.Apply(ctx, read)
}

// Patch applies a JSON merge patch (RFC 7386) to an object that is stored and then does what Apply does with the outcome:
// the same rules, the same faults. It returns what the request was answered before, nil when it was not.
func (f *Draft) Patch(ctx context.Context, request *api.PatchRequest) (*api.ApplyResult, error) {
	object := request.Object
	table, name := f.records.Place(object)
	stored, revision, found := table.Get(name)
	if first := f.deleted(object); !found && first != nil {
		return first, nil
	}
	if !found {
		return nil, f.records.Missing(object)
	}
	if f.request != "" && stored.Request == f.request {
		result := f.repeated(api.ApplyResult{Object: stored.Object}, &stored, revision)
		return &result, nil
	}
	if first := f.earlier(stored.Object, stored.Earlier); first != nil {
		return first, nil
	}
	is, err := f.desk.patched(ctx, &stored, request.Patch, request.Managed)
	if err != nil {
		return nil, err
	}
	read := f.desk.readAll([]json.RawMessage{is.body})
	if len(read.wrong.faults) == 0 && read.All[0].Object != stored.Object {
		return nil, &api.Failure{
			Code:    api.CodeInvalid,
			Message: fmt.Sprintf("patching %s: found a patch that makes it %s, expected apiVersion, kind, name and namespace to stay", stored.Object, read.All[0].Object),
		}
	}
	_, digests, err := content.UnredactDocument(is.body, nil, false, f.desk.store.Keys)
	if err != nil {
		return nil, err
	}
	read.wrong.refuseDigests(1, &read.All[0], digests, false)
	read.All[0].ResourceVersion, read.All[0].overlay, read.All[0].managed = "", is.overlay, is.managed
	if request.ResourceVersion != "" {
		read.All[0].expect = &api.Expected{ResourceVersion: request.ResourceVersion}
	}
	return nil, f.Apply(ctx, read)
}

// PatchAll applies merge patches to what is stored, as single changes that an apply keeps.
func (f *Draft) PatchAll(ctx context.Context, patches map[api.ObjectRef]map[string]any) error {
	refs := slices.SortedFunc(maps.Keys(patches), func(a, b api.ObjectRef) int { return strings.Compare(a.String(), b.String()) })
	bodies, are := make([]json.RawMessage, len(refs)), make([]*patched, len(refs))
	for i, ref := range refs {
		table, name := f.records.Place(ref)
		stored, _, found := table.Get(name)
		if !found {
			return f.records.Missing(ref)
		}
		patch, err := json.Marshal(patches[ref])
		if err != nil {
			return fmt.Errorf("encoding: %w", err)
		}
		if are[i], err = f.desk.patched(ctx, &stored, patch, false); err != nil {
			return err
		}
		bodies[i] = are[i].body
	}
	read := f.desk.readAll(bodies)
	for i := range read.All {
		read.All[i].overlay = are[i].overlay
	}
	return f.Apply(ctx, read)
}

// patched is what a patch makes of what is stored, and of the part of it that documents do not set.
type patched struct {
	body    json.RawMessage
	overlay map[string]any
	// managed is what clients keep on the object, nil where the patch is not of that.
	managed *content.Managed
}

func (d *Desk) patched(ctx context.Context, stored *api.Spec, patch json.RawMessage, managed bool) (*patched, error) {
	read := d.BodyOf
	if managed {
		read = d.whole
	}
	body, err := read(ctx, stored)
	if err != nil {
		return nil, err
	}
	is := &patched{}
	if is.body, err = overlay.Patch(body, patch); err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("patching %s: %s", stored.Object, err)}
	}
	if managed {
		if is.body, is.managed, err = parted(is.body); err != nil {
			return nil, err
		}
		if patch, _, err = parted(patch); err != nil {
			return nil, err
		}
	}
	held, err := d.overlayOf(ctx, stored)
	if err != nil {
		return nil, err
	}
	if is.overlay, err = overlay.Extend(held, patch); err != nil {
		return nil, fmt.Errorf("patching %s: %w", stored.Object, err)
	}
	return is, nil
}

// BodyOf returns the stored body of an object, without what the hub sets.
func (d *Desk) BodyOf(ctx context.Context, stored *api.Spec) (json.RawMessage, error) {
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
