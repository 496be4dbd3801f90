package house

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
)

// put runs a Deployment whose pods begin on one node and may go anywhere later.
func (h *nodeHouse) put(name string, replicas int64, cpu, node string) {
	h.t.Helper()
	h.cordon(node)
	h.runs(name, replicas, cpu, "")
	h.cordon("")
	require.Equal(h.t, map[string]int{node: int(replicas)}, h.places(name))
}

// cordon keeps pods off all nodes but one; "" opens all.
func (h *nodeHouse) cordon(but string) {
	h.t.Helper()
	for _, name := range h.nodes() {
		require.NoError(h.t, h.member.UpdateNode(h.t.Context(), name, func(n *corev1.Node) { n.Spec.Unschedulable = but != "" && name != but }))
	}
}

// settled waits until the pods of an app run on these nodes, so many on each.
func (h *nodeHouse) settled(app string, want map[string]int) {
	h.t.Helper()
	h.eventually(func() error {
		if got := h.places(app); !maps.Equal(got, want) {
			return fmt.Errorf("the pods of %s are on %v, wanted %v", app, got, want)
		}
		return nil
	})
}

// guard plants a PodDisruptionBudget that lets so many pods of an app be away; it replaces the one before.
func (h *nodeHouse) guard(app string, away int64) {
	h.member.Plant(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": app, "namespace": "default"},
		"spec": map[string]any{"maxUnavailable": away, "selector": map[string]any{"matchLabels": map[string]any{"app": app}}},
	}})
}

func (h *nodeHouse) why(node string) (explain.NodeAnswer, error) {
	var answer explain.NodeAnswer
	err := h.request(h.t, api.VerbWhyNode, api.WhyNodeRequest{Member: city, Node: node}, &answer)
	return answer, err
}

// stays waits until a node stays for a reason of this code.
func (h *nodeHouse) stays(node string, code disruption.Code) explain.NodeAnswer {
	h.t.Helper()
	var found explain.NodeAnswer
	h.eventually(func() error {
		answer, err := h.why(node)
		if err != nil {
			return err
		}
		for _, r := range answer.Refusals {
			if r.Code == code {
				found = answer
				return nil
			}
		}
		return fmt.Errorf("node %s: %+v, wanted %s", node, answer.Verdict, code)
	})
	return found
}

// Three nodes run what one holds, and one is empty: the pool shrinks to one, and every pod has a place.
func TestHalfEmptyPoolShrinks(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d4"), machine(t, "n2", "d4"), machine(t, "n3", "d4"), machine(t, "n4", "d4"))
	for _, n := range []string{"1", "2", "3"} {
		h.put("web"+n, 1, "1250m", "n"+n)
	}
	h.pool(whole)
	list := h.until("empty Empty Done [n4]", "multi Underutilized Done [n1 n2]")
	h.has("n3")
	for _, n := range []string{"1", "2", "3"} {
		h.settled("web"+n, map[string]int{"n3": 1})
	}
	require.InDelta(t, 0.2, list[0].Savings.Amount, 1e-9)
	require.InDelta(t, 0.4, list[1].Savings.Amount, 1e-9)
	require.Empty(t, h.tainted())
}

// A spot node is no longer of a type that its pool asks for: it is replaced by another spot node, to which
// its pods go.
func TestDriftedSpotNodeIsReplaced(t *testing.T) {
	spot := func(n *target.Node) { n.CapacityType = api.CapacitySpot }
	h := newNodeHouse(t, machine(t, "n1", "d4", spot))
	h.put("web", 2, "800m", "n1")
	still := "\n  disruption: {consolidateAfter: Never, budgets: [{nodes: \"100%\"}]}"
	asks := func(more string) string {
		return `  template: {spec: {expireAfter: Never, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}` + more + `]}}` + still
	}
	h.pool(asks(""))
	h.stays("n1", disruption.CodeDisabled)
	h.pool(asks(", {key: node.kubernetes.io/instance-type, operator: NotIn, values: [d4]}"))
	list := h.until("drift Drifted Done [n1]")
	require.Equal(t, disruption.DriftRequirements, list[0].Drift)
	require.Len(t, list[0].Replacements, 1)
	fresh := list[0].Replacements[0].Node
	h.has(fresh)
	h.settled("web", map[string]int{fresh: 2})
	labels := h.node(fresh).Labels
	require.Equal(t, []string{"d2", api.CapacitySpot, "general"}, []string{labels[corev1.LabelInstanceTypeStable], labels[api.LabelCapacityType], labels[api.LabelNodePool]})
}

// An expired node stays while the budget allows no expiration, says so, and goes once it does.
func TestExpiredNodeWaitsForItsBudget(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d2"))
	h.put("web", 1, "800m", "n1")
	within := func(nodes string) string {
		return fmt.Sprintf("  template: {spec: {expireAfter: 1s}}\n  disruption: {consolidateAfter: Never, budgets: [{nodes: %q, reasons: [Expired]}]}", nodes)
	}
	h.pool(within("0"))
	answer := h.stays("n1", disruption.CodeBudget)
	require.Contains(t, answer.Why(), "Expired")
	require.Equal(t, []string{"n1"}, h.nodes())
	h.pool(within("1"))
	h.eventually(func() error {
		list, err := h.disruptions()
		if err == nil && (len(list) == 0 || line(&list[0]) != "expired Expired Done [n1]") {
			err = fmt.Errorf("disruptions %v", list)
		}
		return err
	})
	require.NotContains(t, h.nodes(), "n1")
}

// A PodDisruptionBudget without an eviction to spare keeps a node: the verdict names it, and so does the
// command line. Once it allows one, the node goes.
func TestPodDisruptionBudgetKeepsANode(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d4"), machine(t, "n2", "d4", func(n *target.Node) { n.NodePool = "" }))
	h.put("web", 1, "500m", "n1")
	h.guard("web", 0)
	h.pool(whole)
	answer := h.stays("n1", disruption.CodePDB)
	require.Contains(t, answer.String(), "default/web")
	text := h.flotilla(0, "why", "node/n1", "-m", city)
	require.Contains(t, text, "PodDisruptionBudget default/web allows no eviction")
	h.guard("web", 1)
	h.until("single Underutilized Done [n1]")
	h.settled("web", map[string]int{"n2": 1})
}

// A launch that fails takes the disruption back: no taint is left, and the node is left alone for a while.
func TestFailedLaunchIsRolledBack(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d8"))
	h.put("web", 1, "500m", "n1")
	h.member.SetFaults(faults.Faults{FailLaunch: []faults.Launch{{What: "general"}}})
	h.pool(whole)
	list := h.until("single Underutilized Aborted [n1]")
	require.Contains(t, list[0].Message, "failed")
	answer := h.stays("n1", disruption.CodeBackoff)
	require.NotNil(t, answer.Backoff)
	require.Equal(t, 1, answer.Backoff.Failures)
	h.eventually(func() error {
		if tainted := h.tainted(); len(tainted) > 0 {
			return fmt.Errorf("%v are tainted", tainted)
		}
		return nil
	})
	require.Equal(t, []string{"n1"}, h.nodes())
	require.Equal(t, map[string]int{"n1": 1}, h.places("web"))
	require.Equal(t, []string{"n1"}, h.member.Machines())
}

// A person deletes a node through the hub, and another one on the member itself: both are drained, past
// the budgets of the pool.
func TestDeletedNodesAreDrained(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d4"), machine(t, "n2", "d4"), machine(t, "n3", "d4"))
	h.put("web", 2, "500m", "n1")
	h.put("api", 2, "500m", "n2")
	h.guard("api", 1)
	h.pool(anyMachine + "\n  disruption: {budgets: [{nodes: \"0\"}]}")
	h.stays("n1", disruption.CodeBudget)

	var answer api.DeleteNodeResponse
	request := api.DeleteNodeRequest{Request: string(uuid.NewUUID()), Member: city, Node: "n1"}
	require.NoError(t, h.request(t, api.VerbDeleteNode, request, &answer))
	require.Equal(t, 2, answer.Pods)
	h.until("manual Deleted Done [n1]")
	h.has("n2", "n3")
	h.settled("web", map[string]int{"n2": 2})

	n2 := h.node("n2")
	require.Contains(t, n2.Finalizers, api.FinalizerTermination)
	require.NoError(t, h.member.DeleteNode(t.Context(), "n2", string(n2.UID)))
	h.has("n3")
	h.settled("api", map[string]int{"n3": 2})
	require.Equal(t, []string{"n3"}, h.member.Machines())
}

// A NodePool is deleted: its nodes go, drained, whatever its budgets say; nodes of nobody stay; and only
// then is the NodePool gone.
func TestDeletedPoolTakesItsNodes(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d4"), machine(t, "n2", "d4"), machine(t, "own", "d4", func(n *target.Node) { n.NodePool = "" }))
	h.put("web", 2, "500m", "n1")
	h.pool(anyMachine + "\n  disruption: {budgets: [{nodes: \"0\"}]}")
	h.stays("n1", disruption.CodeBudget)
	request := api.DeleteRequest{Request: string(uuid.NewUUID()), Object: api.ObjectRef{APIVersion: "karpenter.sh/v1", Kind: api.KindNodePool, Name: "general"}}
	require.NoError(t, h.request(t, api.VerbDelete, request, nil))
	h.has("own")
	h.settled("web", map[string]int{"own": 2})
	h.eventually(func() error {
		var raw map[string]any
		err := h.request(t, api.VerbGet, api.GetRequest{Kind: api.KindNodePool, Name: "general"}, &raw)
		if err == nil {
			return fmt.Errorf("NodePool general is still there")
		}
		if !strings.Contains(err.Error(), "general") {
			return err
		}
		return nil
	})
}
