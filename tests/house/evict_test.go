package house

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

func pickSome(name string, n int) string {
	return fmt.Sprintf(`
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: %[1]s}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: %[1]s}]
  policy: {placementType: PickN, numberOfClusters: %[2]d}
  strategy: {rollingUpdate: {maxUnavailable: 1, unavailablePeriodSeconds: 0}}
`, name, n)
}

func evictionYAML(name, version, placement, member string) string {
	return fmt.Sprintf("apiVersion: placement.kubernetes-fleet.io/%s\nkind: ClusterResourcePlacementEviction\nmetadata: {name: %s}\nspec: {placementName: %s, clusterName: %s}\n", version, name, placement, member)
}

// outcome waits until an eviction was decided on, and returns its conditions, one a line.
func (h *house) outcome(t *testing.T, name string) string {
	t.Helper()
	var lines []string
	bustest.EventuallyIn(t, patience, func() error {
		var e api.ClusterResourcePlacementEviction
		request := api.GetRequest{APIVersion: api.GroupPlacement + "/v1beta1", Kind: api.KindEviction, Name: name}
		if err := h.request(t, api.VerbGet, request, &e); err != nil || e.Status == nil {
			return fmt.Errorf("nothing became of %s yet (%w)", name, err)
		}
		lines = nil
		for _, c := range e.Status.Conditions {
			lines = append(lines, fmt.Sprintf("%s %s: %s", c.Type, c.Status, c.Message))
		}
		return nil
	})
	return strings.Join(lines, "\n")
}

// on are those of the members on which a placement is.
func (h *house) on(name string) (members []string) {
	for _, member := range four {
		if live(h.members[member], "ConfigMap", name) != nil {
			members = append(members, member)
		}
	}
	return members
}

// An eviction, as KubeFleet's users write it, takes a placement off a member, also while the hub is killed on the way; another
// member gets it, the budget holds the next one back, and the evicted member does not get it again.
func TestAnEviction(t *testing.T) {
	t.Parallel()
	h := newHouse(t, four...)
	h.apply(t, content("shop", "one")+pickSome("shop", 3))
	h.converged(t, "shop", 3)
	held := h.on("shop")
	require.Len(t, held, 3)
	h.apply(t, "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacementDisruptionBudget\nmetadata: {name: shop}\nspec: {maxUnavailable: 1}\n---\n"+
		evictionYAML("away", "v1beta1", "shop", held[0]))
	h.hub.Kill()
	h.hub.Start(t)
	require.Equal(t, "Valid True: Eviction is valid\nExecuted True: Eviction is allowed by specified ClusterResourcePlacementDisruptionBudget, availablePlacements: 3, totalPlacements: 3", h.outcome(t, "away"))
	bustest.EventuallyIn(t, patience, func() error {
		if live(h.members[held[0]], "ConfigMap", "shop") != nil {
			return fmt.Errorf("%s still holds it", held[0])
		}
		return nil
	})
	h.converged(t, "shop", 3)
	out, code := h.flotilla(t, "get", "evictions", "-o", "wide")
	require.Zero(t, code, out)
	require.Regexp(t, `away +shop +`+held[0]+` +True +True `, out)
	out, _ = h.flotilla(t, "describe", "eviction", "away")
	require.Contains(t, out, "ClusterResourcePlacementEvictionExecuted")

	h.apply(t, evictionYAML("again", "v1", "shop", held[0]))
	require.Equal(t, "Valid False: Failed to find scheduler decision for placement in cluster targeted by eviction", h.outcome(t, "again"))
	out, code = h.flotilla(t, "why", "placement/shop", "--member", held[0])
	require.Zero(t, code, out)
	require.Contains(t, out, "evicted")

	out, code = h.flotilla(t, "evict", "placement/shop", "--member", held[1])
	require.Zero(t, code, out)
	out, code = h.flotilla(t, "evict", "placement/shop", "--member", held[2])
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "Eviction is blocked by specified ClusterResourcePlacementDisruptionBudget")
	for _, name := range four {
		requireCleanHistory(t, h.members[name])
	}
}

// A drained member gives up what budgets let go, PickAll returns when it is uncordoned, and what names it stays.
func TestADrainedMember(t *testing.T) {
	t.Parallel()
	h := newHouse(t, four...)
	h.apply(t, content("shop", "one")+pickAll("shop")+"---"+content("other", "x")+pickSome("other", 1)+"---"+content("fixed", "y")+`
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: fixed}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: fixed}]
  policy: {placementType: PickFixed, clusterNames: [berlin]}
`)
	h.converged(t, "shop", 4)
	h.converged(t, "other", 1)
	h.converged(t, "fixed", 1)
	other := h.on("other")[0]
	for _, member := range []string{"berlin", other} {
		out, code := h.flotilla(t, "drain", "member", member, "--timeout", "60s")
		if member == "berlin" {
			require.Equal(t, 4, code, out)
			require.Contains(t, out, "member/berlin keeps fixed (spec.policy.clusterNames names the member)")
		} else {
			require.Zero(t, code, out)
		}
		require.NotContains(t, h.on("shop"), member)
		require.NotContains(t, h.on("other"), member)
	}
	require.Equal(t, []string{"berlin"}, h.on("fixed"))
	for _, member := range []string{"berlin", other} {
		out, code := h.flotilla(t, "uncordon", "member", member)
		require.Zero(t, code, out)
	}
	h.converged(t, "shop", 4)
	h.hold(t, "shop", map[string]string{"berlin": "one", "oslo": "one", "paris": "one", "lima": "one"})
}
