package disruptor

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
)

// anna is who asks.
var anna = api.Caller{Name: "anna", Role: api.RoleAdmin}

// ask puts a question to the room as the door's service does, and decodes the answer.
func ask[R any](h *harness, verb string, question any) (R, error) {
	h.t.Helper()
	var out R
	body, err := json.Marshal(question)
	require.NoError(h.t, err)
	by := anna
	by.Verb = verb
	answer, err := h.room.Verbs()[verb](bustest.Context(h.t), by, body)
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(answer)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(text, &out))
	return out, nil
}

// answered asks, again while the room has not read everything yet.
func answered[R any](h *harness, verb string, question any) R {
	h.t.Helper()
	var out R
	bustest.Eventually(h.t, func() error {
		var err error
		out, err = ask[R](h, verb, question)
		return err
	})
	return out
}

func refusedWith(h *harness, verb string, question any, code, message string) {
	h.t.Helper()
	_, err := ask[json.RawMessage](h, verb, question)
	var failure *api.Failure
	require.ErrorAs(h.t, err, &failure)
	require.Equal(h.t, code, failure.Code)
	require.Contains(h.t, failure.Message, message)
	require.NotEmpty(h.t, failure.Next)
}

// resting are options of a room that decides once, so that questions find things as they were left.
func resting() Options { return Options{Interval: time.Hour, ValidationWait: time.Hour} }

// Nodes of all members come in pages, each with its verdict; of members that are not known well enough a
// note says why.
func TestNodesAreListed(t *testing.T) {
	h := newHarness(t, resting(), "berlin", "oslo", "tampa")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4, 3500), aNode("n2", "a", 8, 500, 250))
	h.nodes("oslo", aNode("n1", "a", 2, 100))
	h.decided("berlin", "n2", "BudgetSpent")
	h.decided("oslo", "n1", "BudgetSpent")

	var seen []string
	var notes []string
	question := api.NodesRequest{Limit: 2}
	for {
		page := answered[api.NodesResponse](h, api.VerbNodes, question)
		require.LessOrEqual(t, len(page.Items), 2)
		for _, n := range page.Items {
			seen = append(seen, n.Spec.Member+"/"+n.Name)
		}
		notes = append(notes, page.Notes...)
		if question.Continue = page.Continue; question.Continue == "" {
			break
		}
	}
	require.Equal(t, []string{"berlin/n1", "berlin/n2", "oslo/n1"}, seen)
	require.Equal(t, []string{"member tampa: nothing is decided: the member has sent no inventory of its nodes yet"}, notes)

	page := answered[api.NodesResponse](h, api.VerbNodes, api.NodesRequest{Member: "berlin", Node: "n2", WithPods: true})
	require.Len(t, page.Items, 1)
	n2 := page.Items[0]
	require.Equal(t, api.MemberNodeSpec{Member: "berlin", NodePool: "a"}, n2.Spec)
	require.Equal(t, api.NodeReady, n2.Status.State)
	require.Equal(t, "d8", n2.Status.InstanceType)
	require.InDelta(t, 0.4, n2.Status.Price.Amount, 1e-9)
	require.Equal(t, int64(750), n2.Status.Requested["cpu"])
	require.Len(t, n2.Status.PodStates, 2)
	require.Equal(t, "BudgetSpent", n2.Status.Verdict.Code)

	require.Len(t, answered[api.NodesResponse](h, api.VerbNodes, api.NodesRequest{LabelSelector: "node.kubernetes.io/instance-type=d2"}).Items, 1)
	require.Len(t, answered[api.NodesResponse](h, api.VerbNodes, api.NodesRequest{Node: "n1"}).Items, 2, "of every member that has one")
	refusedWith(h, api.VerbNodes, api.NodesRequest{Member: "rome"}, api.CodeNotFound, `there is no member "rome"`)
	_, err := ask[json.RawMessage](h, api.VerbNodes, api.NodesRequest{LabelSelector: "a in"})
	require.ErrorContains(t, err, "reading label selector")

	h.member("berlin-2", nil) // '-' comes before '/'
	h.nodes("berlin-2", aNode("n1", "a", 2, 100))
	h.decided("berlin-2", "n1", "BudgetSpent")
	last := answered[api.NodesResponse](h, api.VerbNodes, api.NodesRequest{Limit: 1, Continue: "berlin/n2"})
	require.Equal(t, "berlin-2", last.Items[0].Spec.Member)
}

// What was chosen and waits is listed beside what has begun, and so its node is marked.
func TestDisruptionsAreListed(t *testing.T) {
	h := newHarness(t, Options{Interval: 10 * time.Millisecond, ValidationWait: time.Hour}, "berlin", "oslo")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 2, 1500))
	var page api.DisruptionsResponse
	bustest.Eventually(t, func() error {
		page = answered[api.DisruptionsResponse](h, api.VerbDisruptions, api.DisruptionsRequest{Member: "berlin"})
		if len(page.Items) != 1 {
			return fmt.Errorf("%d disruptions", len(page.Items))
		}
		return nil
	})
	require.Equal(t, api.PhaseWaiting, page.Items[0].Status.Phase)
	require.Equal(t, []string{"n1"}, page.Items[0].Status.Nodes)
	require.Regexp(t, `^begins at .*Z, if it still holds then$`, page.Items[0].Status.Message)
	chosen := answered[api.NodesResponse](h, api.VerbNodes, api.NodesRequest{Member: "berlin", Node: "n1"})
	require.Equal(t, &api.NodeVerdict{Disrupt: "Empty", Method: "empty"}, chosen.Items[0].Status.Verdict)
	why := answered[explain.NodeAnswer](h, api.VerbWhyNode, api.WhyNodeRequest{Member: "berlin", Node: "n1"})
	require.Len(t, why.Notes, 1)
	require.Contains(t, why.Notes[0], "it was chosen for Empty (empty)")
	plan := answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin"})
	require.Empty(t, plan.Notes)
	require.Len(t, plan.Commands, 1)
	require.Equal(t, []string{"n1"}, plan.Commands[0].Nodes)
	require.InDelta(t, plan.Commands[0].Savings.Amount, plan.Savings.Amount, 1e-9)
	require.Regexp(t, `^delete n1: Empty \(empty\), saves .* an hour, begins at .*Z if it still holds then\n`, plan.Commands[0].String())
	require.Equal(t, plan.After["Empty"]["a"]+1, plan.Before["Empty"]["a"])

	h.clock.forward(time.Hour)
	h.event("berlin", aNode("n3", "a", 2, 1500))
	h.inventory("berlin")
	r := h.eventually("berlin", "empty n1 Draining")
	id := r.Disruptions[0].ID
	all := answered[api.DisruptionsResponse](h, api.VerbDisruptions, api.DisruptionsRequest{})
	require.Len(t, all.Items, 1)
	require.Equal(t, id, all.Items[0].Name)
	require.Equal(t, "berlin", all.Items[0].Spec.Member)
	require.Len(t, all.Notes, 1, "oslo has told nothing")
	require.Empty(t, answered[api.DisruptionsResponse](h, api.VerbDisruptions, api.DisruptionsRequest{ID: "other"}).Items)
	nodes := answered[api.NodesResponse](h, api.VerbNodes, api.NodesRequest{Member: "berlin", Node: "n1"})
	require.Equal(t, []string{api.NodeDisrupting, id, api.PhaseDraining}, []string{nodes.Items[0].Status.State, nodes.Items[0].Status.Disruption, nodes.Items[0].Status.Phase})
	running := answered[explain.NodeAnswer](h, api.VerbWhyNode, api.WhyNodeRequest{Member: "berlin", Node: "n1"})
	require.Equal(t, id, running.Running.ID)
	require.Equal(t, "what disruption "+id+" waits for has to end", running.NoFlip)
}

// Ended disruptions are paged by their place in the list, whatever their names.
func TestDisruptionsComeInPages(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "1")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 8), aNode("n3", "a", 2, 1500))
	for _, want := range []string{"empty n2 Draining", "empty n2 Done; empty n1 Draining"} {
		r := h.eventually("berlin", want)
		h.finish("berlin", &r.Disruptions[len(r.Disruptions)-1])
	}
	h.eventually("berlin", "empty n2 Done; empty n1 Done")
	first := answered[api.DisruptionsResponse](h, api.VerbDisruptions, api.DisruptionsRequest{Limit: 1})
	require.Equal(t, []string{"n2"}, first.Items[0].Status.Nodes)
	second := answered[api.DisruptionsResponse](h, api.VerbDisruptions, api.DisruptionsRequest{Limit: 1, Continue: first.Continue})
	require.Equal(t, []string{"n1"}, second.Items[0].Status.Nodes)
	require.Empty(t, second.Continue)
}

// A plan is what would begin now; nodes that are named and stay are explained, and what is said to be
// left of fleet-wide budgets counts.
func TestPlansAreAnswered(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "100%", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "all=5"} })
	h.nodes("berlin", aNode("n2", "a", 2, 1500))
	h.decided("berlin", "n2", "NotCheaper")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n3", "a", 4))

	var plan explain.MemberForecast
	bustest.Eventually(t, func() error {
		if plan = answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Nodes: []string{"n2"}}); plan.Nodes != 3 {
			return fmt.Errorf("%d nodes, stale: %q", plan.Nodes, plan.Stale)
		}
		return nil
	})
	require.Len(t, plan.Commands, 1)
	require.Equal(t, []string{"n1", "n3"}, plan.Commands[0].Nodes)
	require.InDelta(t, 0.4, plan.Savings.Amount, 1e-9)
	require.Equal(t, map[string]int{"all": 3}, plan.FleetBudgets)
	require.Len(t, plan.Explanations, 1)
	require.Equal(t, "n2", plan.Explanations[0].Node)

	spent := answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", FleetBudgets: map[string]int{"all": 1, "other": 9}})
	require.Len(t, spent.Commands[0].Nodes, 1)
	refusedWith(h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Nodes: []string{"n9"}}, api.CodeNotFound, `member berlin has no node "n9"`)
	refusedWith(h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "rome"}, api.CodeNotFound, `there is no member "rome"`)
	refusedWith(h, api.VerbWhyNode, api.WhyNodeRequest{Member: "berlin", Node: "n9"}, api.CodeNotFound, `member berlin has no node "n9"`)

	h.state("berlin", api.MemberNotReady)
	bustest.Eventually(t, func() error {
		if got := answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin"}); got.Stale != "the member is NotReady" {
			return fmt.Errorf("stale: %q", got.Stale)
		}
		return nil
	})
}

// dooming is a node that has drifted, with a pod that is killed at the end of its terminationGracePeriod.
func dooming() api.NodeState {
	n := aNode("n1", "a", 4, 500)
	n.ProviderDrift, n.TerminationGracePeriod = "ImageDrifted", "1h"
	n.Pods[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	return n
}

// A plan names the pods that a terminationGracePeriod kills (N25).
func TestPlansNameKilledPods(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "0")
	h.nodes("berlin", dooming(), aNode("n2", "a", 8, 5000))
	h.decided("berlin", "n1", "BudgetSpent")
	h.pool("a", "1")
	bustest.Eventually(t, func() error {
		plan := answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin"})
		if len(plan.Commands) != 1 || len(plan.Commands[0].Killed) != 1 {
			return fmt.Errorf("the plan is %s", plan)
		}
		require.Equal(t, api.PodMove{Pod: "default/n1-0", From: "n1", To: "n2"}, plan.Commands[0].Killed[0].PodMove)
		require.Len(t, plan.Notes, 1)
		return nil
	})
}

// So does what tells of a disruption that has begun: why, and the disruption itself.
func TestDisruptionsNameKilledPods(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "1")
	h.nodes("berlin", dooming(), aNode("n2", "a", 8, 5000))
	h.eventually("berlin", "drift n1 Draining")
	answer := answered[explain.NodeAnswer](h, api.VerbWhyNode, api.WhyNodeRequest{Member: "berlin", Node: "n1"})
	require.Equal(t, "DoNotDisruptPod", answer.Running.Killed[0].Code)
	page := answered[api.DisruptionsResponse](h, api.VerbDisruptions, api.DisruptionsRequest{Member: "berlin"})
	require.Equal(t, 59*time.Minute+30*time.Second, page.Items[0].Status.Killed[0].After.Duration)
}

// Budgets are those of every pool on every member, and those that pools share.
func TestBudgetsAreAnswered(t *testing.T) {
	h := newHarness(t, resting())
	h.member("berlin", map[string]string{"region": "eu"})
	h.member("tampa", map[string]string{"region": "us"})
	nine, day := "0 9 * * *", "8h"
	h.pool("a", "50%", func(p *api.NodePool) {
		p.Annotations = map[string]string{api.AnnotationFleetBudget: "all=2"}
		p.Spec.Disruption.Budgets = append(p.Spec.Disruption.Budgets, api.DisruptionBudget{Nodes: new("0"), Schedule: &nine, Duration: &day})
	})
	h.pool("b", "1", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationMembers: "region=eu"} })
	h.pool("nowhere", "1", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationMembers: "region=mars"} })
	down := aNode("n3", "a", 4, 3500)
	down.Ready = false
	h.nodes("berlin", aNode("n1", "a", 4, 3500), aNode("n2", "a", 4, 3500), down)
	h.nodes("tampa", aNode("n1", "a", 4, 3500))
	evening := metav1.Date(2030, 1, 1, 20, 0, 0, 0, time.UTC)

	var report disruption.BudgetReport
	bustest.Eventually(t, func() error {
		report = answered[disruption.BudgetReport](h, api.VerbBudgets, api.BudgetsRequest{At: &evening})
		if len(report.FleetBudgets) != 1 || report.FleetBudgets[0].Nodes != 4 {
			return fmt.Errorf("fleet budgets %+v", report.FleetBudgets)
		}
		return nil
	})
	var rows []string
	for _, p := range report.Pools {
		rows = append(rows, fmt.Sprintf("%s on %s: %d of %d down, limit %d, allowed %d, %d spans", p.Name, p.Member, p.Disrupting, p.Nodes, p.Limits["Empty"], p.Allowed["Empty"], len(p.Calendar)))
	}
	require.Equal(t, []string{
		"a on berlin: 1 of 3 down, limit 2, allowed 1, 15 spans",
		"a on tampa: 0 of 1 down, limit 1, allowed 1, 15 spans",
		"b on berlin: 0 of 0 down, limit 1, allowed 1, 1 spans",
	}, rows)
	require.Equal(t, disruption.FleetBudget{Name: "all", Limit: "2", Nodes: 4, Disrupting: 1, Allowed: 1, Pools: []string{"a"}}, report.FleetBudgets[0])
	require.Contains(t, report.Notes, "NodePool nowhere is not on any member: its annotation flotilla.io/members selects members by label")

	noon := metav1.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	one := answered[disruption.BudgetReport](h, api.VerbBudgets, api.BudgetsRequest{Pool: "a", Member: "tampa", At: &noon})
	require.Len(t, one.Pools, 1)
	require.Zero(t, one.Pools[0].Allowed["Empty"])
	refusedWith(h, api.VerbBudgets, api.BudgetsRequest{Pool: "c"}, api.CodeNotFound, `there is no NodePool "c"`)
}

// A node is deleted past all budgets, once for each request; what will hold the drain up is said before.
func TestNodesAreDeleted(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "0")
	foreign := aNode("n2", "", 4, 100)
	foreign.Managed = false
	held := aNode("n1", "a", 4, 500, 500)
	held.Pods[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	h.nodes("berlin", held, foreign)
	h.decided("berlin", "n1", "DoNotDisruptPod")

	dry := answered[api.DeleteNodeResponse](h, api.VerbDeleteNode, api.DeleteNodeRequest{Request: "r0", Member: "berlin", Node: "n1", DryRun: true})
	require.Equal(t, 2, dry.Pods)
	require.Empty(t, dry.Disruption)
	require.Contains(t, dry.Notes[0], "pod default/n1-0 is not evicted")
	require.Empty(t, h.record("berlin").Disruptions)

	begun := answered[api.DeleteNodeResponse](h, api.VerbDeleteNode, api.DeleteNodeRequest{Request: "r1", Member: "berlin", Node: "n1"})
	r := h.eventually("berlin", "manual n1 Draining")
	require.Equal(t, r.Disruptions[0].ID, begun.Disruption)
	require.False(t, begun.Already)
	again := answered[api.DeleteNodeResponse](h, api.VerbDeleteNode, api.DeleteNodeRequest{Request: "r1", Member: "berlin", Node: "n1"})
	require.Equal(t, begun, again, "the same request answers the same")
	other := answered[api.DeleteNodeResponse](h, api.VerbDeleteNode, api.DeleteNodeRequest{Request: "r2", Member: "berlin", Node: "n1"})
	require.True(t, other.Already)
	require.Equal(t, begun.Disruption, other.Disruption)
	require.Len(t, h.record("berlin").Disruptions, 1)

	refusedWith(h, api.VerbDeleteNode, api.DeleteNodeRequest{Request: "r3", Member: "berlin", Node: "n2"}, api.CodeRefused, "made by neither Flotilla nor Karpenter")
	refusedWith(h, api.VerbDeleteNode, api.DeleteNodeRequest{Request: "r4", Member: "berlin", Node: "n9"}, api.CodeNotFound, `has no node "n9"`)
}
