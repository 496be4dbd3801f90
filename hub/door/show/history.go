package show

import (
	"context"

	"flotilla/core/api"
	"flotilla/core/rollout"
)

// History lists the snapshots of a placement that are kept, as revisions.
func (v *View) History(_ context.Context, request *api.HistoryRequest) (any, error) {
	table, name := v.records.Place(request.Object)
	stored, _, found := table.Get(name)
	if !found || table != v.records.Placements {
		return nil, v.records.Missing(request.Object)
	}
	release, _, _, err := v.records.Releases.Find(name)
	if err != nil {
		return nil, err
	}
	past := rollout.History(v.records.History(name, stored.UID))
	return &api.HistoryResponse{Revisions: past.Revisions(&release)}, nil
}
