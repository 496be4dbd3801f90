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
	y := newYard(t)
	for _, name := range []string{"w1", "w2", "w3"} {
		y.add(name)
	}
	y.runs("full", "2800m", "w1")
	y.runs("move-b", "1500m", "w2")
	y.runs("move-c", "1500m", "w3")
	y.consolidates()
	y.drainsWhatIsDeleted()
	y.replaces()
	y.leavesNoTrace()
}

// protect says how many pods of the movers may be away, and waits until the disruption controller has taken that in.
func (y *yard) protect(away int32) {
	y.Helper()
	budgets := y.cluster.Clients().PolicyV1().PodDisruptionBudgets(y.ns)
	_ = budgets.Delete(y.Context(), "movers", metav1.DeleteOptions{})
	_, err := budgets.Create(y.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "movers"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(away)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "m"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(y, err)
	y.until(func(ctx context.Context) error {
		b, err := budgets.Get(ctx, "movers", metav1.GetOptions{})
		if err == nil && (b.Status.ObservedGeneration < b.Generation || b.Status.DisruptionsAllowed != away || b.Status.ExpectedPods != 2) {
			err = fmt.Errorf("found %+v, expected %d disruptions to be allowed", b.Status, away)
		}
		return err
	})
}

// consolidates has a budget of pods keep the nodes first; then what the plan says happens.
func (y *yard) consolidates() {
	y.Helper()
	y.protect(0)
	y.pool("1", "one")
	y.verdict("w2", string(disruption.CodePDB))
	y.verdict("w3", string(disruption.CodePDB))
	y.pool("0", "one")
	y.protect(1)
	y.verdict("w2", string(disruption.CodeBudget))
	plan := y.plan(poolOf("1", "one"))
	y.pool("1", "one")
	done := y.ended(api.PhaseDone)
	require.Len(y, plan.Commands, 1)
	c := &plan.Commands[0]
	require.Equal(y, []string{"w2"}, c.Nodes)
	require.Equal(y, c.Nodes, done.Nodes)
	require.Equal(y, c.Moves, done.Moves)
	require.Equal(y, c.Savings, done.Savings)
	require.Len(y, c.Moves, 1)
	require.Equal(y, "w3", c.Moves[0].To)
	require.NoError(y, y.at(y.Context(), "move-b", c.Moves[0].To))
	y.has("w1", "w3")
	require.Equal(y, []string{"delete:w2"}, y.calls())
}

// plan is what would happen if a text were applied.
func (y *yard) plan(text string) explain.MemberForecast {
	y.Helper()
	path := y.path("planned.yaml")
	require.NoError(y, os.WriteFile(path, []byte(text), 0o600))
	command := exec.CommandContext(y.Context(), y.program("flotilla"), "plan", "nodes", "-m", yardMember, "-f", path, "-o", "json")
	command.Env = append(os.Environ(), append(y.env, "NO_COLOR=1")...)
	said, err := command.Output()
	var ended *exec.ExitError
	require.ErrorAs(y, err, &ended, "nothing would happen: %s", said)
	require.Equal(y, 1, ended.ExitCode(), "%s%s", said, ended.Stderr)
	var plan explain.MemberForecast
	require.NoError(y, json.Unmarshal(said, &plan))
	return plan
}

// drainsWhatIsDeleted has a person delete a node: its pods are evicted first, and those that a budget keeps are waited for.
func (y *yard) drainsWhatIsDeleted() {
	y.Helper()
	y.pool("0", "one")
	y.add("w4")
	y.protect(0)
	path, err := y.cluster.Admin()
	require.NoError(y, err)
	out, err := exec.CommandContext(y.Context(), programs.Kubectl(), "--kubeconfig="+path, "delete", "node", "w3", "--wait=false").CombinedOutput()
	require.NoError(y, err, string(out))
	y.until(func(ctx context.Context) error {
		requests, err := y.cluster.Requests()
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
	require.NoError(y, y.at(y.Context(), "move-b", "w3"))
	require.NoError(y, y.at(y.Context(), "move-c", "w3"))
	y.protect(1)
	y.has("w1", "w4")
	for _, app := range []string{"move-b", "move-c"} {
		y.until(func(ctx context.Context) error { return y.at(ctx, app, "w4") })
	}
	require.Equal(y, []string{"delete:w2", "delete:w3"}, y.calls())
}

// replaces has a node drift for which no machine is to be had: it stays as it was. Then there is one.
func (y *yard) replaces() {
	y.Helper()
	require.NoError(y, os.WriteFile(y.path("calls.fail"), nil, 0o600))
	y.pool("1", "two")
	aborted := y.ended(api.PhaseAborted)
	require.Equal(y, api.ReasonDrifted, aborted.Reason)
	require.Contains(y, aborted.Message, "no machine is to be had")
	y.pool("0", "two")
	y.until(func(ctx context.Context) error {
		all, err := y.nodes(ctx)
		for name, node := range all {
			if tainted(node) || !finalized(node) {
				err = fmt.Errorf("node %s has taints %v and finalizers %v", name, node.Spec.Taints, node.Finalizers)
			}
		}
		return err
	})
	require.NoError(y, os.Remove(y.path("calls.fail")))
	y.pool("1", "two")
	done := y.ended(api.PhaseDone)
	require.Len(y, done.Replacements, 1)
	fresh := done.Replacements[0].Node
	y.pool("0", "two")
	node, err := y.cluster.Clients().CoreV1().Nodes().Get(y.Context(), fresh, metav1.GetOptions{})
	require.NoError(y, err)
	require.Equal(y, "two", node.Labels["e2e/generation"])
	require.Equal(y, []corev1.Taint{yardTaint}, node.Spec.Taints)
}

// leavesNoTrace has the agent told to leave nodes alone, to look after them again, and the member leave.
func (y *yard) leavesNoTrace() {
	y.Helper()
	agent := y.agents[yardMember]
	clean := func(ctx context.Context) error {
		all, err := y.nodes(ctx)
		for name, node := range all {
			if finalized(node) || tainted(node) {
				err = fmt.Errorf("node %s has finalizers %v and taints %v", name, node.Finalizers, node.Spec.Taints)
			}
		}
		return err
	}
	require.True(y, agent.Terminate(10*time.Second))
	y.configure("agent.yaml", false)
	agent.Start(y)
	y.until(clean)
	require.True(y, agent.Terminate(10*time.Second))
	y.configure("agent.yaml", true)
	agent.Start(y)
	y.until(func(ctx context.Context) error {
		if clean(ctx) == nil {
			return errors.New("the agent does not look after the nodes yet")
		}
		return nil
	})
	mark := []byte(`{"spec":{"taints":[{"key":"e2e","value":"yard","effect":"NoSchedule"},{"key":"karpenter.sh/disrupted","effect":"NoSchedule"}]}}`)
	all, err := y.nodes(y.Context())
	require.NoError(y, err)
	for name := range all {
		_, err := y.cluster.Clients().CoreV1().Nodes().Patch(y.Context(), name, types.MergePatchType, mark, metav1.PatchOptions{})
		require.NoError(y, err)
	}
	y.run("member", "leave", yardMember)
	y.until(clean)
}
