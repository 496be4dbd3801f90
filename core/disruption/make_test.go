package disruption

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

var testNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func timed(nodes, schedule, duration string) api.DisruptionBudget {
	return api.DisruptionBudget{Nodes: new(nodes), Schedule: &schedule, Duration: &duration}
}

func at(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)
}

// testPool is a pool that is consolidated at once and without limit, on demand unless changed.
func testPool(name string, change ...func(*api.NodePool)) *api.NodePool {
	p := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Disruption = &api.PoolDisruption{ConsolidateAfter: "0s", Budgets: []api.DisruptionBudget{{Nodes: new("100%")}}}
	p.Spec.Template.Spec.ExpireAfter = api.Never
	p.Spec.Template.Spec.Requirements = []api.NodeRequirement{{Key: api.LabelCapacityType, Operator: "In", Values: []string{api.CapacityOnDemand}}}
	for _, c := range change {
		c(p)
	}
	return p
}

// fixture is a small member under construction.
type fixture struct {
	nodes   []*api.NodeState
	pending []api.PodState
	pdbs    []api.PodBudget
	daemons []api.DaemonSetState
	pools   []*api.NodePool
	options map[string]capacity.PoolOptions
	catalog *api.InstanceCatalog
	change  func(*simulate.State)
}

func (f *fixture) state() *simulate.State {
	s := &simulate.State{Cluster: cluster.NewCluster(), Now: testNow}
	catalog := f.catalog
	if catalog == nil {
		catalog = benchCatalog()
	}
	parsed := capacity.NewCatalog(catalog)
	for _, p := range f.pools {
		s.Pools = append(s.Pools, capacity.NewPool(p, parsed, f.options[p.Name]))
	}
	for _, n := range f.nodes {
		s.Cluster.Set(n)
	}
	s.Cluster.SetInventory(&api.NodeInventory{Pending: f.pending, Budgets: f.pdbs, DaemonSets: f.daemons})
	if f.change != nil {
		f.change(s)
	}
	return s
}

// sizes are millicores and GiB of the types of benchCatalog.
var sizes = map[string][2]int64{
	"d2": {2000, 8}, "d4": {4000, 16}, "d8": {8000, 32}, "d16": {16000, 64}, "e4": {4000, 32}, "f2": {2000, 4}, "f4": {4000, 8}, "f8": {8000, 16},
}

func aNode(name, kind, zone, pool string, pods ...api.PodState) *api.NodeState {
	size := sizes[kind]
	created := metav1.NewTime(testNow.Add(-2 * time.Hour))
	return &api.NodeState{
		Name: name, Managed: pool != "", Ready: true, Initialized: true, Created: created, Since: created, Pods: pods,
		Labels: map[string]string{
			api.LabelNodePool: pool, corev1.LabelInstanceTypeStable: kind, corev1.LabelTopologyZone: zone, corev1.LabelArchStable: "amd64",
			api.LabelCapacityType: api.CapacityOnDemand, corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
		},
		Capacity:    api.Amounts{"cpu": size[0], "memory": size[1] << 30, "pods": 110},
		Allocatable: api.Amounts{"cpu": size[0] - 100, "memory": size[1]<<30 - 10<<20, "pods": 110},
	}
}

func aPod(name string, cpu int64, change ...func(*api.PodState)) api.PodState {
	p := api.PodState{
		Namespace: "default", Name: name, Owner: "ReplicaSet", Phase: "Running", Labels: map[string]string{"app": name},
		Requests: api.Amounts{"cpu": cpu, "memory": 1 << 28},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func labelled(app string) func(*api.PodState) {
	return func(p *api.PodState) { p.Labels = map[string]string{"app": app} }
}

func selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func apart(app, key string) func(*api.PodState) {
	return func(p *api.PodState) {
		p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selecting(app), TopologyKey: key}},
		}}
	}
}

// summary is a decision on one line: what goes, how, where pods go and what comes.
func summary(d Decision) string {
	if len(d.Commands) == 0 {
		return "none"
	}
	text := ""
	for i, c := range d.Commands {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s %v by %s", c.Decision(), c.Nodes, c.Method)
		for _, r := range c.Replacements {
			text += fmt.Sprintf(" with %s/%s%v", r.Pool, r.InstanceTypes[0], r.Zones)
		}
		for _, m := range c.Moves {
			text += fmt.Sprintf(" %s>%s", m.Pod[len("default/"):], m.To)
		}
	}
	return text
}

// codes are the refusals of a node.
func codes(d Decision, node string) []Code {
	var out []Code
	for _, v := range d.Verdicts {
		if v.Node == node {
			for _, r := range v.Refusals {
				out = append(out, r.Code)
			}
		}
	}
	return out
}

func selectingAll() *metav1.LabelSelector { return &metav1.LabelSelector{} }
