package door_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/disk"
	"flotilla/core/api"
	"flotilla/hub/door"
)

const clusterOverride = `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourceOverride, metadata: {name: o}, spec: {clusterResourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}], policy: {overrideRules: [{overrideType: Delete}]}}}`

// Without room finalizers are taken off what is being deleted, which ends it, and nothing else is changed with that.
func TestFinalizersAreTakenOffWithoutRoom(t *testing.T) {
	for name, text := range map[string]string{"content": settings, "an override": clusterOverride, "a member": berlin, "a placement": web} {
		t.Run(name, func(t *testing.T) {
			var full atomic.Bool
			h := open(t, door.Options{Rooms: door.Rooms{Room: func() disk.Room {
				if full.Load() {
					return disk.Room{Where: "/data", Free: 1, Total: 100, Reserve: 10}
				}
				return disk.Room{}
			}}})
			three, two := keeping(text, "finalizers: [x/a, x/b, x/c]"), keeping(text, "finalizers: [x/b, x/c]")
			ref := h.managed(three)[0].Object
			patch := func(text string) *api.Failure {
				_, failure := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: ref, Managed: true, Patch: json.RawMessage(text)})
				return failure
			}
			refused := func(failure *api.Failure) {
				t.Helper()
				require.NotNil(t, failure)
				require.Equal(t, api.CodeNoRoom, failure.Code, failure.Message)
			}
			full.Store(true)
			_, failure := h.on(api.ApplyRequest{Managed: true, Exact: true}, two)
			refused(failure)
			refused(patch(`{"metadata":{"finalizers":["x/b"]}}`)) // it is not being deleted

			h.delete(ref.Kind, ref.Namespace, ref.Name)
			long := strings.Replace(kept, "{}", strings.Repeat("l", 100<<10), 1)
			for _, documents := range [][]string{{three}, {two, shopNamespace}} {
				_, failure = h.on(api.ApplyRequest{Managed: true, Exact: true}, documents...)
				refused(failure)
			}
			refused(h.refuse(two)) // a file takes none away
			if name != "content" { // of which what clients keep lies elsewhere
				_, failure = h.on(api.ApplyRequest{Managed: true, Exact: true}, keeping(text, "finalizers: [x/b, x/c], "+long))
				refused(failure)
			}
			refused(patch(`{"metadata":{"finalizers":["x/b"],"annotations":{"a":"b"}}}`))
			refused(patch(`{"metadata":{"finalizers":["x/b"]},"spec":{}}`))

			require.Equal(t, api.ActionConfigured, h.managed(two)[0].Action)
			require.Nil(t, patch(`{"metadata":{"finalizers":["x/b"]}}`))
			require.Nil(t, patch(`{"metadata":{"finalizers":null}}`))
			h.gone(ref.Kind, ref.Namespace, ref.Name)
		})
	}
}

// What a request would have stored is weighed before it is: documents that are records as what they decode to, beside what they
// replace, and content as its metadata. What waits for its turn meanwhile is refused where there is no room any more.
func TestWhatIsAskedIsWeighed(t *testing.T) {
	const little = 64 << 10
	var most, asked atomic.Int64
	most.Store(1 << 40)
	h := open(t, door.Options{Rooms: door.Rooms{Memory: func(more int64) disk.Room {
		asked.Store(more)
		return disk.Room{Where: "memory", Free: most.Load() - more, Total: 1 << 40, Reserve: 1}
	}}})
	document := func(value string) string {
		return strings.Replace(clusterOverride, "overrideType: Delete", `overrideType: JSONPatch, jsonPatchOverrides: [{op: add, path: /metadata/labels, value: `+value+`}]`, 1)
	}
	small := document(`{"":0}`)
	many := document("[" + strings.Repeat(`{"":0},`, 4_000) + "0]")
	h.apply(shopNamespace, small)

	most.Store(little)
	require.Equal(t, api.CodeNoRoom, h.refuse(many).Code)
	require.Greater(t, asked.Load(), int64(2*4_000*(256+len(`{"":0},`))))
	_, failure := h.patch(api.ObjectRef{Kind: api.KindClusterResourceOverride, Name: "o"}, `{"spec":{"policy":{"overrideRules":[`+strings.Repeat(`{},`, 1000)+`{}]}}}`)
	require.NotNil(t, failure)
	require.Equal(t, api.CodeNoRoom, failure.Code)
	h.apply(strings.Replace(settings, `"1"`, fmt.Sprintf("%q", strings.Repeat("a", 200<<10)), 1))
	require.Less(t, asked.Load(), int64(2<<10), "content lies elsewhere")

	most.Store(1 << 40)
	h.apply(many)
	most.Store(little)
	require.Equal(t, api.ActionUnchanged, h.apply(many)[0].Action, "it takes no more than before")
	most.Store(0)
	require.Equal(t, api.CodeNoRoom, h.refuse(small).Code)
	h.delete(api.KindClusterResourceOverride, "", "o")
}

// What found room, and waited for the draft of somebody else, looks again once it is its turn.
func TestRoomIsLookedAtAgainInTurn(t *testing.T) {
	h := closed(t)
	options, deciding, goOn, arm := holdingUp(h)
	var full atomic.Bool
	looked := make(chan struct{}, 64)
	options.Memory = func(int64) disk.Room {
		room := disk.Room{Where: "memory", Free: 1, Total: 100}
		if full.Load() {
			room.Reserve = 10
		}
		looked <- struct{}{}
		return room
	}
	h.run(options)
	h.apply(shopNamespace, settings, web, berlin, class, general, prices)
	arm()
	drafting := h.asking(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: docs(t, strings.Replace(general, "30s", "1m", 1))})
	bustest.Within(t, deciding, "the draft is being made")
	for len(looked) > 0 {
		<-looked
	}
	waiting := h.asking(api.VerbPatch, api.PatchRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: "berlin"}, Patch: json.RawMessage(`{"metadata":{"labels":{"a":"b"}}}`)})
	for range 2 { // at what there is for all of it, and then at what there is
		bustest.Within(t, looked, "it looks before its turn")
	}
	full.Store(true)
	close(goOn)
	require.NoError(t, bustest.Within(t, drafting, "the draft ends"))
	failure, refused := errors.AsType[*api.Failure](bustest.Within(t, waiting, "it is answered"))
	require.True(t, refused)
	require.Equal(t, api.CodeNoRoom, failure.Code)
}
