package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/rollout"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// TestPlanIsWhatHappens records the JSON of a live plan, applies the same files, waits until the hub has
// done it, and finds the same members with the same scores, and that the first to be released to and to be
// withdrawn from are those that the plan said would change at once; then a second plan finds nothing to do. Each
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
		flotilla("", session.ExitDone, "member", "admit", name, "--allow-labels", "*")
	}
	flotilla("", session.ExitDone, "wait", "members", "--all", "--for=jsonpath={.status.state}=Ready")

	steps := []struct{ name, documents string }{
		{"a fresh placement by score", sorted(1)},
		{"scaled out", sorted(2)},
		{"everywhere, spread and fixed, with content", everyKind},
		{"scaled in", sorted(1)},
		{"new content, one after the other", `
apiVersion: v1
kind: ConfigMap
metadata: {name: hours, namespace: shop}
data: {open: "9"}
`},
		{"new content, two at once", `
apiVersion: v1
kind: ConfigMap
metadata: {name: hours, namespace: shop}
data: {open: "8"}
---
` + strings.Replace(golden, "policy:", "strategy: {rollingUpdate: {maxUnavailable: 2}}\n  policy:", 1)},
		{"a taint moves nobody, a label extends PickAll", `
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: tampa, labels: {tier: gold}, annotations: {flotilla.io/agent-labels: "*"}}
spec: {taints: [{key: spread-not-here, effect: NoSchedule}]}
`},
	}
	told := map[string]int{} // events of placements
	for _, step := range steps {
		var planned plan.Report
		require.NoError(t, json.Unmarshal([]byte(flotilla(step.documents, session.ExitDifferent, "plan", "-f", "-", "-o", "json")), &planned), step.name)
		require.NotEmpty(t, planned.Placements, step.name)
		flotilla(step.documents, session.ExitDone, "apply", "-f", "-")
		for _, p := range planned.Placements {
			flotilla("", session.ExitDone, "wait", "placement/"+p.Name, fmt.Sprintf("--for=jsonpath={.status.counts.picked}=%d", len(p.Picked)))
			flotilla("", session.ExitDone, "rollout", "status", "placement/"+p.Name, "--timeout=30s")
			var moved []api.Audit
			bustest.Eventually(t, func() error {
				moved = eventsOf(t, flotilla, p.Name)[told[p.Name]:]
				if want, found := firstMoves(&p, true), movesIn(moved, true); !reflect.DeepEqual(want, found) {
					return fmt.Errorf("%s: %s: moved %v, wanted %v", step.name, p.Name, found, want)
				}
				return nil
			})
			require.Equal(t, firstMoves(&p, false), movesIn(moved, false), "%s: %s", step.name, p.Name)
			told[p.Name] += len(moved)
			require.Equal(t, picksOf(p.Picked), scheduled(t, flotilla("", session.ExitDone, "get", "placement/"+p.Name, "-o", "json")), "%s: %s", step.name, p.Name)
		}
		flotilla(step.documents, session.ExitDone, "plan", "-f", "-", "-o", "json")
	}
}

// eventsOf are the events of a placement.
func eventsOf(t *testing.T, flotilla func(stdin string, want int, args ...string) string, name string) []api.Audit {
	t.Helper()
	var events []api.Audit
	for line := range strings.Lines(flotilla("", session.ExitDone, "events", "placement/"+name, "-o", "json")) {
		var e api.Audit
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		events = append(events, e)
	}
	return events
}

// move is one step of a rollout: to whom it released, or from whom it withdrew.
type move struct {
	reason  string
	members []string
}

// firstMoves are what the plan says would happen at once; all has also whom it says to wait.
func firstMoves(p *plan.Placement, all bool) []move {
	released, withdrawn := move{reason: rollout.EventReleased}, move{reason: rollout.EventWithdrawn}
	moves := func(c *plan.Course) bool {
		return c.Rollout == plan.RolloutChanges || all && c.Rollout == plan.RolloutWaits
	}
	for i := range p.Picked {
		if moves(&p.Picked[i].Course) {
			released.members = append(released.members, p.Picked[i].Member)
		}
	}
	for i := range p.Removed {
		if moves(&p.Removed[i].Course) {
			withdrawn.members = append(withdrawn.members, p.Removed[i].Member)
		}
	}
	return []move{released, withdrawn}
}

// movesIn reads the moves of a rollout from the events of a placement, and joins them when all are asked for, else
// takes the first of each kind. Events name up to three members.
func movesIn(events []api.Audit, all bool) []move {
	found := []move{{reason: rollout.EventReleased}, {reason: rollout.EventWithdrawn}}
	for _, e := range events {
		i := slices.IndexFunc(found, func(m move) bool { return m.reason == e.Reason })
		if i < 0 || len(found[i].members) > 0 && !all {
			continue
		}
		_, names, _ := strings.Cut(strings.Replace(e.Message, " from ", " to ", 1), " to ")
		names, _, _ = strings.Cut(names, " (")
		found[i].members = append(found[i].members, strings.Split(strings.ReplaceAll(names, " and ", ", "), ", ")...)
		slices.Sort(found[i].members)
	}
	return found
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

// golden is a placement on the members of the eu, and on those of tier gold.
const golden = `
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
`

const everyKind = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
` + golden + `
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
