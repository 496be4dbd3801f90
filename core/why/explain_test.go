package why_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/why"
)

func member(name string, changes ...func(*api.Member)) api.Member {
	m := api.Member{
		Name: name, HasAgent: true, Joined: "True", Healthy: "True", LastHeartbeat: sim.Now,
		Labels: map[string]string{}, Properties: map[string]string{},
	}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func label(key, value string) func(*api.Member) {
	return func(m *api.Member) { m.Labels[key] = value }
}

func nodes(n string) func(*api.Member) {
	return func(m *api.Member) { m.Properties[api.PropertyNodeCount] = n }
}

func tainted(key string) func(*api.Member) {
	return func(m *api.Member) { m.Taints = append(m.Taints, api.Taint{Key: key, Effect: api.EffectNoSchedule}) }
}

func offline(m *api.Member) { m.LastHeartbeat = sim.Now.Add(-time.Hour) }

func input(p *api.Policy, members ...api.Member) schedule.Input {
	return schedule.Input{Placement: "web", Policy: p, Fleet: schedule.NewFleet(members...), Now: sim.Now}
}

func pickN(n int32, change func(*api.Policy)) *api.Policy {
	p := &api.Policy{PlacementType: api.PickN, NumberOfClusters: &n, Affinity: &api.Affinity{ClusterAffinity: &api.ClusterAffinity{}}}
	if change != nil {
		change(p)
	}
	return p
}

func required(term api.ClusterSelectorTerm) *api.Policy {
	return &api.Policy{PlacementType: api.PickAll, Affinity: &api.Affinity{ClusterAffinity: &api.ClusterAffinity{
		Required: &api.ClusterSelector{ClusterSelectorTerms: []api.ClusterSelectorTerm{term}},
	}}}
}

func labels(expressions ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: expressions}
}

func expression(name string, operator api.PropertyOperator, value string) *api.PropertySelector {
	return &api.PropertySelector{MatchExpressions: []api.PropertyExpression{{Name: name, Operator: operator, Values: []string{value}}}}
}

// The smallest change for each way of not being picked, and of being picked.
func TestSmallestFlip(t *testing.T) {
	region := func(operator metav1.LabelSelectorOperator, values ...string) api.ClusterSelectorTerm {
		return api.ClusterSelectorTerm{LabelSelector: labels(metav1.LabelSelectorRequirement{Key: "region", Operator: operator, Values: values})}
	}
	hard := func(p *api.Policy) {
		p.TopologySpreadConstraints = []api.TopologySpreadConstraint{{TopologyKey: "zone"}}
	}
	prod := func(p *api.Policy) {
		p.Affinity.ClusterAffinity.Preferred = []api.PreferredClusterTerm{{
			Weight:     5,
			Preference: api.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}},
		}}
	}
	for name, c := range map[string]struct {
		in            schedule.Input
		kind          string
		text, command string
	}{
		"a label of another value": {
			input(required(region("In", "eastus", "northeurope")), member("m", label("region", "westus"))),
			why.FlipLabel, "label region=eastus on member m", "flotilla label member m region=eastus --overwrite",
		},
		"a missing label": {
			input(required(region("Exists")), member("m")),
			why.FlipLabel, "label region=true on member m", "flotilla label member m region=true",
		},
		"a label too many": {
			input(required(region("NotIn", "westus")), member("m", label("region", "westus"))),
			why.FlipLabel, "label region removed from member m", "flotilla label member m region-",
		},
		"a threshold": {
			input(required(api.ClusterSelectorTerm{PropertySelector: expression(api.PropertyNodeCountAKS, api.OpGe, "5")}), member("m", nodes("3"))),
			why.FlipThreshold, "kubernetes-fleet.io/node-count Ge 3 instead of 5 in required term 1", "flotilla edit placement/web",
		},
		"a strict threshold": {
			input(required(api.ClusterSelectorTerm{PropertySelector: expression(api.PropertyNodeCount, api.OpLt, "3")}), member("m", nodes("3"))),
			why.FlipThreshold, "kubernetes-fleet.io/node-count Lt 4 instead of 3 in required term 1", "flotilla edit placement/web",
		},
		"a missing property": {
			input(required(api.ClusterSelectorTerm{PropertySelector: expression(api.PropertyNodeCount, api.OpGt, "5")}), member("m")),
			why.FlipProperty, "kubernetes-fleet.io/node-count of member m becomes 6", "",
		},
		"silence":    {input(nil, member("m", offline)), why.FlipHealth, "member m sends heartbeats again", ""},
		"no agent":   {input(nil, api.Member{Name: "m"}), why.FlipHealth, "the agent of member m joins, sends heartbeats and reports healthy", ""},
		"leaving":    {input(nil, member("m", func(m *api.Member) { m.Leaving = true })), why.FlipHealth, "member m stays in the fleet instead of leaving", ""},
		"a taint":    {input(nil, member("m", tainted("gpu"))), why.FlipTaint, "taint gpu:NoSchedule removed from member m", "flotilla taint member m gpu-"},
		"two taints": {input(nil, member("m", tainted("gpu"), tainted("old"))), why.FlipToleration, "toleration of every taint (operator Exists without key) in spec.policy.tolerations", "flotilla edit placement/web"},
		"a rank":     {input(pickN(1, nil), member("m"), member("n")), why.FlipScale, "numberOfClusters 2 instead of 1", "flotilla scale placement/web --clusters 2"},
		"a far rank": {input(pickN(1, nil), member("m"), member("n"), member("o"), member("p"), member("q"), member("r")), why.FlipScale, "numberOfClusters 6 instead of 1", "flotilla scale placement/web --clusters 6"},
		"a rank between": {
			input(pickN(1, nil), member("a"), member("b"), member("c"), member("m"), member("n"), member("o"), member("p")),
			why.FlipScale, "numberOfClusters 4 instead of 1", "flotilla scale placement/web --clusters 4",
		},
		"a preferred label": {
			input(pickN(1, prod), member("m"), member("n"), member("o"), member("p")),
			why.FlipLabel, "label env=prod on member m", "flotilla label member m env=prod",
		},
		"a spread constraint": {
			input(pickN(2, hard), member("m", label("zone", "1")), member("n", label("zone", "1")), member("o", label("zone", "2"), offline)),
			why.FlipSkew, "maxSkew 2 instead of 1 for zone", "flotilla edit placement/web",
		},
		"not named": {
			input(&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"n"}}, member("m"), member("n")),
			why.FlipNames, "m added to spec.policy.clusterNames", "flotilla edit placement/web",
		},
		"named": {
			input(&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"m", "n"}}, member("m"), member("n")),
			why.FlipNames, "m removed from spec.policy.clusterNames", "flotilla edit placement/web",
		},
		"not a member":    {input(nil, member("n")), why.FlipJoin, "a healthy member named m joins: its agent enrols with a token, then it is admitted", "flotilla member enrol m > m.token"},
		"picked of many":  {input(pickN(1, nil), member("m")), why.FlipScale, "numberOfClusters 0 instead of 1", "flotilla scale placement/web --clusters 0"},
		"picked of all":   {input(nil, member("m")), why.FlipTaint, "taint flotilla.io/keep-off=m:NoSchedule on member m", "flotilla taint member m flotilla.io/keep-off=m:NoSchedule"},
		"picked by label": {input(required(region("Exists")), member("m", label("region", "eu"))), why.FlipLabel, "label region removed from member m", "flotilla label member m region-"},
	} {
		t.Run(name, func(t *testing.T) {
			a := why.Explain(c.in, "m")
			require.NotNil(t, a.Flip, a.String())
			require.Equal(t, c.kind, a.Flip.Kind)
			require.Equal(t, c.text, a.Flip.Text)
			require.Equal(t, c.command, a.Flip.Command)
		})
	}
}

func TestBoundMembersOnlyLeave(t *testing.T) {
	in := input(required(api.ClusterSelectorTerm{LabelSelector: labels()}), member("m"))
	in.Existing = []schedule.Existing{{Member: "m", State: api.BindingBound}}
	require.Equal(t, why.FlipLeave, why.Explain(in, "m").Flip.Kind, "neither taints nor labels take away what is bound")
}

func TestNamespaceAndEviction(t *testing.T) {
	in := input(nil, member("m", func(m *api.Member) { m.NamespaceCondition, m.NamespacesKnown = true, true }))
	in.Placement, in.Namespace = "apps/web", "apps"
	require.Equal(t, "namespace apps on member m", why.Explain(in, "m").Flip.Text)

	in = input(pickN(1, nil), member("m"))
	in.Placement, in.Evicted = "apps/web", []string{"m"}
	a := why.Explain(in, "m")
	require.Equal(t, why.FlipEvicted, a.Flip.Kind)
	require.Equal(t, "flotilla edit placement/web -n apps", a.Flip.Command)
}

// When several things stand in the way, no single change is printed, and all of them are.
func TestNoSingleChange(t *testing.T) {
	term := api.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}
	a := why.Explain(input(required(term), member("m", offline, tainted("gpu"))), "m")
	require.Nil(t, a.Flip)
	require.Equal(t, `no single change flips this, 3 things stand in the way: affinity, term 1: env is absent, wanted "prod"; `+
		"eligibility: member is not eligible: cluster is not connected to the fleet: no recent heartbeat signals "+
		"(last received 60.00 minutes ago), wanted at most 5.00, wanted connected, joined, healthy, not leaving; "+
		"taint: taint gpu:NoSchedule is present, wanted a toleration", a.NoFlip)

	in := input(nil, member("m"))
	in.Deleting = true
	require.Equal(t, "the placement is being deleted", why.Explain(in, "m").NoFlip)
}

func TestAnswerReadsWell(t *testing.T) {
	p := required(api.ClusterSelectorTerm{
		LabelSelector:    labels(metav1.LabelSelectorRequirement{Key: "region", Operator: "In", Values: []string{"eastus", "northeurope"}}),
		PropertySelector: expression(api.PropertyNodeCount, api.OpGe, "5"),
	})
	in := input(p, member("berlin", label("region", "westus"), nodes("7"), tainted("gpu")))
	in.Policy.Tolerations = []api.Toleration{{Key: "gpu", Operator: api.TolerationExists}}
	a := why.Explain(in, "berlin")
	require.Equal(t, `web on berlin: not picked (affinity)
  ClusterUnschedulable, cluster does not match with any of the required cluster affinity terms: region is "westus", wanted In (eastus, northeurope)
  no affinity, term 1: region is "westus", wanted In (eastus, northeurope)
  ok affinity, term 1: kubernetes-fleet.io/node-count is 7, wanted >= 5
  ok eligibility: member is eligible, last heartbeat 0s ago, wanted connected, joined, healthy, not leaving
  ok taint: taint gpu:NoSchedule is present, wanted a toleration
  flip: label region=eastus on member berlin
        flotilla label member berlin region=eastus --overwrite
`, a.String())
	text, err := json.Marshal(a)
	require.NoError(t, err)
	var read map[string]any
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, map[string]any{
		"kind": "label", "text": "label region=eastus on member berlin", "command": "flotilla label member berlin region=eastus --overwrite",
	}, read["flip"])
	require.Len(t, read["checks"], 4)

	ranked := why.Explain(input(pickN(1, nil), member("a"), member("b")), "a")
	require.Contains(t, ranked.String(), "\n  scores after the last pick: affinity 0, topology spread 0, rank 2\n")
}

func TestPickFixedWaiting(t *testing.T) {
	in := input(&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"m"}}, member("m", offline))
	in.Existing = []schedule.Existing{{Member: "m", State: api.BindingBound}}
	a := why.Explain(in, "m")
	require.Contains(t, a.String(), "web on m: not picked (eligibility), keeps what it has\n")
	require.Equal(t, "member m sends heartbeats again", a.Flip.Text)
}

// A flip of the policy makes what is bound now a matter of the older policy.
func TestPolicyFlipMakesBindingsObsolete(t *testing.T) {
	in := input(required(api.ClusterSelectorTerm{PropertySelector: expression(api.PropertyNodeCount, api.OpGe, "5")}),
		member("bound", nodes("1")), member("m", nodes("3")))
	in.Existing = []schedule.Existing{{Member: "bound", State: api.BindingBound}}
	flip := why.Explain(in, "m").Flip
	require.Equal(t, why.FlipThreshold, flip.Kind)
	after := flip.Apply(in)
	require.Equal(t, schedule.PolicyDigest(in.Policy), after.Existing[0].Policy)
	require.Empty(t, in.Existing[0].Policy)
	plan := schedule.Schedule(after)
	require.Len(t, plan.Bindings, 1)
	require.Equal(t, "m", plan.Bindings[0].Member)
	require.Equal(t, "bound", plan.Removed[0].Member)
}
