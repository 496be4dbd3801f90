package door_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/door"
)

func TestApplyTellsWhatItDid(t *testing.T) {
	h := open(t, door.Options{})
	created := h.apply(shopNamespace, settings, web, berlin)
	require.Equal(t, []string{
		"Namespace/shop created", "ConfigMap/shop/settings created", "ClusterResourcePlacement/web created", "MemberCluster/berlin created",
	}, actions(created))
	seen := map[string]bool{}
	for _, result := range created {
		require.NotEmpty(t, result.UID)
		require.False(t, seen[result.UID], "every object has its own uid")
		seen[result.UID] = true
		require.Equal(t, int64(1), result.Generation)
		require.Regexp(t, `^\d+\.\d+$`, result.ResourceVersion)
	}

	again := h.apply(shopNamespace, settings, web, berlin)
	for i := range again {
		require.Equal(t, api.ActionUnchanged, again[i].Action)
		require.Equal(t, created[i].UID, again[i].UID)
		require.Equal(t, created[i].ResourceVersion, again[i].ResourceVersion)
	}
}

func TestGenerationCountsChangesOfSpecOnly(t *testing.T) {
	h := open(t, door.Options{})
	const tainted = `{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, spec: {taints: [{key: k, effect: NoSchedule}]}}`
	first := h.apply(settings, web, berlin)
	labelled := h.apply(
		strings.Replace(settings, "namespace: shop", "namespace: shop, labels: {x: z}", 1),
		strings.Replace(web, "name: web", "name: web, labels: {x: z}", 1),
		strings.Replace(berlin, "env: prod", "env: dev", 1),
	)
	changed := h.apply(
		strings.Replace(settings, `a: "1"`, `a: "2"`, 1),
		strings.Replace(web, "numberOfClusters: 2", "numberOfClusters: 3", 1),
		tainted,
	)
	for i := range first {
		require.Equal(t, api.ActionConfigured, labelled[i].Action, labelled[i].Object)
		require.Equal(t, int64(1), labelled[i].Generation, "a label is not spec: %s", labelled[i].Object)
		require.Equal(t, api.ActionConfigured, changed[i].Action, changed[i].Object)
		require.Equal(t, int64(2), changed[i].Generation, changed[i].Object)
		require.Equal(t, first[i].UID, changed[i].UID)
	}
}

func TestGetShowsWhatTheHubSet(t *testing.T) {
	h := open(t, door.Options{})
	result := h.apply(settings, web)
	settings := h.get("ConfigMap", "shop", "settings")
	metadata := settings["metadata"].(map[string]any)
	require.Equal(t, result[0].UID, metadata["uid"])
	require.Equal(t, result[0].ResourceVersion, metadata["resourceVersion"])
	require.NotEmpty(t, metadata["creationTimestamp"])
	require.Equal(t, map[string]any{"a": "1"}, settings["data"])

	spec := h.get(api.KindClusterResourcePlacement, "", "web")["spec"].(map[string]any)
	require.InDelta(t, api.DefaultRevisionHistoryLimit, spec["revisionHistoryLimit"], 0, "defaults are filled in")
	h.missing("ConfigMap", "shop", "nothing")
	h.missing("ConfigMap", "", "settings")
}

func TestApplyIsAllOrNothingWithEveryFaultAtOnce(t *testing.T) {
	h := open(t, door.Options{})
	failure := h.refuse(
		settings,
		strings.Replace(web, "numberOfClusters: 2", "numberOfClusters: -1", 1),
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: "Bad Name", namespace: shop}}`,
		`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: paris}, spec: {taints: [{key: k, effect: NoExecute}]}}`,
		`{kind: ConfigMap, metadata: {name: x}}`,
	)
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.Contains(t, failure.Message, "nothing was applied")
	var paths []string
	for _, fault := range failure.Faults {
		paths = append(paths, fault.Object+" "+fault.Path)
		require.NotEmpty(t, fault.Found)
		require.NotEmpty(t, fault.Expected)
	}
	require.Contains(t, paths, "ClusterResourcePlacement/web spec.policy.numberOfClusters")
	require.Contains(t, paths, "ConfigMap/shop/Bad Name metadata.name")
	require.Contains(t, paths, "MemberCluster/paris spec.taints[0].effect")
	require.Contains(t, strings.Join(paths, "\n"), "apiVersion")
	require.Empty(t, failure.Next, "the client knows the files")

	h.missing("ConfigMap", "shop", "settings")
	h.missing(api.KindClusterResourcePlacement, "", "web")
	require.Empty(t, h.snapshots("web"))
}

func TestApplyRefusesTheSameObjectTwice(t *testing.T) {
	h := open(t, door.Options{})
	failure := h.refuse(settings, shopNamespace, settings)
	require.Equal(t, []string{
		"ConfigMap/shop/settings: metadata.name: found the same object in documents 1 and 3, expected each object once in one apply",
	}, lines(failure.Faults))
}

func TestApplyHoldsUpdatesToTheirRules(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(web)
	failure := h.refuse(strings.Replace(web, "placementType: PickN, numberOfClusters: 2", "placementType: PickAll", 1))
	require.Len(t, failure.Faults, 1)
	require.Equal(t, "spec.policy.placementType", failure.Faults[0].Path)
}

func TestDryRunChangesNothing(t *testing.T) {
	h := open(t, door.Options{})
	request := api.ApplyRequest{Request: h.id(), DryRun: true, Documents: docs(t, shopNamespace, web)}
	answer := must[api.ApplyResponse](h, api.VerbApply, request)
	require.Equal(t, []string{"Namespace/shop created", "ClusterResourcePlacement/web created"}, actions(answer.Results))
	h.missing("Namespace", "", "shop")
	h.missing(api.KindClusterResourcePlacement, "", "web")

	request.DryRun = false
	answer = must[api.ApplyResponse](h, api.VerbApply, request)
	require.Equal(t, api.ActionCreated, answer.Results[0].Action, "the dry run was not remembered under its id")
	h.get("Namespace", "", "shop")
}

func TestARepeatAnswersTheFirstResult(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	request := api.ApplyRequest{Request: "the-same", Documents: docs(t, shopNamespace, settings, web)}
	first := must[api.ApplyResponse](h, api.VerbApply, request)
	require.Equal(t, first, must[api.ApplyResponse](h, api.VerbApply, request))

	stop()
	h.run(door.Options{})
	require.Equal(t, first, must[api.ApplyResponse](h, api.VerbApply, request), "a new leader recognises what its predecessor did")
	require.Equal(t, []int64{1}, h.indexes("web"))
}

func TestARepeatIsNoConflictWithItself(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	read := h.apply(config("a", "1"))[0].ResourceVersion
	request := api.ApplyRequest{Request: "the-same", Documents: docs(t, strings.Replace(config("a", "2"), "name: a,", `name: a, resourceVersion: "`+read+`",`, 1))}
	first := must[api.ApplyResponse](h, api.VerbApply, request)
	stop()
	h.run(door.Options{})
	repeated := must[api.ApplyResponse](h, api.VerbApply, request)
	require.Equal(t, first.Results[0].ResourceVersion, repeated.Results[0].ResourceVersion, "the version it was read at is gone by its own doing")
	require.Equal(t, api.ActionConfigured, repeated.Results[0].Action)
}

func TestApplyComparesResourceVersions(t *testing.T) {
	h := open(t, door.Options{})
	old := h.apply(settings)[0].ResourceVersion
	at := func(version, value string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, resourceVersion: "%s"}, data: {a: "%s"}}`, version, value)
	}
	current := h.apply(at(old, "2"))[0].ResourceVersion
	require.NotEqual(t, old, current)

	failure := h.refuse(shopNamespace, at(old, "3"))
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Equal(t, []string{
		"ConfigMap/shop/settings: metadata.resourceVersion: found " + old + ", expected " + current + ", which is current: read the object again, or leave the field out",
	}, lines(failure.Faults))
	h.missing("Namespace", "", "shop")

	exported := h.apply(at("123456", "4"))[0]
	require.Equal(t, api.ActionConfigured, exported.Action, "a version of another system says nothing here")
	require.Contains(t, strings.Join(exported.Notes, "\n"), "metadata.resourceVersion")

	gone := strings.Replace(at(current, "1"), "name: settings", "name: other", 1)
	require.Equal(t, api.CodeConflict, h.refuse(gone).Code, "it was deleted since it was read")
}

func TestApplyRefusesWhatIsTooMuch(t *testing.T) {
	h := open(t, door.Options{})
	big := `{apiVersion: v1, kind: ConfigMap, metadata: {name: big, namespace: shop}, data: {k: "` + strings.Repeat("x", validate.MaxObjectBytes) + `"}}`
	failure := h.refuse(settings, big)
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Contains(t, failure.Error(), fmt.Sprint(validate.MaxObjectBytes))
	h.missing("ConfigMap", "shop", "settings")

	var many []string
	for i := range 501 {
		many = append(many, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"shop"}}`, i))
	}
	failure = h.refuse(many...)
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Contains(t, failure.Message, "one after the other")
	require.Len(t, h.apply(many[:500]...), 500)
}

func TestContentFindsItsNamespace(t *testing.T) {
	h := open(t, door.Options{})
	results := h.apply(
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: blog, namespace: wrong}}`,
		`{apiVersion: example.com/v1, kind: Realm, metadata: {name: r}}`,
	)
	require.Equal(t, []string{"ConfigMap/default/a created", "Namespace/blog created", "Realm/r created"}, actions(results))
	require.Contains(t, results[0].Notes[0], `namespace "default"`)
	require.Contains(t, results[1].Notes[0], "ignored")
	h.get("ConfigMap", "default", "a")
}
