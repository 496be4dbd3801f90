package run

import (
	"context"

	"flotilla/core/api"
)

// fetchRun reads an update run with its status, nil before the hub has looked at it.
func (a commands) fetchRun(ctx context.Context, name string) (*api.UpdateRun, error) {
	var run api.UpdateRun
	request := api.GetRequest{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: name}
	if err := a.Call(ctx, api.VerbGet, request, &run); err != nil {
		return nil, a.withNearRuns(ctx, err, name)
	}
	if run.Status != nil && len(run.Status.Stages) == 0 {
		run.Status = nil
	}
	return &run, nil
}
