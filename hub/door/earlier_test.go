package door_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/door"
)

// A client whose answer was lost with a leader asks the next one again. Others have written meanwhile what it wrote:
// it is answered as it would have been, and nothing of theirs is written over.
func TestARepeatWritesOverNothing(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	mine := api.ApplyRequest{Request: "mine", Documents: docs(t, config("a", "1"), config("b", "1"))}
	first := must[api.ApplyResponse](h, api.VerbApply, mine)
	gone := api.DeleteRequest{Request: "gone", Object: first.Results[1].Object}
	deleted := must[api.ApplyResult](h, api.VerbDelete, gone)
	others := h.apply(config("a", "2"), config("b", "2"))
	stop()

	h.run(door.Options{})
	require.Equal(t, first, must[api.ApplyResponse](h, api.VerbApply, mine))
	require.Equal(t, deleted, must[api.ApplyResult](h, api.VerbDelete, gone))
	for i, name := range []string{"a", "b"} {
		found := h.get("ConfigMap", "shop", name)
		require.Equal(t, others[i].ResourceVersion, found["metadata"].(map[string]any)["resourceVersion"], name)
	}
}

// What somebody else deleted since is not made again.
func TestARepeatMakesNothingAgain(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	mine := api.ApplyRequest{Request: "mine", Documents: docs(t, config("a", "1"))}
	first := must[api.ApplyResponse](h, api.VerbApply, mine)
	h.apply(config("a", "2"))
	must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: "gone", Object: first.Results[0].Object})
	stop()

	h.run(door.Options{})
	require.Equal(t, first, must[api.ApplyResponse](h, api.VerbApply, mine))
	h.missing("ConfigMap", "shop", "a")
}

// A patch that was carried out is not carried out once more behind another one.
func TestARepeatedPatchWritesOverNothing(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	object := h.apply(config("a", "1"))[0].Object
	mine := api.PatchRequest{Request: "mine", Object: object, Patch: []byte(`{"data":{"a":"2"}}`)}
	first := must[api.ApplyResult](h, api.VerbPatch, mine)
	other := h.apply(config("a", "3"))[0]
	stop()

	h.run(door.Options{})
	require.Equal(t, first, must[api.ApplyResult](h, api.VerbPatch, mine))
	require.Equal(t, other.ResourceVersion, h.get("ConfigMap", "shop", "a")["metadata"].(map[string]any)["resourceVersion"])
}
