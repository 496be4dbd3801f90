package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// Every recorded budget, told to flotilla budgets as a NodePool with nodes, gets the recorded limits; one that
// the peer's API refuses, or finds invalid when it is too late, is refused with its field.
func TestBudgetsAsTheirUserSaysThem(t *testing.T) {
	cases := casesOf[budgetCase](t, budgetsRecording)
	all := tellEach(cases, func(c *budgetCase) telling { return tellBudgets(t, c) })
	reportTellings(t, "budgets", "flotilla budgets", all, nil)
}

func tellBudgets(t *testing.T, c *budgetCase) telling {
	t.Helper()
	told := telling{outcome: outcome{id: c.ID}}
	f := newFolder(t)
	f.write("pool.yaml", map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"disruption": c.Disruption},
	})
	f.write("nodes.yaml", c.kubeNodes()...)
	args := []string{"budgets", "--at", c.Now.Format(time.RFC3339)}
	switch {
	case !c.Want.CRDValid:
		told.differences = refusedAt(f, "spec.disruption", args...)
		return told
	case c.Want.Invalid:
		told.differences = refusedAt(f, "spec.disruption.budgets[", args...)
		return told
	}
	var report budgetAnswer
	if refusal := f.answer(&report, args...); refusal != "" {
		told.differences = []string{refusal}
		return told
	}
	if len(report.Pools) != 1 {
		told.differences = []string{fmt.Sprintf("the report is of %d pools", len(report.Pools))}
		return told
	}
	told.differences = c.compareAnswer(&report.Pools[0], c.neverMatching())
	return told
}

// refusedAt says how a command does not refuse files with the place of a field.
func refusedAt(f folder, field string, args ...string) []string {
	code, out, errs := f.flotilla(args...)
	if code == 3 && out == "" && strings.Contains(errs, field) {
		return nil
	}
	return []string{fmt.Sprintf("recorded as invalid, here exit %d without a fault at %s: %s%s", code, field, out, errs)}
}

// kubeNodes are those that the budgets count, and one that is nobody's.
func (c *budgetCase) kubeNodes() []any {
	out := []any{&corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "system"}}}
	for i := range c.Total {
		n := &corev1.Node{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("n%d", i), Labels: map[string]string{api.LabelNodePool: "default", api.LabelInitialized: "true"},
				CreationTimestamp: metav1.NewTime(c.Now.Add(-24 * time.Hour)), Finalizers: []string{api.FinalizerKarpenter},
			},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}
		switch {
		case i < c.Deleting:
			n.DeletionTimestamp = new(metav1.NewTime(c.Now))
		case i < c.Deleting+c.NotReady:
			n.Status.Conditions[0].Status = corev1.ConditionFalse
		}
		out = append(out, n)
	}
	return out
}

// budgetAnswer is what docs/json.md promises of flotilla budgets.
type budgetAnswer struct {
	Pools []poolAnswer `json:"pools"`
}

type poolAnswer struct {
	Name       string          `json:"name"`
	Nodes      int             `json:"nodes"`
	Disrupting int             `json:"disrupting"`
	Limits     map[string]*int `json:"limits"`
	Allowed    map[string]*int `json:"allowed"`
	Budgets    []struct {
		Active bool `json:"active"`
		Limit  *int `json:"limit"`
	} `json:"budgets"`
}

// compareAnswer lists the differences between the recording and what the command answers. Budgets whose schedule
// has no date never count here (N4), and where there are some the limits are those of the core.
func (c *budgetCase) compareAnswer(got *poolAnswer, never []int) []string {
	var differences []string
	differ := func(what string, here, recorded any) {
		if a, b := asText(here), asText(recorded); a != b {
			differences = append(differences, fmt.Sprintf("%s: here %s, recorded %s", what, a, b))
		}
	}
	differ("nodes", got.Nodes, c.Total)
	differ("disrupting", got.Disrupting, c.Deleting+c.NotReady)
	differ("budgets", len(got.Budgets), len(c.Want.Active))
	if len(never) > 0 {
		for _, i := range never {
			differ(fmt.Sprintf("active[%d] by N4", i), got.Budgets[i].Active, false)
		}
		spec, _ := c.pool()
		limit := capacity.ParseBudgets(spec.Budgets(), time.LoadLocation).Limit(c.Now, c.Total, c.Reason, capacity.Rules{})
		differ("limit by N4", got.Limits[c.Reason], limit)
		return differences
	}
	differ("limit", got.Limits[c.Reason], c.Want.Limit)
	differ("allowed", got.Allowed[c.Reason], c.Want.Allowed)
	for i := range min(len(got.Budgets), len(c.Want.Active)) {
		differ(fmt.Sprintf("active[%d]", i), got.Budgets[i].Active, c.Want.Active[i])
		differ(fmt.Sprintf("perBudget[%d]", i), got.Budgets[i].Limit, c.Want.PerBudget[i])
	}
	return differences
}
