package door

import (
	"context"
	"fmt"

	"flotilla/core/api"
)

// patch applies a JSON merge patch (RFC 7386) to what is stored.
func (d *Door) patch(ctx context.Context, request *api.PatchRequest) (*api.ApplyResult, error) {
	if err := d.view.RefuseGate(request.Object); err != nil {
		return nil, err
	}
	if failure := forbidden(request.By, []api.ObjectRef{request.Object}); failure != nil {
		return nil, failure
	}
	f := d.desk.New(request.By, request.Request)
	first, err := f.Patch(ctx, request)
	if first != nil || err != nil {
		return first, err
	}
	if request.DryRun {
		f.Foresee(d.view.Evicted, d.view.Drained)
	} else if err := f.Commit(ctx); err != nil {
		return nil, fmt.Errorf("patching %s: %w", request.Object, err)
	}
	return &f.Results[0], nil
}
