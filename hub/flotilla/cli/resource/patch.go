package resource

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// patchTries is how often a change that another writer overtook is worked out again.
const patchTries = 5

// Change works out the merge patch of an object as it stands; nil changes nothing.
type Change func(obj *unstructured.Unstructured) (map[string]any, error)

// Patch reads an object, asks for a change, and sends it under the version that was read; overtaken
// by another writer it reads again.
func (a *Client) Patch(ctx context.Context, r Ref, dry bool, do Change) (*api.ApplyResult, error) {
	if err := OwnedByMember(r); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		obj, err := a.Fetch(ctx, r)
		if err != nil {
			return nil, err
		}
		delta, err := do(obj)
		if err != nil {
			return nil, err
		}
		if delta == nil {
			return &api.ApplyResult{Object: r.Object(), Action: api.ActionUnchanged}, nil
		}
		body, err := json.Marshal(delta)
		if err != nil {
			return nil, fmt.Errorf("encoding the change of %s: %w", r, err)
		}
		request := api.PatchRequest{
			Request: NewRequestID(), Object: r.Object(), Patch: body, ResourceVersion: obj.GetResourceVersion(), DryRun: dry,
		}
		var reply api.ApplyResult
		err = a.Call(ctx, api.VerbPatch, request, &reply)
		if isConflict(err) && try < patchTries {
			continue
		}
		if err != nil {
			return nil, NotChanged(err, "flotilla describe "+r.String())
		}
		return &reply, nil
	}
}

func isConflict(err error) bool {
	f, ok := errors.AsType[*api.Failure](err)
	return ok && f.Code == api.CodeConflict
}

// Report prints what a change did, in kubectl's words for it.
func (a *Client) Report(result *api.ApplyResult, done string, dry bool) {
	if result.Action == api.ActionUnchanged {
		done = "unchanged"
	}
	if dry {
		done += " (server dry run)"
	}
	a.Notes(result.Notes)
	a.Printf("%s %s\n", ShownName(result.Object), done)
}

// NothingApplied is what the hub says of documents that it refuses, whatever was asked for.
const NothingApplied = "nothing was applied: "

// NotChanged is what a change of one stored object says when the hub refuses it.
func NotChanged(err error, next string) error {
	f := session.FailureOf(err)
	f.Message = strings.Replace(f.Message, NothingApplied, "nothing was changed: ", 1)
	f.Next = cmp.Or(f.Next, next)
	return f
}

// NewRequestID is an id under which a hub does a request once.
func NewRequestID() string { return "cli-" + rand.Text() }
