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
	kept := v.records.Snapshots.Group(name)
	past := make(rollout.History, 0, len(kept))
	for i := range kept {
		if kept[i].Value.UID == stored.UID {
			past = append(past, &kept[i].Value)
		}
	}
	return &api.HistoryResponse{Revisions: past.Revisions(&release)}, nil
}
