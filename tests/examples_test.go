package tests

import (
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/configs"
	"flotilla/configs/examples"
	"flotilla/core/api"
)

func exampleRequest(t *testing.T, file string) api.ApplyRequest {
	t.Helper()
	text, err := fs.ReadFile(examples.Files, file)
	require.NoError(t, err)
	documents, err := configs.Parse(file, text)
	require.NoError(t, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, document := range documents {
		request.Documents = append(request.Documents, document.JSON)
	}
	return request
}

// Every example file is applied, as it is, to a hub that holds nothing yet.
func TestEveryExampleIsAcceptedByAFreshHub(t *testing.T) {
	files, err := fs.Glob(examples.Files, "*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	pools, err := fs.Glob(examples.Files, "nodes/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, pools)
	for _, file := range append(append(files, pools...), "envelopes/guards.yaml") {
		t.Run(file, func(t *testing.T) {
			s := newSlice(t)
			request := exampleRequest(t, file)
			var response api.ApplyResponse
			s.ask(api.VerbApply, request, &response)
			require.Len(t, response.Results, len(request.Documents))
			for _, result := range response.Results {
				require.Equal(t, api.ActionCreated, result.Action, result.Object.String())
			}
		})
	}
}

// Every refused form is refused by the hub with all its faults, each with what to write instead, and
// leaves nothing behind.
func TestEveryRefusedFormIsRefusedWhole(t *testing.T) {
	for file, paths := range map[string][]string{
		"refused/004-pickn-affinity.yaml": {
			"spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution",
			"spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference",
			"spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.labelSelector.matchLabels.critical-level",
		},
		"refused/004-pickn-spread.yaml": {"spec.policy.numberOfClusters"},
	} {
		t.Run(file, func(t *testing.T) {
			s := newSlice(t)
			request := exampleRequest(t, file)
			request.Documents = append(request.Documents, json.RawMessage(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"beside"}}`))
			err := bus.Request(t.Context(), s.fleet.Client, api.VerbApply, request, nil, bus.RequestOptions{})
			var failure *api.Failure
			require.ErrorAs(t, err, &failure)
			require.Equal(t, api.CodeInvalid, failure.Code)
			var found []string
			for _, fault := range failure.Faults {
				found = append(found, fault.Path)
				require.NotEmpty(t, fault.Fix, fault.Path)
			}
			require.Equal(t, paths, found)

			var all api.ListResponse
			s.ask(api.VerbList, api.ListRequest{Kind: "Namespace"}, &all)
			require.Empty(t, all.Items, "a refused request left something behind")
		})
	}
}
