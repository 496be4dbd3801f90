package door_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
)

const key = `{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {password: hunter2, user: anna}}`

// Values of Secrets are shown to operators who ask for them; everybody else sees digests, one object or many, and what
// a dry run would store.
func TestValuesOfSecretsAreShownToWhoAsks(t *testing.T) {
	h := peopled(t)
	h.apply(key)
	get := api.GetRequest{Kind: "Secret", Namespace: "shop", Name: "key"}
	list := api.ListRequest{Kind: "Secret", Namespace: "shop"}
	require.NotContains(t, string(must[json.RawMessage](h, api.VerbGet, get)), "hunter2")
	require.NotContains(t, string(must[api.ListResponse](h, api.VerbList, list).Items[0]), "hunter2")
	dry := must[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Documents: docs(t, key[:len(key)-2]+", more: hunter3}}"), DryRun: true, Show: true})
	require.Contains(t, string(dry.Results[0].Body), `"more":"digest:`)
	require.NotContains(t, string(dry.Results[0].Body), "hunter")

	get.ShowSecrets, list.ShowSecrets = true, true
	require.Contains(t, string(must[json.RawMessage](h, api.VerbGet, get)), "hunter2")
	require.Contains(t, string(must[api.ListResponse](h, api.VerbList, list).Items[0]), "hunter2")

	viewer := h.add("vera", api.RoleViewer)
	for verb, request := range map[string]any{
		api.VerbGet:  api.GetRequest{Kind: "Namespace", Name: "shop", ShowSecrets: true},
		api.VerbList: api.ListRequest{Kind: "Namespace", ShowSecrets: true},
	} {
		var failure *api.Failure
		require.ErrorAs(t, bus.Request(bustest.Context(t), viewer, verb, request, nil, bus.RequestOptions{}), &failure)
		require.Equal(t, api.CodeRefused, failure.Code)
	}
}

// What is shown can be applied again: digests stand for what is stored. Those of anything else are refused, with where.
func TestDigestsStandForWhatIsStored(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(key)
	var shown struct {
		StringData map[string]string `json:"stringData"`
	}
	get := api.GetRequest{Kind: "Secret", Namespace: "shop", Name: "key"}
	require.NoError(t, json.Unmarshal(must[json.RawMessage](h, api.VerbGet, get), &shown))
	again := func(name, password, user string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {name: ` + name + `, namespace: shop}, stringData: {password: "` + password + `", user: "` + user + `"}}`
	}
	require.Equal(t, api.ActionUnchanged, h.apply(again("key", shown.StringData["password"], shown.StringData["user"]))[0].Action)
	require.Equal(t, api.ActionConfigured, h.apply(again("key", shown.StringData["password"], "bob"))[0].Action)
	get.ShowSecrets = true
	require.NoError(t, json.Unmarshal(must[json.RawMessage](h, api.VerbGet, get), &shown))
	require.Equal(t, map[string]string{"password": "hunter2", "user": "bob"}, shown.StringData)

	get.ShowSecrets = false
	require.NoError(t, json.Unmarshal(must[json.RawMessage](h, api.VerbGet, get), &shown))
	for _, text := range []string{again("key", shown.StringData["user"], "bob"), again("other", shown.StringData["password"], "bob")} {
		failure := h.refuse(text)
		require.Equal(t, api.CodeInvalid, failure.Code)
		require.Len(t, failure.Faults, 1)
		require.Equal(t, "stringData.password", failure.Faults[0].Path)
	}
	patch := api.PatchRequest{Object: api.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "key"}}
	patch.Patch = json.RawMessage(`{"stringData":{"user":"` + shown.StringData["password"] + `"}}`)
	_, failure := ask[api.ApplyResult](h, api.VerbPatch, patch)
	require.NotNil(t, failure)
	require.Equal(t, "stringData.user", failure.Faults[0].Path)
}
