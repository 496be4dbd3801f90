package door_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/disk"
	"flotilla/core/api"
	"flotilla/hub/door"
)

// Without room finalizers are taken off what is being deleted, which makes room; nothing else passes so.
func TestFinalizersGoWithoutRoom(t *testing.T) {
	var full atomic.Bool
	h := open(t, door.Options{Rooms: door.Rooms{Room: func() disk.Room {
		if full.Load() {
			return disk.Room{Where: "/data", Own: true, Free: 1, Total: 100, Reserve: 10}
		}
		return disk.Room{}
	}}})
	both, one := keeping(settings, "finalizers: [x/a, x/b]"), keeping(settings, "finalizers: [x/b]")
	ref := h.managed(both)[0].Object
	stays := h.managed(keeping(berlin, "finalizers: [x/a]"))[0].Object
	full.Store(true)
	managed := api.ApplyRequest{Managed: true, Exact: true}
	patch := func(object api.ObjectRef, managed bool, text string) *api.Failure {
		_, failure := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: object, Managed: managed, Patch: json.RawMessage(text)})
		return failure
	}
	refused := func(failure *api.Failure, what string) {
		t.Helper()
		require.NotNil(t, failure, what)
		require.Equal(t, api.CodeNoRoom, failure.Code, what)
	}
	on := func(r api.ApplyRequest, texts ...string) *api.Failure {
		_, failure := h.on(r, texts...)
		return failure
	}
	refused(on(managed, one), "an object that is not being deleted")
	require.Equal(t, api.ActionDeleting, h.delete(ref.Kind, ref.Namespace, ref.Name).Action)

	refused(on(managed, both), "as many finalizers")
	refused(on(managed, keeping(settings, "finalizers: [x/c]")), "another finalizer")
	refused(on(managed, one, berlin), "another object beside")
	refused(on(api.ApplyRequest{Managed: true, Exact: true, Set: "s"}, one), "a set")
	refused(on(api.ApplyRequest{}, one), "a file, which takes none away")
	refused(patch(ref, true, `{"metadata":{"labels":null}}`), "a patch of something else")
	refused(patch(ref, false, `{"metadata":{"finalizers":null}}`), "a patch that takes none away")
	refused(patch(stays, true, `{"metadata":{"finalizers":null}}`), "a patch of an object that is not being deleted")
	failure := on(managed, keeping(settings, "labels: {a: b}, finalizers: [x/b]"))
	require.NotNil(t, failure)
	require.Equal(t, api.CodeConflict, failure.Code, "something else of it is changed")

	require.Equal(t, api.ActionConfigured, h.managed(one)[0].Action)
	require.Nil(t, patch(ref, true, `{"metadata":{"finalizers":[]}}`))
	h.missing(ref.Kind, ref.Namespace, ref.Name)
	refused(on(managed, settings), "it is gone, and would be made anew")
}
