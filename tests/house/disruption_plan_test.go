package house

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
)

// foretold is one disruption of a plan as it is compared: what goes, how, what it saves, what comes, and
// the way of every pod, by its app.
type foretold struct {
	What    string
	Savings string
	Types   []string
	Moves   []string
}

// apps names the app of every pod of the member.
func (h *nodeHouse) apps() map[string]string {
	out := map[string]string{}
	for _, p := range h.survey().Pods {
		out[p.Namespace+"/"+p.Name] = p.Labels["app"]
	}
	return out
}

func movesOf(moves []api.PodMove, apps map[string]string) []string {
	var out []string
	for _, m := range moves {
		out = append(out, fmt.Sprintf("%s: %s -> %s", apps[m.Pod], m.From, m.To))
	}
	slices.Sort(out)
	return out
}

// pause is what lies between the decision that finds nothing and the next: time enough to ask for a plan.
const pause = 6 * time.Second

// decided waits until the newest decision leaves a node for this reason.
func (h *nodeHouse) decided(node string, code disruption.Code) {
	h.t.Helper()
	h.eventually(func() error {
		var answer api.NodesResponse
		err := h.request(h.t, api.VerbNodes, api.NodesRequest{Member: city, Node: node}, &answer)
		if err != nil {
			return err
		}
		if v := answer.Items[0].Status.Verdict; v == nil || v.Code != string(code) {
			return fmt.Errorf("the verdict on node %s is %+v, wanted %s", node, v, code)
		}
		return nil
	})
}

// openWithPlan lets the pool be consolidated that was not, and asks what would happen before it does.
func (h *nodeHouse) openWithPlan() explain.MemberForecast {
	h.t.Helper()
	h.pool(anyMachine + "\n  disruption: {consolidateAfter: Never, budgets: [{nodes: \"100%\"}]}")
	h.decided("n1", disruption.CodeDisabled)
	h.pool(whole)
	plan := h.foresee()
	require.Empty(h.t, plan.Notes, "something is on its way already")
	return plan
}

func (h *nodeHouse) foresee() explain.MemberForecast {
	h.t.Helper()
	var found explain.MemberForecast
	h.eventually(func() error {
		found = explain.MemberForecast{}
		if err := h.request(h.t, api.VerbPlanNodes, api.PlanNodesRequest{Member: city}, &found); err != nil {
			return err
		}
		if len(found.Commands) == 0 {
			return fmt.Errorf("the plan is empty: %s", found.Stale)
		}
		return nil
	})
	return found
}

// requireForetold compares what is carried out with what a plan said: the disruptions, what they save, what they launch, and where the pods are afterwards.
func (h *nodeHouse) requireForetold(plan *explain.MemberForecast) {
	h.t.Helper()
	apps := h.apps()
	var want []foretold
	places := map[string]map[string]int{}
	for _, app := range apps {
		places[app] = h.places(app)
	}
	for i := range plan.Commands {
		c := &plan.Commands[i]
		f := foretold{What: fmt.Sprintf("%s %s %v", c.Method, c.Reason, c.Nodes), Savings: fmt.Sprintf("%.6f", c.Savings.Amount), Moves: movesOf(c.Moves, apps)}
		for _, r := range c.Replacements {
			f.Types = append(f.Types, r.Pool+": "+strings.Join(r.InstanceTypes, " "))
		}
		want = append(want, f)
	}
	var done []api.Disruption
	h.eventually(func() error {
		list, err := h.disruptions()
		if err != nil {
			return err
		}
		if len(list) < len(want) || slices.ContainsFunc(list[:len(want)], func(d api.Disruption) bool { return d.Phase != api.PhaseDone }) {
			return fmt.Errorf("%d disruptions, %d were foretold: %v", len(list), len(want), list)
		}
		done = list[:len(want)]
		return nil
	})
	var got []foretold
	for i := range done {
		d := &done[i]
		f := foretold{What: fmt.Sprintf("%s %s %v", d.Method, d.Reason, d.Nodes), Savings: fmt.Sprintf("%.6f", d.Savings.Amount), Moves: movesOf(d.Moves, apps)}
		for j, r := range d.Replacements {
			f.Types = append(f.Types, r.Pool+": "+strings.Join(r.InstanceTypes, " "))
			for k := range d.Moves {
				if d.Moves[k].To == fmt.Sprint("new-", j) {
					d.Moves[k].To = r.Node
				}
			}
		}
		got = append(got, f)
		for _, m := range d.Moves {
			at := places[apps[m.Pod]]
			if at[m.From]--; at[m.From] == 0 {
				delete(at, m.From)
			}
			at[m.To]++
		}
	}
	require.Equal(h.t, want, got)
	for app, at := range places {
		h.settled(app, at)
	}
}

// What `plan nodes` says is what happens: an empty node goes, and two half-empty ones, whose pods find room on two others.
func TestPlanIsWhatHappens(t *testing.T) {
	t.Parallel()
	h := newNodeHouseAt(t, pause,
		machine(t, "n1", "d4"), machine(t, "n2", "d4"), machine(t, "n3", "d4"), machine(t, "n4", "d4"), machine(t, "n5", "d4"))
	h.put("a", 2, "500m", "n1")
	h.put("b", 1, "900m", "n2")
	h.put("c", 3, "800m", "n3")
	h.put("d", 1, "1800m", "n4")
	plan := h.openWithPlan()
	require.GreaterOrEqual(t, len(plan.Commands), 2)
	require.InDelta(t, plan.Savings.Amount, sum(plan.Commands), 1e-9)
	text := h.flotilla(1, "plan", "nodes", "-m", city)
	require.Contains(t, text, "n5")
	h.requireForetold(&plan)
	require.Empty(t, h.tainted())
}

func sum(commands []disruption.Command) float64 {
	total := 0.0
	for i := range commands {
		total += commands[i].Savings.Amount
	}
	return total
}

// The same of a node that is replaced by a cheaper one.
func TestPlannedReplacementIsWhatHappens(t *testing.T) {
	t.Parallel()
	h := newNodeHouseAt(t, pause, machine(t, "n1", "d8"), machine(t, "n2", "d2", func(n *target.Node) { n.NodePool = "" }))
	h.put("a", 2, "900m", "n1")
	h.put("b", 1, "1500m", "n1")
	h.put("c", 1, "1800m", "n2")
	plan := h.openWithPlan()
	require.Len(t, plan.Commands, 1)
	require.Equal(t, []string{"d4"}, plan.Commands[0].Replacements[0].InstanceTypes)
	require.NotEmpty(t, plan.Then)
	h.requireForetold(&plan)
	nodes := h.nodes()
	require.Len(t, nodes, 2)
	fresh := nodes[slices.IndexFunc(nodes, func(n string) bool { return n != "n2" })]
	require.Equal(t, "d4", h.node(fresh).Labels[corev1.LabelInstanceTypeStable])
}
