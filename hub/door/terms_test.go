package door_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/door"
)

// on applies documents on terms.
func (h *house) on(terms api.ApplyRequest, texts ...string) ([]api.ApplyResult, *api.Failure) {
	h.t.Helper()
	terms.Request, terms.Documents = h.id(), docs(h.t, texts...)
	answer, failure := ask[api.ApplyResponse](h, api.VerbApply, terms)
	return answer.Results, failure
}

// patched changes settings, and returns what it was and is.
func (h *house) patched() (old, now api.ApplyResult) {
	h.t.Helper()
	old = h.apply(settings)[0]
	changed, failure := h.patch(api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, `{"data":{"b":"2"}}`)
	require.Nil(h.t, failure)
	return old, changed
}

func TestCreateRefusesWhatExists(t *testing.T) {
	h := open(t, door.Options{})
	old := h.apply(settings)[0]
	_, failure := h.on(api.ApplyRequest{Create: true}, shopNamespace, settings)
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Equal(t, "nothing was applied, because of what exists already: ConfigMap/shop/settings", failure.Message)
	require.Equal(t, []string{"ConfigMap/shop/settings: metadata.name: found the name of an object that exists already, expected one that is free: `flotilla apply` changes what exists"}, lines(failure.Faults))
	h.missing("Namespace", "", "shop")
	require.Equal(t, old.ResourceVersion, h.get("ConfigMap", "shop", "settings")["metadata"].(map[string]any)["resourceVersion"])

	h.delete("ConfigMap", "shop", "settings")
	made, failure := h.on(api.ApplyRequest{Create: true}, shopNamespace, settings)
	require.Nil(t, failure)
	require.Equal(t, []string{"Namespace/shop created", "ConfigMap/shop/settings created"}, actions(made))
}

func TestCreateRefusesWhatIsBeingDeleted(t *testing.T) {
	h := open(t, door.Options{})
	h.release("web", h.apply(shopNamespace, web)[1].UID, 1, "berlin")
	h.delete(api.KindClusterResourcePlacement, "", "web")
	_, failure := h.on(api.ApplyRequest{Create: true}, web)
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Contains(t, failure.Error(), "exists already, and is being deleted since ")
	require.Contains(t, failure.Error(), "wait until the object is gone")
}

func TestARepeatedCreationIsAnswered(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	request := api.ApplyRequest{Request: h.id(), Create: true, Documents: docs(t, settings)}
	first := must[api.ApplyResponse](h, api.VerbApply, request)
	stop()
	h.run(door.Options{})
	require.Equal(t, first, must[api.ApplyResponse](h, api.VerbApply, request), "the second door does not remember the request")
}

func TestAnExactDocumentIsTheWholeObject(t *testing.T) {
	h := open(t, door.Options{})
	_, changed := h.patched()
	require.Equal(t, map[string]any{"a": "1", "b": "2"}, h.get("ConfigMap", "shop", "settings")["data"])
	exact, failure := h.on(api.ApplyRequest{Exact: true}, settings)
	require.Nil(t, failure)
	require.Equal(t, api.ActionConfigured, exact[0].Action)
	require.NotEqual(t, changed.ResourceVersion, exact[0].ResourceVersion)
	require.Empty(t, exact[0].Notes)
	require.Equal(t, map[string]any{"a": "1"}, h.get("ConfigMap", "shop", "settings")["data"])
	again := h.apply(settings)[0]
	require.Equal(t, api.ActionUnchanged, again.Action)
	require.Empty(t, again.Notes, "nothing is kept of the patch")
}

func TestAnExactDocumentOfAKnownKindIsTheWholeObject(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(berlin)
	_, failure := h.patch(api.ObjectRef{Kind: api.KindMemberCluster, Name: "berlin"}, `{"metadata":{"labels":{"tier":"1"}}}`)
	require.Nil(t, failure)
	_, failure = h.on(api.ApplyRequest{Exact: true}, berlin)
	require.Nil(t, failure)
	shown := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, map[string]string{"env": "prod"}, shown.Labels)
}

func TestDocumentsAreOfTheObjectsThatTheyWereMadeFrom(t *testing.T) {
	h := open(t, door.Options{})
	old, now := h.patched()
	for name, c := range map[string]struct {
		expect api.Expected
		code   string
		says   string
	}{
		"an older one":          {api.Expected{UID: now.UID, ResourceVersion: old.ResourceVersion}, api.CodeConflict, "metadata.resourceVersion: found " + old.ResourceVersion + ", expected " + now.ResourceVersion + ", which is current: read the object again, or leave the field out"},
		"of another hub":        {api.Expected{ResourceVersion: "42"}, api.CodeConflict, "found 42"},
		"another of its name":   {api.Expected{UID: "u-1", ResourceVersion: now.ResourceVersion}, api.CodeConflict, "metadata.uid: found u-1, expected " + now.UID + ", which is current"},
		"the one that there is": {api.Expected{UID: now.UID, ResourceVersion: now.ResourceVersion}, "", ""},
		"any that there is":     {api.Expected{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			request := api.ApplyRequest{Request: h.id(), DryRun: true, Documents: docs(t, settings), Expect: []api.Expected{c.expect}}
			_, failure := ask[api.ApplyResponse](h, api.VerbApply, request)
			if c.code == "" {
				require.Nil(t, failure)
				return
			}
			require.Equal(t, c.code, failure.Code)
			require.Contains(t, failure.Error(), c.says)
		})
	}
}

func TestADocumentOfWhatIsGoneIsRefused(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace)
	_, failure := h.on(api.ApplyRequest{Expect: make([]api.Expected, 2)}, shopNamespace, settings)
	require.Equal(t, api.CodeNotFound, failure.Code)
	require.Equal(t, "nothing was applied, because of what does not exist: ConfigMap/shop/settings", failure.Message)
	require.Contains(t, failure.Error(), "found the name of no object, expected that of one that exists: `flotilla create` and `flotilla apply` make it")
	h.missing("ConfigMap", "shop", "settings")
}

func TestTermsThatCannotBeMetAreRefused(t *testing.T) {
	h := open(t, door.Options{})
	_, failure := h.on(api.ApplyRequest{Expect: make([]api.Expected, 1)}, shopNamespace, settings)
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.Equal(t, "expect: found 1 entries for 2 documents, expected one for each, or none: nothing was applied", failure.Message)
	_, failure = h.on(api.ApplyRequest{Create: true, Expect: make([]api.Expected, 1)}, settings)
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.Contains(t, failure.Message, "what is created is made from nothing")
}

func TestDeleteComparesUIDs(t *testing.T) {
	h := open(t, door.Options{})
	made := h.apply(settings)[0]
	request := api.DeleteRequest{Request: h.id(), UID: "u-1", Object: made.Object}
	_, failure := ask[api.ApplyResult](h, api.VerbDelete, request)
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Contains(t, failure.Error(), "metadata.uid: found u-1, expected "+made.UID)
	request.Object, request.Objects = api.ObjectRef{}, []api.ObjectRef{made.Object}
	_, failure = ask[json.RawMessage](h, api.VerbDelete, request)
	require.Equal(t, api.CodeInvalid, failure.Code, "of several it says nothing")
	request.UID, request.Object, request.Objects = made.UID, made.Object, nil
	require.Equal(t, api.ActionDeleted, must[api.ApplyResult](h, api.VerbDelete, request).Action)
}
