//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
)

// Nodes of a real cluster are consolidated as the plan said, once the budget of their pods allows it; they are emptied
// whoever deletes them; they are replaced; and what the agent put on them is gone when a disruption is given up, when the
// agent is told to leave nodes alone, and when the member leaves.
func TestNodesOfARealCluster(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, name := range []string{"w1", "w2", "w3"} {
		h.add(name)
	}
	h.runs("full", "2800m", "w1")
	h.runs("move-b", "1500m", "w2")
	h.runs("move-c", "1500m", "w3")
	h.consolidates()
	h.drainsWhatIsDeleted()
	h.replaces()
	h.leavesNoTrace()
}

// protect says how many pods of the movers may be away, and waits until the disruption controller has taken that in.
func (h *harness) protect(away int32) {
	h.Helper()
	budgets := h.cluster.Clients().PolicyV1().PodDisruptionBudgets(h.ns)
	_ = budgets.Delete(h.Context(), "movers", metav1.DeleteOptions{})
	_, err := budgets.Create(h.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "movers"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(away)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "m"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(h, err)
	h.until(func(ctx context.Context) error {
		b, err := budgets.Get(ctx, "movers", metav1.GetOptions{})
		if err == nil && (b.Status.ObservedGeneration < b.Generation || b.Status.DisruptionsAllowed != away || b.Status.ExpectedPods != 2) {
			err = fmt.Errorf("found %+v, expected %d disruptions to be allowed", b.Status, away)
		}
		return err
	})
}

// consolidates has a budget of pods keep the nodes first; then what the plan says happens.
func (h *harness) consolidates() {
	h.Helper()
	h.protect(0)
	h.pool("1", "one")
	h.verdict("w2", string(disruption.CodePDB))
	h.verdict("w3", string(disruption.CodePDB))
	h.pool("0", "one")
	h.protect(1)
	h.verdict("w2", string(disruption.CodeBudget))
	plan := h.plan(poolOf("1", "one"))
	h.pool("1", "one")
	done := h.ended(api.PhaseDone)
	require.Len(h, plan.Commands, 1)
	c := &plan.Commands[0]
	require.Equal(h, []string{"w2"}, c.Nodes)
	require.Equal(h, c.Nodes, done.Nodes)
	require.Equal(h, c.Moves, done.Moves)
	require.Equal(h, c.Savings, done.Savings)
	require.Len(h, c.Moves, 1)
	require.Equal(h, "w3", c.Moves[0].To)
	require.NoError(h, h.at(h.Context(), "move-b", c.Moves[0].To))
	h.has("w1", "w3")
	require.Equal(h, []string{"delete:w2"}, h.calls())
}

// plan is what would happen if a text were applied.
func (h *harness) plan(text string) explain.MemberForecast {
	h.Helper()
	path := h.path("planned.yaml")
	require.NoError(h, os.WriteFile(path, []byte(text), 0o600))
	command := exec.CommandContext(h.Context(), h.program("flotilla"), "plan", "nodes", "-m", lastMember(), "-f", path, "-o", "json")
	command.Env = append(os.Environ(), append(h.env, "NO_COLOR=1")...)
	said, err := command.Output()
	var ended *exec.ExitError
	require.ErrorAs(h, err, &ended, "nothing would happen: %s", said)
	require.Equal(h, 1, ended.ExitCode(), "%s%s", said, ended.Stderr)
	var plan explain.MemberForecast
	require.NoError(h, json.Unmarshal(said, &plan))
	return plan
}

// drainsWhatIsDeleted has a person delete a node: its pods are evicted first, and those that a budget keeps are waited for.
func (h *harness) drainsWhatIsDeleted() {
	h.Helper()
	h.pool("0", "one")
	h.add("w4")
	h.protect(0)
	path, err := h.cluster.Admin()
	require.NoError(h, err)
	out, err := exec.CommandContext(h.Context(), programs.Kubectl(), "--kubeconfig="+path, "delete", "node", "w3", "--wait=false").CombinedOutput()
	require.NoError(h, err, string(out))
	h.until(func(ctx context.Context) error {
		requests, err := h.cluster.Requests()
		if err != nil {
			return err
		}
		for _, r := range requests {
			if r.Resource == "pods/eviction" && r.User == fleetUser && r.Code == 429 {
				return nil
			}
		}
		return errors.New("no eviction was refused yet")
	})
	require.NoError(h, h.at(h.Context(), "move-b", "w3"))
	require.NoError(h, h.at(h.Context(), "move-c", "w3"))
	h.protect(1)
	h.has("w1", "w4")
	for _, app := range []string{"move-b", "move-c"} {
		h.until(func(ctx context.Context) error { return h.at(ctx, app, "w4") })
	}
	require.Equal(h, []string{"delete:w2", "delete:w3"}, h.calls())
}

// replaces has a node drift for which no machine is to be had: it stays as it was. Then there is one.
func (h *harness) replaces() {
	h.Helper()
	require.NoError(h, os.WriteFile(h.path("calls.fail"), nil, 0o600))
	h.pool("1", "two")
	aborted := h.ended(api.PhaseAborted)
	require.Equal(h, api.ReasonDrifted, aborted.Reason)
	require.Contains(h, aborted.Message, "no machine is to be had")
	h.pool("0", "two")
	h.until(func(ctx context.Context) error {
		all, err := h.nodes(ctx)
		for name, node := range all {
			if tainted(node) || !finalized(node) {
				err = fmt.Errorf("node %s has taints %v and finalizers %v", name, node.Spec.Taints, node.Finalizers)
			}
		}
		return err
	})
	require.NoError(h, os.Remove(h.path("calls.fail")))
	h.pool("1", "two")
	done := h.ended(api.PhaseDone)
	require.Len(h, done.Replacements, 1)
	fresh := done.Replacements[0].Node
	h.pool("0", "two")
	node, err := h.cluster.Clients().CoreV1().Nodes().Get(h.Context(), fresh, metav1.GetOptions{})
	require.NoError(h, err)
	require.Equal(h, "two", node.Labels["e2e/generation"])
	require.Equal(h, []corev1.Taint{harnessTaint}, node.Spec.Taints)
}

// leavesNoTrace has the agent told to leave nodes alone, to look after them again, and the member leave.
func (h *harness) leavesNoTrace() {
	h.Helper()
	agent := h.agents[lastMember()]
	clean := func(ctx context.Context) error {
		all, err := h.nodes(ctx)
		for name, node := range all {
			if finalized(node) || tainted(node) {
				err = fmt.Errorf("node %s has finalizers %v and taints %v", name, node.Finalizers, node.Spec.Taints)
			}
		}
		return err
	}
	require.True(h, agent.Terminate(10*time.Second))
	h.configure("agent.yaml", false)
	agent.Start(h)
	h.until(clean)
	require.True(h, agent.Terminate(10*time.Second))
	h.configure("agent.yaml", true)
	agent.Start(h)
	h.until(func(ctx context.Context) error {
		if clean(ctx) == nil {
			return errors.New("the agent does not look after the nodes yet")
		}
		return nil
	})
	mark := []byte(`{"spec":{"taints":[{"key":"e2e","value":"harness","effect":"NoSchedule"},{"key":"karpenter.sh/disrupted","effect":"NoSchedule"}]}}`)
	all, err := h.nodes(h.Context())
	require.NoError(h, err)
	for name := range all {
		_, err := h.cluster.Clients().CoreV1().Nodes().Patch(h.Context(), name, types.MergePatchType, mark, metav1.PatchOptions{})
		require.NoError(h, err)
	}
	h.run("member", "leave", lastMember())
	h.until(clean)
}
