package orchestration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/explain"
	"flotilla/core/orchestration"
	"flotilla/core/simulate/simulatetest"
)

// What keeps a node for longer than the pod that is expected on it is told beside that; what would not keep
// it is not.
func TestWhatLasts(t *testing.T) {
	protect := func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }
	whenEmpty := func(p *api.NodePool) { p.Spec.Disruption.ConsolidationPolicy = api.WhenEmpty }
	never := func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }
	allowing := func(n int32) []api.PodBudget {
		return []api.PodBudget{{Namespace: "default", Name: "x", Selector: simulatetest.Selecting("p"), Allowed: n}}
	}
	expired := func(n *api.NodeState) { n.ExpireAfter = "1m" }
	patient := func(n *api.NodeState) { n.ExpireAfter, n.TerminationGracePeriod = "1m", "1h" }
	for name, row := range map[string]struct {
		pool func(*api.NodePool)
		node func(*api.NodeState)
		pdbs []api.PodBudget
		pods []api.PodState
		want disruption.Code
	}{
		"nothing":                         {pods: []api.PodState{simulatetest.Pod("p", 100)}},
		"a do-not-disrupt node":           {node: func(n *api.NodeState) { n.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }, want: disruption.CodeNodeProtected},
		"no pool":                         {node: func(n *api.NodeState) { delete(n.Labels, api.LabelNodePool) }, want: disruption.CodeNoPool},
		"a do-not-disrupt pod":            {pods: []api.PodState{simulatetest.Pod("p", 100, protect)}, pdbs: allowing(0), want: disruption.CodePodProtected},
		"a budget of 0":                   {pods: []api.PodState{simulatetest.Pod("p", 100)}, pdbs: allowing(0), want: disruption.CodePDB},
		"a budget of 1 for two":           {pods: []api.PodState{simulatetest.Pod("p", 100), simulatetest.Pod("q", 100, simulatetest.Labelled("p"))}, pdbs: allowing(1), want: disruption.CodePDBExceeded},
		"expired, a do-not-disrupt pod":   {pods: []api.PodState{simulatetest.Pod("p", 100, protect)}, node: expired, want: disruption.CodePodProtected},
		"expired, with a deadline":        {pods: []api.PodState{simulatetest.Pod("p", 100, protect)}, node: patient},
		"expired, WhenEmpty":              {pods: []api.PodState{simulatetest.Pod("p", 100)}, node: expired, pool: whenEmpty},
		"WhenEmpty":                       {pods: []api.PodState{simulatetest.Pod("p", 100)}, pool: whenEmpty, want: disruption.CodeNotEmpty},
		"WhenEmpty, and empty":            {pool: whenEmpty},
		"no consolidation":                {pods: []api.PodState{simulatetest.Pod("p", 100)}, pool: never, want: disruption.CodeDisabled},
		"no consolidation, and empty":     {pool: never, want: disruption.CodeDisabled},
		"a type without price":            {pods: []api.PodState{simulatetest.Pod("p", 100)}, node: unpricedType, want: disruption.CodeTypeUnknown},
		"a type without price, and empty": {node: unpricedType},
	} {
		t.Run(name, func(t *testing.T) {
			n := simulatetest.Node("n1", "d2", "z-a", "a", row.pods...)
			n.NominatedUntil, n.Created = metav1.NewTime(simulatetest.Now.Add(time.Second)), metav1.NewTime(simulatetest.Now.Add(-30*time.Minute))
			if row.node != nil {
				row.node(n)
			}
			pool := simulatetest.Pool("a")
			if row.pool != nil {
				row.pool(pool)
			}
			f := simulatetest.Member{Nodes: []*api.NodeState{n}, Pools: []*api.NodePool{pool}, Pdbs: row.pdbs}
			d := disruption.Decide(f.State())
			require.Equal(t, []disruption.Code{disruption.CodeNominated}, disruptiontest.Codes(d, "n1"))
			e, _ := explain.Explain(f.State(), "n1")
			listing := orchestration.MemberNodes(f.State(), "berlin", &d, nil)[0].Status.Verdict.Code
			if row.want == "" {
				require.Nil(t, d.Verdicts[0].Lasting)
				require.Equal(t, "Nominated: a pod is expected on the node until 2026-11-20T12:00:01Z", d.Verdicts[0].Why())
				require.Equal(t, string(disruption.CodeNominated), listing)
				require.NotContains(t, e.String(), "once that is over")
				return
			}
			require.Equal(t, row.want, d.Verdicts[0].Lasting.Code)
			require.Equal(t, d.Verdicts[0].Lasting.String()+"; and Nominated: a pod is expected on the node until 2026-11-20T12:00:01Z", d.Verdicts[0].Why())
			require.Equal(t, string(row.want), listing)
			require.Contains(t, e.String(), "  Nominated: a pod is expected on the node until 2026-11-20T12:00:01Z\n  once that is over: "+string(row.want)+": ")

			n.NominatedUntil = metav1.Time{}
			require.Contains(t, disruptiontest.Codes(disruption.Decide(f.State()), "n1"), row.want, "that is what keeps it then")
		})
	}
}

func unpricedType(n *api.NodeState) { n.Labels["node.kubernetes.io/instance-type"] = "x" }

// A node that no pod is expected on has no other reason than those of its refusals.
func TestOnlyANominatedNodeHasWhatLasts(t *testing.T) {
	f := simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 100))}, Pools: []*api.NodePool{simulatetest.Pool("a")},
		Pdbs: []api.PodBudget{{Namespace: "default", Name: "x", Selector: simulatetest.Selecting("p")}},
	}
	d := disruption.Decide(f.State())
	require.Equal(t, disruption.CodePDB, d.Verdicts[0].Refusals[0].Code)
	require.Nil(t, d.Verdicts[0].Lasting)
}

// A node that expires soon is told to go by waiting; one that lives long is not.
func TestWaitingForExpiry(t *testing.T) {
	for after, want := range map[string][]string{
		"60m20s": {"wait until 2026-11-20T12:00:20Z, when the node expires"}, "26h": nil, api.Never: nil,
	} {
		n := simulatetest.Node("n1", "f2", "z-a", "a", simulatetest.Pod("p", 1500))
		n.Created, n.ExpireAfter = metav1.NewTime(simulatetest.Now.Add(-time.Hour)), after
		f := simulatetest.Member{Nodes: []*api.NodeState{n}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
		e, _ := explain.Explain(f.State(), "n1")
		require.Empty(t, e.Disrupt)
		require.Equal(t, want, e.Flip, after)
		require.Equal(t, want == nil, e.NoFlip != "", after)
	}
}

// A price that nobody knows is not told as 0.
func TestExplanationWithoutAPrice(t *testing.T) {
	require.Contains(t, explain.Explanation{Verdict: disruption.Verdict{Node: "n1"}, Price: api.Hourly{Unknown: true}, Disruption: 1}.String(), "  no pool, price unknown, disruption cost 1.00\n")
	require.Contains(t, explain.Explanation{Verdict: disruption.Verdict{Node: "n1", Pool: "a"}, Price: api.Hourly{Amount: 0.5}}.String(), "  pool a, price 0.5000 an hour, disruption cost 0.00\n")
}
