package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/hub/flotilla/cli"
)

// TestPlanIsWhatHappens records the JSON of a live plan, applies the same files, waits until the hub has
// done it, and finds the same members with the same scores; then a second plan finds nothing to do. Each
// step changes what the one before it made.
func TestPlanIsWhatHappens(t *testing.T) {
	fleet := startFleet(t)
	env := liveEnvironment(fleet)
	flotilla := func(stdin string, want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		e := env
		e.In, e.Out, e.Err = strings.NewReader(stdin), &out, &errs
		require.Equal(t, want, cli.Main(t.Context(), args, e), "%v: %s%s", args, out.String(), errs.String())
		return out.String()
	}
	for _, name := range []string{"berlin", "oslo", "tampa"} {
		flotilla("", cli.ExitDone, "member", "admit", name, "--allow-labels", "*")
	}
	flotilla("", cli.ExitDone, "wait", "members", "--all", "--for=jsonpath={.status.state}=Ready")

	steps := []struct{ name, documents string }{
		{"a fresh placement by score", sorted(1)},
		{"scaled out", sorted(2)},
		{"everywhere, spread and fixed, with content", everyKind},
		{"scaled in", sorted(1)},
		{"a taint moves nobody, a label extends PickAll", `
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: tampa, labels: {tier: gold}, annotations: {flotilla.io/agent-labels: "*"}}
spec: {taints: [{key: spread-not-here, effect: NoSchedule}]}
`},
	}
	for _, step := range steps {
		var planned plan.Report
		require.NoError(t, json.Unmarshal([]byte(flotilla(step.documents, cli.ExitDifferent, "plan", "-f", "-", "-o", "json")), &planned), step.name)
		require.NotEmpty(t, planned.Placements, step.name)
		flotilla(step.documents, cli.ExitDone, "apply", "-f", "-")
		for _, p := range planned.Placements {
			flotilla("", cli.ExitDone, "wait", "placement/"+p.Name, fmt.Sprintf("--for=jsonpath={.status.counts.picked}=%d", len(p.Picked)))
			flotilla("", cli.ExitDone, "rollout", "status", "placement/"+p.Name, "--timeout=30s")
			require.Equal(t, picksOf(p.Picked), scheduled(t, flotilla("", cli.ExitDone, "get", "placement/"+p.Name, "-o", "json")), "%s: %s", step.name, p.Name)
		}
		flotilla(step.documents, cli.ExitDone, "plan", "-f", "-", "-o", "json")
	}
}

// picksOf renders picks the way the hub says them of a member.
func picksOf(picks []plan.Pick) map[string]string {
	said := map[string]string{}
	for _, p := range picks {
		said[p.Member] = api.PickedReason(p.Member, p.AffinityScore, p.TopologySpreadScore)
	}
	return said
}

// scheduled reads what a placement's status says of the members it goes to.
func scheduled(t *testing.T, object string) map[string]string {
	t.Helper()
	var p api.Placement
	require.NoError(t, json.Unmarshal([]byte(object), &p))
	said := map[string]string{}
	for _, m := range p.Status.PlacementStatuses {
		if m.ClusterName == "" {
			continue
		}
		for _, c := range m.Conditions {
			if c.Type == api.ConditionScheduled {
				said[m.ClusterName] = c.Message
			}
		}
	}
	return said
}

func sorted(n int) string {
	return fmt.Sprintf(`
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: sorted}
spec:
  resourceSelectors: [{group: scheduling.k8s.io, version: v1, kind: PriorityClass}]
  policy:
    placementType: PickN
    numberOfClusters: %d
    affinity:
      clusterAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 30
          preference: {metricSorter: {name: resources.kubernetes-fleet.io/total-cpu, sortOrder: Descending}}
        - weight: 7
          preference: {labelSelector: {matchLabels: {region: eu}}}
`, n)
}

const everyKind = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: golden}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy:
    placementType: PickAll
    affinity:
      clusterAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          clusterSelectorTerms:
          - labelSelector: {matchLabels: {region: eu}}
          - labelSelector: {matchLabels: {tier: gold}}
    tolerations: [{key: spread-not-here, operator: Exists}]
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: spread}
spec:
  resourceSelectors: [{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}]
  policy:
    placementType: PickN
    numberOfClusters: 2
    topologySpreadConstraints: [{topologyKey: region, maxSkew: 1}]
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: fixed}
spec:
  resourceSelectors: [{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRoleBinding}]
  policy: {placementType: PickFixed, clusterNames: [oslo]}
`
