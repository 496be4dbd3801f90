package run

import (
	"context"
	"strings"

	"flotilla/core/api"
)

// fetchRun reads a run of either kind with its status, nil before the hub has created it.
func (a commands) fetchRun(ctx context.Context, name string) (*api.UpdateRun, error) {
	run, _, err := a.fetchWithWhy(ctx, name)
	return run, err
}

// fetchWithWhy also says why the hub could not create the run yet, nothing where it has, or has not looked at it.
func (a commands) fetchWithWhy(ctx context.Context, name string) (*api.UpdateRun, string, error) {
	var run api.UpdateRun
	ref := refOf(name)
	request := api.GetRequest{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	if err := a.Call(ctx, api.VerbGet, request, &run); err != nil {
		return nil, "", a.withNearRuns(ctx, err, name)
	}
	run.Name = name
	why := ""
	if run.Status != nil && len(run.Status.Stages) == 0 {
		if failure := run.Status.Status.Error; failure != nil {
			why = failure.Message
		}
		run.Status = nil
	}
	return &run, why, nil
}

// refOf is the object of a run of that name; runs outside namespaces share their names.
func refOf(name string) api.ObjectRef {
	if namespace, name, inside := strings.Cut(name, "/"); inside {
		return api.ObjectRef{APIVersion: api.PlacementVersion, Kind: api.KindStagedUpdateRun, Namespace: namespace, Name: name}
	}
	return api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: name}
}
