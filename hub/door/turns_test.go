package door_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
)

// held is a house whose next draft about nodes does not end before goOn is closed.
func held(t *testing.T) (h *house, deciding <-chan struct{}, goOn chan struct{}) {
	h = closed(t)
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	var armed atomic.Bool
	h.run(door.Options{People: h.server.Server, OfNodes: door.OfNodes{Nodes: func() map[string][]*api.NodeState {
		if armed.Load() {
			begun <- struct{}{}
			<-goOn
		}
		return nil
	}}})
	h.apply(shopNamespace, settings, web, berlin, class, general, prices)
	armed.Store(true)
	return h, begun, goOn
}

// asking has a request answered beside the test.
func (h *house) asking(verb string, request any) <-chan error {
	answered := make(chan error, 1)
	go func() {
		answered <- bus.Request(bustest.Context(h.t), h.client, verb, request, nil, bus.RequestOptions{})
	}()
	return answered
}

// Whoever freezes, keeps somebody out, or asks for a link waits for no draft of others, and a hub that stops does not
// either (H36).
func TestWhoStopsThingsWaitsForNoDraft(t *testing.T) {
	h, deciding, goOn := held(t)
	h.add("eve", api.RoleOperator)
	drafting := h.asking(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: docs(t, strings.Replace(general, "30s", "1m", 1))})
	bustest.Within(t, deciding, "the draft is being made")
	waiting := h.asking(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: docs(t, settings)})

	frozen, failure := h.freeze(api.VerbFreeze, api.FreezeFleet)
	require.Nil(t, failure)
	require.Equal(t, api.ActionFrozen, frozen.Action)
	require.False(t, must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "eve"}).Unchanged)
	ended, failure := h.freeze(api.VerbUnfreeze, api.FreezeFleet)
	require.Nil(t, failure)
	require.Equal(t, api.ActionUnfrozen, ended.Action)

	h.stop()
	select {
	case err := <-drafting:
		require.Fail(t, "the draft ended before it was to", "%v", err)
	case err := <-waiting:
		require.Fail(t, "what waits for the draft was answered", "%v", err)
	default:
	}
	close(goOn)
}

// A deletion that was decided before a freeze and is stored after it is refused as others are.
func TestAFreezeForbidsDeletionsThatWereBeingDecided(t *testing.T) {
	h, deciding, goOn := held(t)
	deleting := h.asking(api.VerbDelete, api.DeleteRequest{Request: h.id(), Objects: []api.ObjectRef{
		webPlacement, {APIVersion: api.GroupFlotilla + "/v1alpha1", Kind: api.KindInstanceCatalog, Name: "azure"},
	}})
	bustest.Within(t, deciding, "the deletion is being decided")
	_, failure := h.freeze(api.VerbFreeze, api.FreezePlacements)
	require.Nil(t, failure)
	close(goOn)
	var refusal *api.Failure
	require.ErrorAs(t, bustest.Within(t, deleting, "an answer"), &refusal)
	require.Equal(t, "flotilla unfreeze placements", refusal.Next)
	require.NotEmpty(t, h.get(api.KindClusterResourcePlacement, "", "web"))
	require.NotEmpty(t, h.get(api.KindInstanceCatalog, "", "azure"))
}
