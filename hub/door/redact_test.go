package door_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Whoever may not read Secrets learns nothing of their values by planning guesses: a right one is answered as a wrong one, in a Secret, in
// an envelope, in a text and in an override. What `get` shows them can be planned.
func TestViewersCompareWithNoSecret(t *testing.T) {
	h := peopled(t)
	envelope := `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceEnvelope, metadata: {name: kept, namespace: shop},` +
		` data: {key: {apiVersion: v1, kind: Secret, metadata: {name: inner, namespace: shop}, stringData: {pin: "4712", user: anna}}}}`
	config := `{apiVersion: v1, kind: ConfigMap, metadata: {name: text, namespace: shop}, data: {key: "{kind: Secret, stringData: {pin: '4712'}}"}}`
	override := `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {name: pins, namespace: shop}, spec: {` +
		`placement: {name: web}, resourceSelectors: [{group: "", version: v1, kind: Secret, name: key}],` +
		` policy: {overrideRules: [{jsonPatchOverrides: [{op: replace, path: /data/pin, value: NDcxMg==}]}]}}}`
	h.apply(key, envelope, config, override)
	viewer := h.add("vera", api.RoleViewer)
	for name, guess := range map[string][2]string{
		"secret":   {key, strings.Replace(key, "hunter2", "hunter3", 1)},
		"envelope": {envelope, strings.Replace(envelope, "4712", "4713", 1)},
		"text":     {config, strings.Replace(config, "4712", "4713", 1)},
		"override": {override, strings.Replace(override, "NDcxMg", "NDcxMw", 1)},
	} {
		for _, verb := range []string{api.VerbPlan, api.VerbWhatIf, api.VerbPreview} {
			right, wrong := asked(viewer, t, verb, planOf(t, guess[0])), asked(viewer, t, verb, planOf(t, guess[1]))
			require.NotNil(t, right, "%s: %s", name, verb)
			require.Equal(t, right, wrong, "%s: %s", name, verb)
			require.Equal(t, api.CodeRefused, right.Code, "%s: %s: %s", name, verb, right)
		}
		require.Nil(t, asked(h.client, t, api.VerbPlan, planOf(t, guess[1])), "an operator: %s", name)
	}
	mixed := must[json.RawMessage](h, api.VerbGet, api.GetRequest{Kind: "ResourceEnvelope", Namespace: "shop", Name: "kept"})
	require.Nil(t, asked(viewer, t, api.VerbPlan, api.PlanRequest{Documents: []json.RawMessage{mixed}}), "what is shown can be planned")
	guess := regexp.MustCompile(`"pin":"digest:[0-9a-f]*"`).ReplaceAll(mixed, []byte(`"pin":"4712"`))
	require.NotEqual(t, string(mixed), string(guess))
	failure := asked(viewer, t, api.VerbPlan, api.PlanRequest{Documents: []json.RawMessage{guess}})
	require.NotNil(t, failure, "one guess among digests")
	require.Equal(t, []string{"data.key.stringData.pin"}, []string{failure.Faults[0].Path})
	require.Len(t, failure.Faults, 1)
}

func planOf(t *testing.T, text string) api.PlanRequest {
	t.Helper()
	return api.PlanRequest{Documents: docs(t, text)}
}

// What is a Secret goes by its group, as objects are found: a version that nothing has opens none of them to viewers.
func TestViewersReadNoSecretWhateverVersionTheyName(t *testing.T) {
	h := peopled(t)
	viewer := h.add("vera", api.RoleViewer)
	h.apply(shopNamespace, key)
	get := func(version string, managed bool) api.GetRequest {
		return api.GetRequest{APIVersion: version, Kind: "Secret", Namespace: "shop", Name: "key", Managed: managed}
	}
	watch := func(version, after string) api.WatchRequest {
		return api.WatchRequest{After: after, Wait: metav1.Duration{Duration: 100 * time.Millisecond}, Kinds: []api.WatchedKind{{APIVersion: version, Kind: "Secret"}}}
	}
	for _, version := range []string{"", "v1", "v2", "V1", " v1", "/v1", "/", "/a/v1"} {
		for verb, requests := range map[string][]any{
			api.VerbGet:   {get(version, false), get(version, true)},
			api.VerbList:  {api.ListRequest{APIVersion: version, Kind: "Secret"}, api.ListRequest{APIVersion: version, Kind: "Secret", Managed: true}},
			api.VerbWatch: {watch(version, "")},
		} {
			for _, request := range requests {
				failure := asked(viewer, t, verb, request)
				require.NotNil(t, failure, "%s %q", verb, version)
				require.Equal(t, api.CodeRefused, failure.Code, "%s %q: %s", verb, version, failure.Message)
			}
		}
	}
	for _, version := range []string{"example.com/v1", "core/v1", "v1/", "*/v1", "*/"} {
		require.Equal(t, api.CodeNotFound, asked(viewer, t, api.VerbGet, get(version, false)).Code, version)
		var list api.ListResponse
		require.NoError(t, bus.Request(bustest.Context(t), viewer, api.VerbList, api.ListRequest{APIVersion: version, Kind: "Secret"}, &list, bus.RequestOptions{}))
		require.Empty(t, list.Items, version)
	}
	for i, version := range []string{"example.com/v1", "*/v1"} {
		var before, after api.WatchResponse
		require.NoError(t, bus.Request(bustest.Context(t), viewer, api.VerbWatch, watch(version, ""), &before, bus.RequestOptions{}))
		h.apply(strings.Replace(key, "anna", fmt.Sprint("anna", i), 1))
		require.NoError(t, bus.Request(bustest.Context(t), viewer, api.VerbWatch, watch(version, before.Mark), &after, bus.RequestOptions{}))
		require.False(t, after.Changed, "whoever watches %s learns when a Secret changes", version)
	}
}
