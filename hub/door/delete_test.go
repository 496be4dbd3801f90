package door_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

func (h *house) delete(kind, namespace, name string) api.ApplyResult {
	h.t.Helper()
	return must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{
		Request: h.id(), Object: api.ObjectRef{Kind: kind, Namespace: namespace, Name: name},
	})
}

// gone waits until an object is not there any more.
func (h *house) gone(kind, namespace, name string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		_, failure := ask[map[string]any](h, api.VerbGet, api.GetRequest{Kind: kind, Namespace: namespace, Name: name})
		if failure == nil {
			return errors.New(name + " is still there")
		}
		return nil
	})
}

func TestContentIsDeletedAtOnceAndLeavesItsPlacements(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web)
	require.Equal(t, api.ActionDeleted, h.delete("ConfigMap", "shop", "settings").Action)
	h.missing("ConfigMap", "shop", "settings")
	require.Equal(t, []int64{1, 2}, h.indexes("web"))
	require.Len(t, h.snapshots("web")[1].Manifests, 1)
}

func TestDeletingWhatIsNotThere(t *testing.T) {
	h := open(t, door.Options{})
	_, failure := ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{
		Request: h.id(), Object: api.ObjectRef{Kind: "ConfigMap", Namespace: "shop", Name: "nothing"},
	})
	require.Equal(t, api.CodeNotFound, failure.Code)
	require.NotEmpty(t, failure.Next)
}

func TestADeletedPlacementWaitsForItsMembers(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, web)[1].UID
	h.release("web", uid, 1, "berlin", "paris")

	request := api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}}
	first := must[api.ApplyResult](h, api.VerbDelete, request)
	require.Equal(t, api.ActionDeleting, first.Action)
	require.Equal(t, first, must[api.ApplyResult](h, api.VerbDelete, request), "a repeat answers the first result")
	metadata := h.get(api.KindClusterResourcePlacement, "", "web")["metadata"].(map[string]any)
	require.NotEmpty(t, metadata["deletionTimestamp"])

	failure := h.refuse(web)
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Contains(t, failure.Error(), "being deleted")

	h.release("web", uid, 1, "paris")
	h.get(api.KindClusterResourcePlacement, "", "web")
	erase[api.Release](h, subjects.Releases, "web")
	h.gone(api.KindClusterResourcePlacement, "", "web")
	require.Empty(t, h.snapshots("web"), "its snapshots go with it")

	again := h.apply(web)[0]
	require.Equal(t, api.ActionCreated, again.Action)
	require.NotEqual(t, uid, again.UID, "deleted and made again is another object")
}

func TestADeletionEndsInBoundedTimeAndListsWhatIsUnconfirmed(t *testing.T) {
	h := open(t, door.Options{DeleteTimeout: time.Second})
	uid := h.apply(shopNamespace, web)[1].UID
	h.release("web", uid, 1, "berlin", "paris")
	h.delete(api.KindClusterResourcePlacement, "", "web")
	h.withdraw("web", uid, "berlin", "paris")
	h.gone(api.KindClusterResourcePlacement, "", "web")
	bustest.Eventually(t, func() error {
		answer := must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{Object: "placement/web"})
		for _, event := range answer.Events {
			if event.Reason == "DeletedUnconfirmed" && event.Type == "Warning" {
				require.Contains(t, event.Message, "berlin, paris")
				return nil
			}
		}
		return errors.New("no event tells of it")
	})
}

func TestAPickedMemberWithoutAReleaseIsWaitedFor(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(web)[0].UID
	write(h, subjects.Schedules, "web", api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: uid, Bindings: []api.Binding{{Member: "berlin"}},
	})
	h.apply(strings.Replace(web, "name: web", "name: unplaced", 1))
	h.delete(api.KindClusterResourcePlacement, "", "web")
	h.delete(api.KindClusterResourcePlacement, "", "unplaced")
	h.gone(api.KindClusterResourcePlacement, "", "unplaced")
	h.get(api.KindClusterResourcePlacement, "", "web") // was looked at before the other one
	erase[api.Schedule](h, subjects.Schedules, "web")
	// The roller writes a release without entries once it has seen that nothing is bound any more.
	h.release("web", uid, 1)
	h.gone(api.KindClusterResourcePlacement, "", "web")
}

func TestALeavingMemberWaitsForItsPlacements(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(berlin)
	h.release("web", "u", 1, "berlin")
	require.Equal(t, api.ActionDeleting, h.delete(api.KindMemberCluster, "", "berlin").Action)
	h.get(api.KindMemberCluster, "", "berlin")
	h.release("web", "u", 1, "paris")
	h.gone(api.KindMemberCluster, "", "berlin")
}

func TestANamespaceTakesItsContentAlong(t *testing.T) {
	h := open(t, door.Options{})
	namespace := h.apply(shopNamespace, settings, web, `{apiVersion: v1, kind: ConfigMap, metadata: {name: stays, namespace: blog}}`,
		`{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourcePlacement, metadata: {name: rp, namespace: shop},
		  spec: {resourceSelectors: [{group: "", version: v1, kind: ConfigMap}]}}`)[0]
	result := h.delete("Namespace", "", "shop")
	require.Equal(t, []string{"2 objects in it deleted too"}, result.Notes)
	require.Equal(t, namespace.ResourceVersion, result.ResourceVersion)
	h.gone(api.KindResourcePlacement, "shop", "rp")
	h.missing("ConfigMap", "shop", "settings")
	h.get("ConfigMap", "blog", "stays")
	require.Empty(t, h.snapshots("web")[1].Manifests)

	h.apply(strings.Replace(shopNamespace, "apiVersion: v1,", "apiVersion: v2,", 1), settings)
	require.Equal(t, []string{"1 object in it deleted too"}, h.delete("Namespace", "", "shop").Notes, "of whatever version it is")
}

func TestADryRunOfADeletionDeletesNothing(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(settings)
	request := api.DeleteRequest{Request: h.id(), DryRun: true, Object: api.ObjectRef{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	require.Equal(t, api.ActionDeleted, must[api.ApplyResult](h, api.VerbDelete, request).Action)
	h.get("ConfigMap", "shop", "settings")
}

func TestDeleteComparesResourceVersions(t *testing.T) {
	h := open(t, door.Options{})
	old := h.apply(config("a", "1"))[0].ResourceVersion
	current := h.apply(config("a", "2"))[0].ResourceVersion
	request := api.DeleteRequest{Request: h.id(), ResourceVersion: old, Object: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}}
	_, failure := ask[api.ApplyResult](h, api.VerbDelete, request)
	require.Equal(t, api.CodeConflict, failure.Code)
	request.Request, request.ResourceVersion = h.id(), current
	require.Equal(t, api.ActionDeleted, must[api.ApplyResult](h, api.VerbDelete, request).Action)
}

// TestARepeatedDeletionIsAnsweredAfterATakeover asks a second door, of content that went at once and of a
// placement that went since.
func TestARepeatedDeletionIsAnsweredAfterATakeover(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	h.apply(shopNamespace, settings, web)
	content := api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	placement := api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}}
	first := must[api.ApplyResult](h, api.VerbDelete, content)
	second := must[api.ApplyResult](h, api.VerbDelete, placement)
	h.gone(api.KindClusterResourcePlacement, "", "web")
	stop()
	require.NoError(t, h.store.State.Relist(bustest.Context(t)))
	h.run(door.Options{})
	require.Equal(t, first, must[api.ApplyResult](h, api.VerbDelete, content))
	require.Equal(t, second, must[api.ApplyResult](h, api.VerbDelete, placement))
	content.Request = h.id()
	_, failure := ask[api.ApplyResult](h, api.VerbDelete, content)
	require.Equal(t, api.CodeNotFound, failure.Code, "another request finds nothing")
}

// A member that left is gone for whoever looks, also while the registrar has its record still.
func TestAMemberThatLeftIsNotThereWhileItsRecordIs(t *testing.T) {
	h := open(t, door.Options{})
	record := beat(elsewhen.Now(), "oslo", nil)
	record.UID, record.State = "u-1", api.MemberLeaving
	write(h, subjects.Members, "oslo", record)
	require.Empty(t, must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}).Items)
	require.Empty(t, must[api.FleetStatus](h, api.VerbStatus, nil).Members)
	h.gone(api.KindMemberCluster, "", "oslo")

	record.UID, record.State = "", api.MemberJoining
	write(h, subjects.Members, "oslo", record)
	require.Len(t, must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}).Items, 1)
}
