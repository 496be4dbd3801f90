package door_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/hub/door"
)

func TestApplyKeepsWhatSingleChangesSet(t *testing.T) {
	h := open(t, door.Options{})
	ref := api.ObjectRef{Kind: api.KindMemberCluster, Name: "berlin"}
	h.apply(berlin)
	_, failure := h.patch(ref, `{"spec":{"taints":[{"key":"cordoned","effect":"NoSchedule"}]},"metadata":{"labels":{"tier":"1"}}}`)
	require.Nil(t, failure)

	again := h.apply(berlin)[0]
	require.Equal(t, api.ActionUnchanged, again.Action, "the file says nothing of taints")
	require.Equal(t, []string{"kept, because the document does not set it: metadata.labels.tier, spec.taints"}, again.Notes)
	answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, berlin)})
	require.Equal(t, api.ActionUnchanged, answer.Objects[0].Action, "and a plan knows it")

	relabelled := h.apply(strings.Replace(berlin, "env: prod", "env: dev", 1))[0]
	require.Equal(t, api.ActionConfigured, relabelled.Action)
	shown := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, map[string]string{"env": "dev", "tier": "1"}, shown.Labels)
	require.Len(t, shown.Spec.Taints, 1)

	h.apply(`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, spec: {taints: []}}`)
	shown = must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, map[string]string{"tier": "1"}, shown.Labels, "what a document set and sets no more is gone")
	require.Empty(t, shown.Spec.Taints, "the document took the taints over")
	require.Empty(t, h.apply(`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin, labels: {tier: "2"}}}`)[0].Notes)
	shown = must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, map[string]string{"tier": "2"}, shown.Labels)
}

func TestADocumentTakesOverWhatItSetsEvenIfItChangesNothing(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(berlin)
	_, failure := h.patch(api.ObjectRef{Kind: api.KindMemberCluster, Name: "berlin"}, `{"metadata":{"labels":{"tier":"1"}}}`)
	require.Nil(t, failure)
	adopting := h.apply(strings.Replace(berlin, "env: prod", `env: prod, tier: "1"`, 1))[0]
	require.Equal(t, api.ActionConfigured, adopting.Action)
	require.Equal(t, int64(1), adopting.Generation)
	h.apply(berlin)
	shown := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, map[string]string{"env": "prod"}, shown.Labels)
}

func TestUndoingASingleChangeLeavesNothingToKeep(t *testing.T) {
	h := open(t, door.Options{})
	ref := api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	h.apply(settings)
	_, failure := h.patch(ref, `{"metadata":{"labels":{"x":"1"}},"data":{"b":"2"}}`)
	require.Nil(t, failure)
	require.Equal(t, []string{"kept, because the document does not set it: data.b, metadata.labels.x"}, h.apply(settings)[0].Notes)
	_, failure = h.patch(ref, `{"metadata":{"labels":{"x":null}},"data":{"b":null}}`)
	require.Nil(t, failure)
	result := h.apply(settings)[0]
	require.Equal(t, api.ActionUnchanged, result.Action)
	require.Empty(t, result.Notes)
	require.Equal(t, map[string]any{"a": "1"}, h.get("ConfigMap", "shop", "settings")["data"])
}

func TestAScaleLastsUntilTheFileSaysOtherwise(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(web)
	_, failure := h.patch(api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}, `{"spec":{"policy":{"numberOfClusters":5}}}`)
	require.Nil(t, failure)
	require.Equal(t, api.ActionConfigured, h.apply(web)[0].Action)
	policy := h.get(api.KindClusterResourcePlacement, "", "web")["spec"].(map[string]any)["policy"].(map[string]any)
	require.InDelta(t, 2, policy["numberOfClusters"], 0)
}

func TestAFileTakesAnAdmittedMemberOver(t *testing.T) {
	h := open(t, door.Options{})
	must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin", AllowLabels: []string{"region"}, Labels: map[string]string{"env": "test"}})
	h.apply(berlin)
	shown := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, "prod", shown.Labels["env"])
	require.Equal(t, "region", shown.Annotations[api.AnnotationAgentLabels])
}

func TestADryRunShowsWhatWouldBeStored(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(berlin, settings)
	_, failure := h.patch(api.ObjectRef{Kind: api.KindMemberCluster, Name: "berlin"}, `{"metadata":{"labels":{"tier":"1"}}}`)
	require.Nil(t, failure)
	request := api.ApplyRequest{Request: h.id(), DryRun: true, Show: true, Documents: docs(t,
		strings.Replace(berlin, "env: prod", "env: dev", 1), strings.Replace(settings, "metadata:", "immutable: true, metadata:", 1))}
	answer := must[api.ApplyResponse](h, api.VerbApply, request)
	var member api.MemberCluster
	require.NoError(t, json.Unmarshal(answer.Results[0].Body, &member))
	require.Equal(t, map[string]string{"env": "dev", "tier": "1"}, member.Labels, "with what a single change set")
	require.Empty(t, member.UID)
	require.Contains(t, string(answer.Results[1].Body), `"immutable":true`)
	request.Show = false
	require.Empty(t, must[api.ApplyResponse](h, api.VerbApply, request).Results[0].Body)
}
