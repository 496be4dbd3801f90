package door_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
)

const (
	inner = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: inner, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: c-00}]
  policy: {placementType: PickN, numberOfClusters: 1}
`
	overridden = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourceOverride
metadata: {name: overridden, namespace: shop}
spec:
  placement: {name: inner, scope: Namespaced}
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: c-00}]
  policy: {overrideRules: [{clusterSelector: {}, jsonPatchOverrides: [{op: add, path: /data/b, value: "2"}]}]}
`
)

// widget is of a kind whose objects tell that it lies in namespaces.
const widget = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}`

var (
	theShop = api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"}
	inShop  = 40 // ConfigMaps
)

// large is a house with much in namespace shop, whose door deletes ten records at once. No event is stored there before goOn is called, and so
// many wait that nobody goes on who waits for that.
func large(t *testing.T, texts ...string) (h *house, goOn func()) {
	t.Helper()
	h = closed(t)
	h.part = 10
	h.run(door.Options{People: h.server.Server})
	documents := []string{shopNamespace}
	for i := range inShop {
		documents = append(documents, config(fmt.Sprintf("c-%02d", i), "1"))
	}
	h.apply(append(documents, texts...)...)
	settle, err := h.store.Audit.Announce(make([]api.Audit, 3000)...)
	require.NoError(t, err)
	var once sync.Once
	goOn = func() { once.Do(func() { settle(false) }) }
	t.Cleanup(goOn)
	return h, goOn
}

// left waits until so many ConfigMaps are left in the namespace that goes.
func (h *house) left(n int) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		if found := h.configs(); found != n {
			return fmt.Errorf("%d are left, expected %d", found, n)
		}
		return nil
	})
}

func (h *house) uid(kind, namespace, name string) string {
	return h.get(kind, namespace, name)["metadata"].(map[string]any)["uid"].(string)
}

func (h *house) configs() int {
	return len(must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: "ConfigMap", Namespace: "shop"}).Items)
}

// A namespace in which much lies is deleted in parts: between them others write, and the next begins once the events of the one before are
// stored. Placements go first, and an override with the namespace, after what it changes (H54).
func TestALargeNamespaceGoesInParts(t *testing.T) {
	h, goOn := large(t, web, inner, overridden, widget, strings.NewReplacer("name: web", "name: widgets", `group: ""`, "group: example.com", "kind: Namespace, name: shop", "kind: Widget").Replace(web))
	eve := h.add("eve", api.RoleOperator)
	h.release("shop/inner", h.uid(api.KindResourcePlacement, "shop", "inner"), 1, "berlin")
	deleted := make(chan error, 1)
	var result api.ApplyResult
	request := api.DeleteRequest{Request: h.id(), Object: theShop}
	go func() {
		deleted <- bus.Request(bustest.Context(t), h.client, api.VerbDelete, request, &result, bus.RequestOptions{})
	}()
	h.left(inShop - 8)
	var applied api.ApplyResponse
	other := api.ApplyRequest{Request: h.id(), Documents: docs(t, strings.ReplaceAll(shopNamespace, "shop", "other"))}
	require.NoError(t, bus.Request(bustest.Context(t), eve, api.VerbApply, other, &applied, bus.RequestOptions{}))
	require.Equal(t, api.ActionCreated, applied.Results[0].Action)
	require.NotEmpty(t, h.get(api.KindResourcePlacement, "shop", "inner")["metadata"].(map[string]any)["deletionTimestamp"])
	h.get("Namespace", "", "shop")
	h.get(api.KindResourceOverride, "shop", "overridden")
	require.Equal(t, inShop-8, h.configs(), "no part begins before the events of the one before are stored")
	require.Equal(t, []int64{1}, h.indexes("web"), "snapshots come with the last part")

	goOn()
	require.NoError(t, bustest.Within(t, deleted, "the deletion"))
	require.Equal(t, api.ActionDeleted, result.Action)
	require.Equal(t, []string{fmt.Sprintf("%d objects in it deleted too", inShop+3)}, result.Notes)
	require.Equal(t, []int64{1, 2}, h.indexes("widgets"), "what changed in the first part is cut in the last")
	h.missing("Namespace", "", "shop")
	h.missing(api.KindResourceOverride, "shop", "overridden")
	require.Zero(t, h.configs())
	require.Equal(t, []int64{1, 2}, h.indexes("web"))
	require.Empty(t, h.snapshots("web")[1].Manifests)
	require.Equal(t, result, must[api.ApplyResult](h, api.VerbDelete, request), "a repeat is answered the same")
}

// A deletion that a freeze ends in the middle says what it did, leaves no placement with what is gone, and goes on where it is asked for again.
func TestALargeDeletionThatIsInterruptedLosesNoSnapshot(t *testing.T) {
	h, goOn := large(t, web, berlin)
	request := api.DeleteRequest{Request: h.id(), Objects: []api.ObjectRef{theShop, {Kind: api.KindMemberCluster, Name: "berlin"}}}
	deleting := h.asking(api.VerbDelete, request)
	h.left(inShop - 10)
	_, failure := h.freeze(api.VerbFreeze, api.FreezePlacements)
	require.Nil(t, failure)
	goOn()
	require.ErrorAs(t, bustest.Within(t, deleting, "a refusal"), &failure)
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Contains(t, failure.Message, "10 objects deleted before this: nothing else was deleted: deleting MemberCluster/berlin would take what is placed off members")
	require.Equal(t, inShop-10, h.configs())
	require.Equal(t, []int64{1, 2}, h.indexes("web"))
	require.Len(t, h.snapshots("web")[1].Manifests, 1+inShop-10)

	_, failure = h.freeze(api.VerbUnfreeze, api.FreezePlacements)
	require.Nil(t, failure)
	answer := must[api.DeleteResponse](h, api.VerbDelete, request)
	require.Equal(t, []string{"Namespace/shop deleted", "MemberCluster/berlin deleting"}, actions(answer.Results))
	require.Zero(t, h.configs())
	require.Empty(t, h.snapshots("web")[2].Manifests)
}

// What a request names beside a large namespace goes with it: placements before what they hold, so that one that abandons it loses nothing, and
// the rest at the end. Each is answered, also where it is gone by then.
func TestALargeDeletionTakesWhatIsNamedBesideIt(t *testing.T) {
	abandoning := strings.Replace(web, "spec:", "spec:\n  strategy: {deleteStrategy: {propagationPolicy: Abandon}}", 1)
	loose := strings.Replace(web, "name: web", "name: loose", 1)
	beside := strings.ReplaceAll(config("beside", "1"), "shop", "other")
	h, goOn := large(t, abandoning, loose, strings.ReplaceAll(shopNamespace, "shop", "other"), beside)
	h.release("web", h.uid(api.KindClusterResourcePlacement, "", "web"), 1, "berlin", "paris")
	deleted := make(chan error, 1)
	var answer api.DeleteResponse
	request := api.DeleteRequest{Request: h.id(), Objects: []api.ObjectRef{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "other", Name: "beside"},
		theShop,
		{Kind: api.KindClusterResourcePlacement, Name: "web"},
		{Kind: api.KindClusterResourcePlacement, Name: "loose"},
	}}
	go func() {
		deleted <- bus.Request(bustest.Context(t), h.client, api.VerbDelete, request, &answer, bus.RequestOptions{})
	}()
	h.left(inShop - 8)
	h.gone(api.KindClusterResourcePlacement, "", "loose")
	h.get("ConfigMap", "other", "beside")
	goOn()
	require.NoError(t, bustest.Within(t, deleted, "the deletion"))
	require.Empty(t, answer.Missing)
	require.ElementsMatch(t, []string{
		"ConfigMap/other/beside deleted", "Namespace/shop deleted", "ClusterResourcePlacement/web deleting", "ClusterResourcePlacement/loose deleting",
	}, actions(answer.Results))
	require.Zero(t, h.configs())
	h.missing("ConfigMap", "other", "beside")
	require.Equal(t, []int64{1}, h.indexes("web"), "it keeps what it abandons")
}

// What takes too much away is refused before any part of it is done, and a dry run does nothing.
func TestALargeDeletionIsJudgedAsAWhole(t *testing.T) {
	h, goOn := large(t, web)
	goOn()
	h.release("web", h.uid(api.KindClusterResourcePlacement, "", "web"), 1, "berlin")
	_, failure := ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: theShop})
	require.Equal(t, api.CodeLimit, failure.Code)
	require.True(t, strings.HasPrefix(failure.Message, "nothing was deleted: "), failure.Message)
	require.Equal(t, inShop, h.configs())
	dry := must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: theShop, Yes: true, DryRun: true})
	require.Equal(t, []string{fmt.Sprintf("%d objects in it deleted too", inShop)}, dry.Notes)
	require.Equal(t, inShop, h.configs())
	must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: theShop, Yes: true})
	require.Zero(t, h.configs())
}
