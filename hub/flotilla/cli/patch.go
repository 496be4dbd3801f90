package cli

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
)

// patchTries is how often a change that another writer overtook is worked out again.
const patchTries = 5

// change works out the merge patch of an object as it stands; nil changes nothing.
type change func(obj *unstructured.Unstructured) (map[string]any, error)

// patch reads an object, asks for a change, and sends it under the version that was read; overtaken
// by another writer it reads again.
func (a *Client) patch(ctx context.Context, r ref, dry bool, do change) (*api.ApplyResult, error) {
	if err := ownedByMember(r); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		obj, err := a.fetch(ctx, r)
		if err != nil {
			return nil, err
		}
		delta, err := do(obj)
		if err != nil {
			return nil, err
		}
		if delta == nil {
			return &api.ApplyResult{Object: r.object(), Action: api.ActionUnchanged}, nil
		}
		body, err := json.Marshal(delta)
		if err != nil {
			return nil, fmt.Errorf("encoding the change of %s: %w", r, err)
		}
		request := api.PatchRequest{
			Request: newRequestID(), Object: r.object(), Patch: body, ResourceVersion: obj.GetResourceVersion(), DryRun: dry,
		}
		var reply api.ApplyResult
		err = a.call(ctx, api.VerbPatch, request, &reply)
		if isConflict(err) && try < patchTries {
			continue
		}
		if err != nil {
			return nil, notChanged(err, "flotilla describe "+r.String())
		}
		return &reply, nil
	}
}

func isConflict(err error) bool {
	f, ok := errors.AsType[*api.Failure](err)
	return ok && f.Code == api.CodeConflict
}

// report prints what a change did, in kubectl's words for it.
func (a *Client) report(result *api.ApplyResult, done string, dry bool) {
	if result.Action == api.ActionUnchanged {
		done = "unchanged"
	}
	if dry {
		done += " (server dry run)"
	}
	for _, text := range result.Notes {
		a.note("%s", text)
	}
	a.printf("%s %s\n", shownName(result.Object), done)
}

// nothingApplied is what the hub says of documents that it refuses, whatever was asked for.
const nothingApplied = "nothing was applied: "

// notChanged is what a change of one stored object says when the hub refuses it.
func notChanged(err error, next string) error {
	f := failureOf(err)
	f.Message = strings.Replace(f.Message, nothingApplied, "nothing was changed: ", 1)
	f.Next = cmp.Or(f.Next, next)
	return f
}

func newRequestID() string { return "cli-" + rand.Text() }
