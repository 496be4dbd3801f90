package door

import (
	"context"
	"errors"
	"fmt"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/parts"
)

// removeAhead deletes what lies in large namespaces but for the last part, and returns what deletes that. Each part has a turn of its own, and
// begins once the events of the one before are stored, so that others write between them.
func (d *Door) removeAhead(ctx context.Context, request *api.DeleteRequest) (func(context.Context) (any, error), error) {
	var of *parts.Parts
	if !request.DryRun {
		if err := d.removable(request); err != nil {
			return nil, err
		}
		of = d.desk.Parts(named(request))
	}
	for of.More() {
		_, err := decided(ctx, d, d.desk.Turn, request.By, "", func(ctx context.Context) (any, error) { return nil, d.removePart(ctx, request, of) })
		if err == nil {
			err = d.store.Audit.Ease(ctx)
		}
		if err != nil {
			d.cutAfter(ctx, of)
			return nil, of.Tell(err)
		}
	}
	asked := context.WithoutCancel(ctx)
	return func(ctx context.Context) (any, error) {
		answer, err := d.remove(ctx, request, of)
		if err != nil && of.Begun() {
			d.cutMissing(asked, err)
		}
		return answer, of.Tell(err)
	}, nil
}

// removePart deletes the next part of a deletion. The turn is held.
func (d *Door) removePart(ctx context.Context, request *api.DeleteRequest, of *parts.Parts) error {
	if err := d.removable(request); err != nil {
		return err
	}
	f := d.desk.New(request.By, request.Request)
	if err := f.Part(of, named(request), expected(request), request.Yes); err != nil {
		return err
	}
	if err := f.Commit(ctx); err != nil {
		return fmt.Errorf("deleting what lies in namespaces: %w", err)
	}
	f.Done()
	return nil
}

// cutAfter cuts the snapshots of what lost something in a deletion that goes no further.
func (d *Door) cutAfter(ctx context.Context, of *parts.Parts) {
	if !of.Begun() {
		return
	}
	d.desk.Behind()
	ctx = context.WithoutCancel(ctx)
	if d.desk.Take(ctx) == nil {
		defer d.desk.Leave()
		d.cutMissing(ctx, nil)
	}
}

// cutMissing cuts the snapshots of what lost something in a deletion that failed, but where it is decided again at once. What cannot be cut is by
// whoever writes next. The turn is held.
func (d *Door) cutMissing(ctx context.Context, why error) {
	d.desk.Behind()
	if errors.Is(why, bus.ErrConflict) || errors.Is(why, parts.ErrMore) || errors.Is(why, bundles.ErrLater) {
		return
	}
	if err := d.desk.Recut(ctx); err != nil {
		d.options.Log.Warn().Err(err).Msg("cutting snapshots after a deletion that was interrupted")
	}
}
