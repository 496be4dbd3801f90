package door_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// marks are what is shown under each mark of an object, over the time of a test.
type marks map[string]string

// look lists a kind, its marks alone and with all objects: while a mark stays, what is shown does, and marks are others than those of before for
// these objects alone.
func (m marks) look(h *house, apiVersion, kind string, values bool, changed ...string) {
	h.t.Helper()
	request := api.ListRequest{APIVersion: apiVersion, Kind: kind, Managed: true, ShowSecrets: values}
	shown := must[api.ListResponse](h, api.VerbList, request)
	request.Marks = true
	marked := must[api.ListResponse](h, api.VerbList, request)
	require.Empty(h.t, marked.Items)
	require.Equal(h.t, shown.Marks, marked.Marks, "of what is shown the mark is the same")
	require.Equal(h.t, marked.Marks, must[api.ListResponse](h, api.VerbList, request).Marks)
	require.Len(h.t, marked.Keys, len(shown.Items))
	var news []string
	for i, key := range marked.Keys {
		require.NotEmpty(h.t, marked.Marks[i])
		of := fmt.Sprint(kind, values, key, marked.Marks[i])
		if before, known := m[of]; known {
			require.Equal(h.t, before, string(shown.Items[i]), "the mark is as it was")
			continue
		}
		m[of] = string(shown.Items[i])
		news = append(news, key.Name)
	}
	require.ElementsMatch(h.t, changed, news, kind)
}

// Each change of what is shown of an object is seen by its mark, whoever made it.
func TestMarksChangeWithWhatIsShown(t *testing.T) {
	h := open(t, door.Options{})
	m := marks{}
	uid := h.apply(shopNamespace, shopFront, web, settings,
		`{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {a: hunter2}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: alone, namespace: lone}, spec: {replicas: 1}}`)[2].UID
	all := func(deployments, maps, placements []string) {
		h.t.Helper()
		m.look(h, "apps/v1", "Deployment", false, deployments...)
		m.look(h, "v1", "ConfigMap", false, maps...)
		m.look(h, "", api.KindClusterResourcePlacement, false, placements...)
	}
	h.fare("InProgress", "0 of 0 available")
	all([]string{"web", "alone"}, []string{"settings"}, []string{"web"})
	m.look(h, "v1", "Secret", false, "key")
	m.look(h, "v1", "Secret", true, "key")
	all(nil, nil, nil)

	write(h, subjects.Schedules, "web", api.Schedule{Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: uid, Generation: 1, Fulfilled: true, Bindings: []api.Binding{{Member: "berlin"}}})
	h.fare("InProgress", "0 of 1 available")
	all([]string{"web"}, []string{"settings"}, nil)
	h.release("web", uid, 1, "berlin")
	changed := metav1.NewTime(elsewhen.Now()) // a mark is another where what is told changed later, though not all objects show that
	h.hear(api.PlacementResult{Changed: changed, Member: "berlin", UID: uid, Applied: "True", Available: "True"})
	h.fare("Current", "1 of 1 available")
	all([]string{"web"}, []string{"settings"}, nil)
	h.hear(api.PlacementResult{Changed: changed, Member: "berlin", UID: uid, Applied: "False", Failed: 1, Failures: []api.ManifestFailure{{
		ObjectRef: api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Condition: "Applied", Reason: "ManifestApplyFailed", Message: "denied",
	}}})
	h.fare("Failed", "0 of 1 available, 1 failed")
	all([]string{"web"}, nil, nil)
	h.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: "2"}}`)
	all(nil, []string{"settings"}, nil)
	h.managed(keeping(shopFront, kept))
	all([]string{"web"}, nil, nil)
	stored(h, subjects.Statuses, "web", api.PlacementStatus{Header: api.NewHeader(api.KindPlacementStatus), Placement: "web", UID: uid, ObservedSnapshot: "seven"})
	all(nil, nil, []string{"web"})
	m.look(h, "v1", "Secret", true, "key")
}

// What nothing selects fails in time, which its mark shows too, without anything written.
func TestAMarkChangesWithTheDeadline(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: hasty, namespace: shop}, spec: {progressDeadlineSeconds: 2}}`, shopFront)
	request := api.ListRequest{APIVersion: "apps/v1", Kind: "Deployment", Managed: true, Marks: true}
	require.Equal(t, []string{"", ""}, must[api.ListResponse](h, api.VerbList, request).Marks, "until it was shown nobody knows the deadline")
	m := marks{}
	m.look(h, "apps/v1", "Deployment", false, "hasty", "web")
	bustest.Eventually(t, func() error {
		if is, _, _ := faring(t, h.get("Deployment", "shop", "hasty")); is != "Failed" {
			return fmt.Errorf("it is %s", is)
		}
		return nil
	})
	m.look(h, "apps/v1", "Deployment", false, "hasty")
	h.apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: hasty, namespace: shop}, spec: {progressDeadlineSeconds: 3}}`)
	require.Empty(t, must[api.ListResponse](h, api.VerbList, request).Marks[0])
	m.look(h, "apps/v1", "Deployment", false, "hasty")
}

// Members, nodes' pools, gates and what else is shown of records have marks too.
func TestWhatIsShownOfRecordsHasMarks(t *testing.T) {
	h := open(t, door.Options{})
	m := marks{}
	made := h.apply(berlin)[0]
	write(h, subjects.Members, "oslo", beat(elsewhen.Now(), "oslo", nil)) // which nobody admitted
	m.look(h, "", api.KindMemberCluster, false, "berlin", "oslo")
	m.look(h, "", api.KindMemberCluster, false)
	member := beat(elsewhen.Now(), "berlin", nil)
	member.UID, member.Message = made.UID, "seven"
	write(h, subjects.Members, "berlin", member)
	m.look(h, "", api.KindMemberCluster, false, "berlin")
	other := beat(elsewhen.Now(), "oslo", nil)
	other.Message = "eight"
	write(h, subjects.Members, "oslo", other)
	m.look(h, "", api.KindMemberCluster, false, "oslo")
}

func TestListsOfNamedObjects(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, `{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: shop}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: tea}}`)
	request := api.ListRequest{APIVersion: "v1", Kind: "ConfigMap", Managed: true, Only: []api.ListKey{{Namespace: "tea", Name: "settings"}, {Namespace: "shop", Name: "more"}, {Namespace: "shop", Name: "nobody"}}}
	var names []string
	for _, raw := range must[api.ListResponse](h, api.VerbList, request).Items {
		var object struct {
			Metadata struct{ Namespace, Name string }
		}
		require.NoError(t, json.Unmarshal(raw, &object))
		names = append(names, object.Metadata.Namespace+"/"+object.Metadata.Name)
	}
	require.Equal(t, []string{"shop/more", "tea/settings"}, names)
	request = api.ListRequest{APIVersion: "v1", Kind: "ConfigMap", Managed: true, Marks: true, Limit: 2}
	first := must[api.ListResponse](h, api.VerbList, request)
	require.Len(t, first.Keys, 2)
	require.NotEmpty(t, first.Continue)
	request.Continue = first.Continue
	rest := must[api.ListResponse](h, api.VerbList, request)
	require.Equal(t, []api.ListKey{{Namespace: "tea", Name: "settings"}}, rest.Keys)
	require.Empty(t, rest.Continue)
	request.Only = make([]api.ListKey, 501)
	_, failure := ask[api.ListResponse](h, api.VerbList, request)
	require.Contains(t, failure.Message, "only: found 501 keys, expected at most 500")
	_, failure = ask[api.ListResponse](h, api.VerbList, api.ListRequest{APIVersion: "v1", Kind: "ConfigMap", Marks: true})
	require.Contains(t, failure.Message, "marks: found true, expected it with managed alone")
}
