package schedule_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
)

// member makes a healthy member; changes make it another.
func member(name string, changes ...func(*api.Member)) api.Member {
	m := api.Member{
		Name: name, HasAgent: true, Joined: "True", Healthy: "True", LastHeartbeat: sim.Now,
		HealthChanged: sim.Now.Add(-time.Hour), Labels: map[string]string{}, Properties: map[string]string{},
	}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func label(key, value string) func(*api.Member) {
	return func(m *api.Member) { m.Labels[key] = value }
}

func property(name, value string) func(*api.Member) {
	return func(m *api.Member) { m.Properties[name] = value }
}

func taint(t api.Taint) func(*api.Member) {
	return func(m *api.Member) { m.Taints = append(m.Taints, t) }
}

// input is a placement over these members.
func input(p *api.Policy, members ...api.Member) schedule.Input {
	return schedule.Input{Placement: "web", UID: "u1", Policy: p, Fleet: schedule.NewFleet(members...), Now: sim.Now}
}

func pickN(n int32, changes ...func(*api.Policy)) *api.Policy {
	p := &api.Policy{PlacementType: api.PickN, NumberOfClusters: &n}
	for _, change := range changes {
		change(p)
	}
	return p
}

func pickAll(terms ...api.ClusterSelectorTerm) *api.Policy {
	p := &api.Policy{PlacementType: api.PickAll}
	required(terms...)(p)
	return p
}

func required(terms ...api.ClusterSelectorTerm) func(*api.Policy) {
	return func(p *api.Policy) {
		affinity(p).Required = &api.ClusterSelector{ClusterSelectorTerms: terms}
	}
}

func prefer(weight int32, preference api.ClusterSelectorTerm) func(*api.Policy) {
	return func(p *api.Policy) {
		a := affinity(p)
		a.Preferred = append(a.Preferred, api.PreferredClusterTerm{Weight: weight, Preference: preference})
	}
}

func affinity(p *api.Policy) *api.ClusterAffinity {
	if p.Affinity == nil {
		p.Affinity = &api.Affinity{ClusterAffinity: &api.ClusterAffinity{}}
	}
	return p.Affinity.ClusterAffinity
}

func spread(key string, skew int32, when string) func(*api.Policy) {
	return func(p *api.Policy) {
		p.TopologySpreadConstraints = append(p.TopologySpreadConstraints,
			api.TopologySpreadConstraint{TopologyKey: key, MaxSkew: &skew, WhenUnsatisfiable: when})
	}
}

func labelTerm(key, value string) api.ClusterSelectorTerm {
	return api.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
}

func expressionTerm(key string, operator metav1.LabelSelectorOperator, values ...string) api.ClusterSelectorTerm {
	return api.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}},
	}}
}

func propertyTerm(name string, operator api.PropertyOperator, values ...string) api.ClusterSelectorTerm {
	return api.ClusterSelectorTerm{PropertySelector: &api.PropertySelector{
		MatchExpressions: []api.PropertyExpression{{Name: name, Operator: operator, Values: values}},
	}}
}

func sorter(name, order string) api.ClusterSelectorTerm {
	return api.ClusterSelectorTerm{PropertySorter: &api.PropertySorter{Name: name, SortOrder: order}}
}

// scores maps members to affinity and spread score.
func scores(bindings []api.Binding) map[string][2]int32 {
	found := map[string][2]int32{}
	for _, b := range bindings {
		found[b.Member] = [2]int32{*b.AffinityScore, *b.SpreadScore}
	}
	return found
}

// reasons maps members that were not picked to their filter and reason.
func reasons(plan *schedule.Plan) map[string]string {
	found := map[string]string{}
	for _, v := range plan.Verdicts.All() {
		if !v.Picked {
			found[v.Member] = v.Filter + ": " + v.Reason
		}
	}
	return found
}
