package door_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const webOff = `{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ClusterResourcePlacementEviction, metadata: {name: web-off}, spec: {placementName: web, clusterName: berlin}}`

func budget(bound string) string {
	return `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacementDisruptionBudget, metadata: {name: web}, spec: {` + bound + `}}`
}

// Evictions and budgets are applied, shown and deleted as other objects are; an eviction shows what became of it, and of no
// other one of its name; a plan says what it leaves out, and an apply what a budget comes to.
func TestEvictionsAreObjects(t *testing.T) {
	h := open(t, door.Options{})
	require.Contains(t, h.apply(budget("maxUnavailable: 1"))[0].Notes[0], "there is no ClusterResourcePlacement of its name yet")
	h.apply(shopNamespace, web)
	require.Empty(t, h.apply(budget("minAvailable: 2"))[0].Notes)
	all := strings.NewReplacer("name: web", "name: all", "PickN, numberOfClusters: 2", "PickAll")
	require.Contains(t, h.apply(all.Replace(web), all.Replace(budget("maxUnavailable: 2")))[1].Notes[0], "it blocks all evictions")

	uid := h.apply(webOff)[0].UID
	require.Equal(t, api.ActionUnchanged, h.apply(webOff)[0].Action)
	write(h, subjects.Evictions, "web-off", api.EvictionRecord{Eviction: "web-off", UID: "another"})
	require.NotContains(t, h.get(api.KindEviction, "", "web-off"), "status")
	write(h, subjects.Evictions, "web-off", api.EvictionRecord{Eviction: "web-off", UID: uid, PlacementEvictionStatus: api.PlacementEvictionStatus{
		Conditions: []metav1.Condition{{Type: api.EvictionValid, Status: metav1.ConditionFalse, Message: "no"}},
	}})
	shown := must[api.ClusterResourcePlacementEviction](h, api.VerbGet, api.GetRequest{Kind: api.KindEviction, Name: "web-off"})
	require.Equal(t, "no", shown.Status.Conditions[0].Message)

	plan := must[struct{ Notes []string }](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacementEviction, metadata: {name: more}, spec: {placementName: web, clusterName: oslo}}`)})
	require.Contains(t, plan.Notes, "ClusterResourcePlacementEviction/more: the plan does not foresee what it changes on members")
	require.Contains(t, h.refuse(`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacementEviction, metadata: {name: web-off}, spec: {placementName: web, clusterName: oslo}}`).Error(), "another one a name of its own")
	require.Equal(t, api.ActionDeleted, h.delete(api.KindEviction, "", "web-off").Action)
	h.gone(api.KindEviction, "", "web-off")
	require.Equal(t, api.ActionDeleted, h.delete(api.KindDisruptionBudget, "", "web").Action)
}

// Status says who has a hold of members, and a member that is drained how far it has come, and for what its placements wait.
func TestHoldsAndDrainsAreShown(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, web, budget("minAvailable: 1"))[1].UID
	for _, name := range []string{"berlin", "oslo", "paris"} {
		h.member(name, "g", "1.30.0")
	}
	h.apply(`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, spec: {taints: [{key: flotilla.io/cordoned, value: drain, effect: NoSchedule}]}}`)
	h.release("web", uid, 1, "berlin", "oslo", "paris")
	write(h, subjects.Schedules, "web", api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: uid, Evicted: []string{"oslo"}, Bindings: []api.Binding{{Member: "berlin"}, {Member: "paris"}},
	})
	write(h, subjects.Locks, "paris", api.MemberLock{Header: api.NewHeader(api.KindLock), Member: "paris", Holder: "1", Owner: "run spring", Since: metav1.NewTime(elsewhen.Now())})

	var held []string
	fleet := must[api.FleetStatus](h, api.VerbStatus, nil)
	for _, hold := range fleet.Held {
		held = append(held, fmt.Sprint(hold.Member, " by ", hold.Holder))
	}
	require.Equal(t, []string{"paris by run spring", "berlin by rollout of web", "oslo by eviction of web", "paris by rollout of web"}, held)
	require.Equal(t, 4, fleet.HeldTotal)

	drain := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"}).Status.Drain
	require.Equal(t, 1, drain.Waits)
	require.Equal(t, "web", drain.Placements[0].Placement)
	require.Contains(t, drain.Placements[0].Reason, "availablePlacements: 0, totalPlacements: 3; unavailable: berlin (a change is on its way), oslo (gives it up) and paris (a change is on its way)")
	require.Nil(t, must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "oslo"}).Status.Drain)

	// What a dry run foresees.
	dry := func(text string) []string {
		return must[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Documents: docs(t, text), DryRun: true}).Results[0].Notes
	}
	require.Contains(t, dry(webOff)[0], "as all stands: Eviction is blocked by specified ClusterResourcePlacementDisruptionBudget")
	require.Contains(t, dry(strings.Replace(webOff, "placementName: web", "placementName: shop", 1)), "as all stands: Failed to find ClusterResourcePlacement targeted by eviction")
	drained, failure := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{
		Object: api.ObjectRef{APIVersion: "cluster.kubernetes-fleet.io/v1", Kind: api.KindMemberCluster, Name: "oslo"}, DryRun: true,
		Patch: json.RawMessage(`{"spec":{"taints":[{"key":"flotilla.io/cordoned","value":"drain","effect":"NoSchedule"}]}}`),
	})
	require.Nil(t, failure)
	require.Equal(t, []string{"web leaves"}, drained.Notes)
	h.apply(budget("maxUnavailable: 0"))
	require.Nil(t, must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "oslo"}).Status.Drain, "nothing was changed")
}
