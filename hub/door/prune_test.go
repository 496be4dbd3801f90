package door_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/door"
)

const shopSet = "shop"

// put applies documents with the set of the shop, and returns what became of each object.
func (h *house) put(request api.ApplyRequest, texts ...string) (map[string]string, *api.ApplyResponse, *api.Failure) {
	h.t.Helper()
	request.Request, request.Documents = h.id(), docs(h.t, texts...)
	answer, failure := ask[api.ApplyResponse](h, api.VerbApply, request)
	became := map[string]string{}
	for _, r := range answer.Results {
		became[r.Object.String()] = r.Action
	}
	return became, &answer, failure
}

// What is in a set and not among the documents goes in the same step; what is in no set stays, and an apply without a
// set takes nothing out of one.
func TestAPruneDeletesTheRestOfItsSet(t *testing.T) {
	h := open(t, door.Options{})
	set, prune := api.ApplyRequest{Set: shopSet}, api.ApplyRequest{Set: shopSet, Prune: true}
	became, answer, failure := h.put(set, shopNamespace, config("a", "1"), config("b", "1"), web)
	require.Nil(t, failure)
	h.release("web", answer.Results[3].UID, 1, "berlin") // so that the placement waits for it
	require.Equal(t, api.ActionCreated, became["ConfigMap/shop/b"])
	h.apply(config("beside", "1"), config("a", "2"), berlin)
	shown := must[map[string]any](h, api.VerbGet, api.GetRequest{Kind: "ConfigMap", Namespace: "shop", Name: "a"})
	require.Equal(t, map[string]any{api.AnnotationSet: shopSet, api.AnnotationOnMembers: "0 of 0 available"}, shown["metadata"].(map[string]any)["annotations"])
	for _, kind := range []string{config("a", "2"), web} {
		said := h.apply(strings.Replace(kind, "metadata: {", "metadata: {annotations: {flotilla.io/set: theirs}, ", 1))[0]
		require.Equal(t, api.ActionUnchanged, said.Action)
		require.Contains(t, said.Notes, "ignored, because the hub sets it: metadata.annotations[flotilla.io/set]")
	}

	dry := prune
	dry.DryRun = true
	gone := map[string]string{
		"Namespace/shop": api.ActionUnchanged, "ConfigMap/shop/a": api.ActionUnchanged,
		"ConfigMap/shop/b": api.ActionDeleted, "ClusterResourcePlacement/web": api.ActionDeleting,
	}
	became, _, failure = h.put(dry, shopNamespace, config("a", "2"))
	require.Nil(t, failure)
	require.Equal(t, gone, became)
	became, _, failure = h.put(prune, shopNamespace, config("a", "2"))
	require.Nil(t, failure)
	require.Equal(t, gone, became)
	h.missing("ConfigMap", "shop", "b")
	h.get("ConfigMap", "shop", "beside")
	require.Equal(t, []int64{1, 2}, h.indexes("web"), "a placement that goes gets no snapshot of what goes with it")

	became, _, failure = h.put(prune, shopNamespace, config("a", "2"), config("beside", "1"))
	require.Nil(t, failure)
	require.Equal(t, api.ActionConfigured, became["ConfigMap/shop/beside"], "it joins the set")
	became, _, failure = h.put(prune, shopNamespace)
	require.Nil(t, failure)
	require.Equal(t, api.ActionDeleted, became["ConfigMap/shop/beside"])
}

// An object is of one set, unless it is moved.
func TestAnObjectIsOfOneSet(t *testing.T) {
	h := open(t, door.Options{})
	_, _, failure := h.put(api.ApplyRequest{Set: shopSet}, shopNamespace, config("a", "1"), config("b", "1"))
	require.Nil(t, failure)
	other := api.ApplyRequest{Set: "other", Prune: true}
	_, _, failure = h.put(other, config("a", "1"))
	require.NotNil(t, failure)
	require.Equal(t, "set", failure.Faults[0].Path)
	require.Contains(t, failure.Faults[0].Found, `set "shop"`)
	other.Move = true
	became, _, failure := h.put(other, config("a", "1"))
	require.Nil(t, failure)
	require.Equal(t, map[string]string{"ConfigMap/shop/a": api.ActionConfigured}, became)
	became, _, failure = h.put(api.ApplyRequest{Set: shopSet, Prune: true}, shopNamespace)
	require.Nil(t, failure)
	require.Equal(t, map[string]string{"Namespace/shop": api.ActionUnchanged, "ConfigMap/shop/b": api.ActionDeleted}, became)
}

// Nothing is pruned by mistake: of no set, with no documents, or with documents that would go along.
func TestAPruneIsRefused(t *testing.T) {
	h := open(t, door.Options{})
	_, _, failure := h.put(api.ApplyRequest{Set: shopSet}, shopNamespace, config("a", "1"), berlin)
	require.Nil(t, failure)
	prune := api.ApplyRequest{Set: shopSet, Prune: true}
	for says, try := range map[string]func() *api.Failure{
		"found nothing, expected the name of a set": func() *api.Failure {
			_, _, failure := h.put(api.ApplyRequest{Prune: true}, shopNamespace)
			return failure
		},
		`found "The Shop", expected at most 253`: func() *api.Failure {
			_, _, failure := h.put(api.ApplyRequest{Set: "The Shop"}, shopNamespace)
			return failure
		},
		"no documents": func() *api.Failure { _, _, failure := h.put(prune); return failure },
		"a namespace of set \"shop\" that is not among the documents, and 1 document in it": func() *api.Failure {
			_, _, failure := h.put(prune, config("a", "1"), berlin)
			return failure
		},
	} {
		failure := try()
		require.NotNil(t, failure, says)
		require.Contains(t, fmt.Sprint(failure.Message, failure.Faults), says)
	}
	h.get("ConfigMap", "shop", "a")
}

// A prune that takes away more than may go unasked needs a yes; a dry run says so, and shows what would go.
func TestAPruneThatTakesMuch(t *testing.T) {
	h := open(t, door.Options{})
	texts := []string{shopNamespace, web, berlin}
	for i := range 12 {
		texts = append(texts, config(fmt.Sprintf("c%02d", i), "1"))
	}
	_, answer, failure := h.put(api.ApplyRequest{Set: shopSet}, texts...)
	require.Nil(t, failure)
	h.release("web", answer.Results[1].UID, 1, "berlin")
	prune := api.ApplyRequest{Set: shopSet, Prune: true, DryRun: true}
	became, answer, failure := h.put(prune, texts[:3]...)
	require.Nil(t, failure)
	require.Len(t, became, 15)
	require.Equal(t, []string{"it would take away 12 of 13 objects of berlin, more than may go unasked: it needs --yes"}, answer.Notes)
	prune.DryRun = false
	_, _, failure = h.put(prune, texts[:3]...)
	require.NotNil(t, failure)
	require.Equal(t, api.CodeLimit, failure.Code)
	require.Contains(t, failure.Message, "nothing was applied: it would take away 12 of 13 objects of berlin")
	prune.Yes = true
	became, _, failure = h.put(prune, texts[:3]...)
	require.Nil(t, failure)
	require.Equal(t, api.ActionDeleted, became["ConfigMap/shop/c11"])
}

// What is pruned needs the role that deleting it needs.
func TestAPruneNeedsTheRole(t *testing.T) {
	h := peopled(t)
	_, _, failure := h.put(api.ApplyRequest{Set: shopSet}, shopNamespace, berlin)
	require.Nil(t, failure)
	prune := api.ApplyRequest{Request: h.id(), Set: shopSet, Prune: true, Documents: docs(t, shopNamespace)}
	failure = asked(h.add("anna", api.RoleOperator), t, api.VerbApply, prune)
	require.NotNil(t, failure)
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Equal(t, "MemberCluster/berlin", failure.Faults[0].Object)
	h.get(api.KindMemberCluster, "", "berlin")
}

const patchedShop = `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {name: %s, namespace: shop}, spec: {
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: a}], policy: {overrideRules: [{jsonPatchOverrides: [{op: replace, path: /data/k, value: "2"}]}]}}}`

// A namespace takes along what is in it, each object once, and is refused where something in it is not of the set.
func TestANamespaceIsPruned(t *testing.T) {
	h := open(t, door.Options{})
	_, _, failure := h.put(api.ApplyRequest{Set: shopSet}, shopNamespace, config("a", "1"), fmt.Sprintf(patchedShop, "one"), berlin)
	require.Nil(t, failure)
	h.apply(config("theirs", "1"))
	prune := api.ApplyRequest{Set: shopSet, Prune: true}
	_, _, failure = h.put(prune, berlin)
	require.NotNil(t, failure)
	require.Contains(t, failure.Faults[0].Found, "ConfigMap/shop/theirs in it, which is of no set")
	h.delete("ConfigMap", "shop", "theirs")
	became, _, failure := h.put(prune, berlin)
	require.Nil(t, failure)
	require.Equal(t, map[string]string{
		"MemberCluster/berlin": api.ActionUnchanged, "Namespace/shop": api.ActionDeleted, "ConfigMap/shop/a": api.ActionDeleted, "ResourceOverride/shop/one": api.ActionDeleted,
	}, became)
	h.missing(api.KindResourceOverride, "shop", "one")
}

// What goes does not stand in the way of what comes: an override under another name changes the same object.
func TestARenamedOverrideIsPruned(t *testing.T) {
	h := open(t, door.Options{})
	_, _, failure := h.put(api.ApplyRequest{Set: shopSet}, shopNamespace, config("a", "1"), fmt.Sprintf(patchedShop, "one"))
	require.Nil(t, failure)
	became, _, failure := h.put(api.ApplyRequest{Set: shopSet, Prune: true}, shopNamespace, config("a", "1"), fmt.Sprintf(patchedShop, "other"))
	require.Nil(t, failure)
	require.Equal(t, api.ActionDeleted, became["ResourceOverride/shop/one"])
	require.Equal(t, api.ActionCreated, became["ResourceOverride/shop/other"])
}

// A request that is repeated to another leader prunes nothing that others put into the set since.
func TestARepeatedPruneTakesNothingOfOthers(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	first := api.ApplyRequest{Request: h.id(), Set: shopSet, Prune: true, Documents: docs(t, shopNamespace, config("a", "1"))}
	must[api.ApplyResponse](h, api.VerbApply, first)
	_, _, failure := h.put(api.ApplyRequest{Set: shopSet}, config("b", "1"))
	require.Nil(t, failure)
	stop()
	h.run(door.Options{})
	must[api.ApplyResponse](h, api.VerbApply, first)
	h.get("ConfigMap", "shop", "b")
}

// Approvals are no documents of a set.
func TestApprovalsAlonePruneNothing(t *testing.T) {
	h := open(t, door.Options{})
	_, _, failure := h.put(api.ApplyRequest{Set: shopSet}, shopNamespace, config("a", "1"))
	require.Nil(t, failure)
	_, _, failure = h.put(api.ApplyRequest{Set: shopSet, Prune: true}, `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterApprovalRequest, metadata: {name: r-before-s},
  spec: {parentStageRollout: r, targetStage: s}, status: {conditions: [{type: Approved, status: "True", observedGeneration: 1}]}}`)
	require.NotNil(t, failure)
	h.get("ConfigMap", "shop", "a")
}
