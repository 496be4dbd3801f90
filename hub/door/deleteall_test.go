package door_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/door"
)

func (h *house) deleteAll(refs ...api.ObjectRef) api.DeleteResponse {
	h.t.Helper()
	return must[api.DeleteResponse](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Objects: refs})
}

// However many objects one request deletes, each placement sees one change of its content.
func TestManyObjectsGoInOneStep(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, web)
	var refs []api.ObjectRef
	var documents []string
	for i := range 40 {
		name := fmt.Sprintf("c-%02d", i)
		documents = append(documents, config(name, "1"))
		refs = append(refs, api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name})
	}
	h.apply(documents...)
	before := len(h.indexes("web"))
	answer := h.deleteAll(append(refs, refs[0], api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "nothing"})...)
	require.Len(t, answer.Results, len(refs), "what is named twice goes once")
	require.Equal(t, "nothing", answer.Missing[0].Name)
	require.Len(t, h.indexes("web"), before+1)
	h.missing("ConfigMap", "shop", "c-39")
}

// A placement that goes together with its content is not told that its content went.
func TestAPlacementAndItsContentInOneRequest(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, settings, web)[2].UID
	h.release("web", uid, 1, "berlin")
	answer := h.deleteAll(
		api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"},
		api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"},
		api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"},
	)
	require.Equal(t, []string{api.ActionDeleted, api.ActionDeleted, api.ActionDeleting},
		[]string{answer.Results[0].Action, answer.Results[1].Action, answer.Results[2].Action})
	require.Equal(t, []int64{1}, h.indexes("web"))
	require.NotEmpty(t, h.get(api.KindClusterResourcePlacement, "", "web")["metadata"].(map[string]any)["deletionTimestamp"])
}

func TestNothingIsDeletedWhenOneObjectMayNotGo(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(settings)
	refs := []api.ObjectRef{{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	request := api.DeleteRequest{Request: h.id(), Objects: refs, ResourceVersion: "1.1"}
	_, failure := ask[api.DeleteResponse](h, api.VerbDelete, request)
	require.Equal(t, api.CodeInvalid, failure.Code)
	h.get("ConfigMap", "shop", "settings")
}

func TestWhatIsMissingIsLookedForWithWordsOfTheCommandLine(t *testing.T) {
	h := open(t, door.Options{})
	for next, ref := range map[string]api.ObjectRef{
		"flotilla get deployments -n shop": {APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "a"},
		"flotilla get placements":          {Kind: api.KindClusterResourcePlacement, Name: "a"},
		"flotilla get rp -n shop":          {Kind: api.KindResourcePlacement, Namespace: "shop", Name: "a"},
		"flotilla get members":             {Kind: api.KindMemberCluster, Name: "a"},
		"flotilla get updateruns":          {APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: "a"},
		"flotilla get Widget -n shop":      {APIVersion: "example.com/v1", Kind: "Widget", Namespace: "shop", Name: "a"},
	} {
		_, failure := ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: ref})
		require.Equal(t, next, failure.Next)
	}
}
