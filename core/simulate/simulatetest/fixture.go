// Package simulatetest makes members, with their nodes, pods and pools, for tests of decisions about nodes.
package simulatetest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/sim"
	"flotilla/core/simulate"
	"flotilla/core/strict"
)

// Now is the time at which these members are looked at.
var Now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Timed is a budget of a schedule.
func Timed(nodes, schedule, duration string) api.DisruptionBudget {
	return api.DisruptionBudget{Nodes: new(nodes), Schedule: &schedule, Duration: &duration}
}

// At is a moment of the month of Now.
func At(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)
}

// Pool is a pool that is consolidated at once and without limit, on demand unless changed.
func Pool(name string, change ...func(*api.NodePool)) *api.NodePool {
	p := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Disruption = &api.PoolDisruption{ConsolidateAfter: "0s", Budgets: []api.DisruptionBudget{{Nodes: new("100%")}}}
	p.Spec.Template.Spec.ExpireAfter = api.Never
	p.Spec.Template.Spec.Requirements = []api.NodeRequirement{{Key: api.LabelCapacityType, Operator: "In", Values: []string{api.CapacityOnDemand}}}
	for _, c := range change {
		c(p)
	}
	return p
}

// Member is a small member under construction.
type Member struct {
	Nodes   []*api.NodeState
	Pending []api.PodState
	Pdbs    []api.PodBudget
	Daemons []api.DaemonSetState
	Pools   []*api.NodePool
	Options map[string]capacity.PoolOptions
	Catalog *api.InstanceCatalog
	Change  func(*simulate.State)
}

// State is the member as decisions read it.
func (f *Member) State() *simulate.State {
	s := &simulate.State{Cluster: cluster.NewCluster(), Now: Now}
	catalog := f.Catalog
	if catalog == nil {
		catalog = Catalog()
	}
	parsed := capacity.NewCatalog(catalog)
	for _, p := range f.Pools {
		s.Pools = append(s.Pools, capacity.NewPool(p, parsed, f.Options[p.Name]))
	}
	for _, n := range f.Nodes {
		s.Cluster.Set(n)
	}
	s.Cluster.SetInventory(&api.NodeInventory{Pending: f.Pending, Budgets: f.Pdbs, DaemonSets: f.Daemons})
	if f.Change != nil {
		f.Change(s)
	}
	return s
}

// sizes are millicores and GiB of the types of benchCatalog.
var sizes = map[string][2]int64{
	"d2": {2000, 8}, "d4": {4000, 16}, "d8": {8000, 32}, "d16": {16000, 64}, "e4": {4000, 32}, "f2": {2000, 4}, "f4": {4000, 8}, "f8": {8000, 16},
}

// Node is one of a type of Catalog, two hours old and up, in a pool or nobody's.
func Node(name, kind, zone, pool string, pods ...api.PodState) *api.NodeState {
	size := sizes[kind]
	created := metav1.NewTime(Now.Add(-2 * time.Hour))
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

// Pod is one that runs and that a ReplicaSet makes.
func Pod(name string, cpu int64, change ...func(*api.PodState)) api.PodState {
	p := api.PodState{
		Namespace: "default", Name: name, Owner: "ReplicaSet", Phase: "Running", Labels: map[string]string{"app": name},
		Requests: api.Amounts{"cpu": cpu, "memory": 1 << 28},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

// Labelled gives a pod the label of an app.
func Labelled(app string) func(*api.PodState) {
	return func(p *api.PodState) { p.Labels = map[string]string{"app": app} }
}

// Selecting selects the pods of an app.
func Selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// Apart keeps a pod away from those of an app.
func Apart(app, key string) func(*api.PodState) {
	return func(p *api.PodState) {
		p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: Selecting(app), TopologyKey: key}},
		}}
	}
}

// SelectingAll selects all pods.
func SelectingAll() *metav1.LabelSelector { return &metav1.LabelSelector{} }

// Catalog has eleven types with on-demand offerings in three zones.
func Catalog() *api.InstanceCatalog {
	c := &api.InstanceCatalog{Spec: api.InstanceCatalogSpec{Complete: true}}
	for i, shape := range []struct {
		name     string
		cpu, gib int
	}{
		{"d2", 2, 8},
		{"d4", 4, 16},
		{"d8", 8, 32},
		{"d16", 16, 64},
		{"d32", 32, 128},
		{"e2", 2, 16},
		{"e4", 4, 32},
		{"e8", 8, 64},
		{"f2", 2, 4},
		{"f4", 4, 8},
		{"f8", 8, 16},
	} {
		t := api.InstanceType{Name: shape.name, CPU: strict.Amount(fmt.Sprint(shape.cpu)), Memory: strict.Amount(fmt.Sprintf("%dGi", shape.gib))}
		for z, zone := range []string{"z-a", "z-b", "z-c"} {
			price := 0.03*float64(shape.cpu) + 0.004*float64(shape.gib) + float64(z+i)*1e-5
			t.Offerings = append(t.Offerings, api.InstanceOffering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: strict.Price(price)})
		}
		c.Spec.Types = append(c.Spec.Types, t)
	}
	return c
}

// FilledNode is a d4 of ten pods: 25 to 65 % full, or packed to 99 %.
func FilledNode(i int, packed bool) *api.NodeState {
	full := 25 + int64(i*7)%41
	if packed {
		full = 99
	}
	name := fmt.Sprintf("node-%05d", i)
	created := metav1.NewTime(Now.Add(-time.Duration(2+i%100) * time.Hour))
	node := &api.NodeState{
		Name: name, Managed: true, Ready: true, Initialized: true, Created: created, Since: created,
		Labels: map[string]string{
			api.LabelNodePool: "default", corev1.LabelInstanceTypeStable: "d4", corev1.LabelTopologyZone: []string{"z-a", "z-b", "z-c"}[i%3],
			api.LabelCapacityType: api.CapacityOnDemand, corev1.LabelHostname: name,
		},
		Capacity:    api.Amounts{"cpu": 4000, "memory": 16 << 30, "pods": 110},
		Allocatable: api.Amounts{"cpu": 3900, "memory": 16<<30 - 10<<20, "pods": 110},
	}
	for j := range 10 {
		node.Pods = append(node.Pods, api.PodState{
			Namespace: "default", Name: fmt.Sprintf("pod-%05d-%d", i, j), Owner: "ReplicaSet", Phase: "Running",
			Labels: map[string]string{"app": fmt.Sprintf("app-%d", j)}, Requests: api.Amounts{"cpu": 3900 * full / 1000, "memory": (12 << 30) * full / 1000},
		})
	}
	return node
}

// Cheap keeps a pool from replacing a d2 by anything cheaper: what happens, happens on nodes.
func Cheap() *api.NodePool {
	return Pool("a", Requiring(corev1.LabelInstanceTypeStable, "In", "d2"))
}

// SpreadOver spreads a pod over the values of a label.
func SpreadOver(key string, skew int32, minDomains int32) func(*api.PodState) {
	return func(p *api.PodState) {
		p.Labels = map[string]string{"app": "web"}
		c := corev1.TopologySpreadConstraint{MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: Selecting("web")}
		if minDomains > 0 {
			c.MinDomains = &minDomains
		}
		p.Spread = []corev1.TopologySpreadConstraint{c}
	}
}

// Aged is a node of an age.
func Aged(n *api.NodeState, hours int) *api.NodeState {
	n.Created = metav1.NewTime(Now.Add(-time.Duration(hours) * time.Hour))
	return n
}

// FitInput is a member with pods that look for room.
type FitInput struct {
	// Cluster holds the nodes as they are. Its pending pods, daemons and budgets do not count.
	Cluster *cluster.Cluster
	// Order names the nodes that may take pods, the first to be tried first; unknown names are skipped.
	Order []string
	// Pods are tried one after another; one that is placed counts for those after it.
	Pods []api.PodState
}

// Fitted is where one pod goes: a node, or why none takes it.
type Fitted struct {
	Node string
	Why  string
}

// Fit places pods as a member's scheduler does that puts each on the first node which satisfies all
// that simulations honour, soft constraints as long as they can be. Other than a
// simulation it takes every taint of a node at its word, moves no other pod and makes no new node. The
// result has one entry for each pod.
func Fit(in FitInput) []Fitted {
	c := *in.Cluster
	c.Pending, c.Daemons, c.Budgets, c.Placing = nil, nil, nil, true
	for i := range in.Pods {
		c.Pending = append(c.Pending, c.NewPod(&in.Pods[i]))
	}
	x := simulate.NewIndex(&simulate.State{Cluster: &c})
	x.TryInOrder(in.Order)
	byPod := make(map[*cluster.Pod]*simulate.Moving, len(x.Waiting))
	for _, m := range x.Waiting {
		byPod[m.Pod] = m
	}
	r := &simulate.Run{X: x, Out: &simulate.Outcome{}}
	out := make([]Fitted, len(in.Pods))
	for i, p := range c.Pending {
		out[i] = fitOne(r, byPod[p])
	}
	return out
}

func fitOne(r *simulate.Run, m *simulate.Moving) Fitted {
	if m == nil {
		return Fitted{Why: simulate.NoClaim}
	}
	var last *simulate.Variant
	for v := m.Links.Variant; v != nil; v = v.Softer {
		if n := r.FirstFit(m, v); n != nil {
			r.Settle(m, n)
			return Fitted{Node: n.State.Name}
		}
		last = v
	}
	return Fitted{Why: r.Obstacles(r.X.Order, m, last)}
}

// Claim is Karpenter's claim of a node.
func Claim(name, node, machine string, change ...func(*api.NodeClaim)) *api.NodeClaim {
	c := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.NodeClaimStatus{NodeName: node, ProviderID: machine}}
	for _, f := range change {
		f(c)
	}
	return c
}

// Condition gives a claim a condition.
func Condition(kind string, status metav1.ConditionStatus, reason string) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(Now)})
	}
}

// KubeNode is a node as Kubernetes has it.
func KubeNode(name, machine string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.NodeSpec{ProviderID: machine}}
}

// Limited gives a pool a limit.
func Limited(name string, n strict.Amount) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Spec.Limits = map[string]strict.Amount{name: n} }
}

// Requiring gives a pool a requirement.
func Requiring(key, op string, values ...string) func(*api.NodePool) {
	return func(p *api.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, api.NodeRequirement{Key: key, Operator: op, Values: values})
	}
}

// Tainted gives the nodes of a pool a taint.
func Tainted(key string, effect corev1.TaintEffect) func(*api.NodePool) {
	return func(p *api.NodePool) {
		p.Spec.Template.Spec.Taints = append(p.Spec.Template.Spec.Taints, api.NodeTaint{Key: key, Effect: string(effect)})
	}
}

// FixedSize makes a pool static.
func FixedSize(p *api.NodePool) { p.Spec.Replicas = new(int32) }

// PropertySeeds is how many members a property is tried on.
const PropertySeeds = 250

// RandomMember is a member of two pools with everything that decisions read, made from a seed.
func RandomMember(seed uint64) *Member {
	r := sim.NewSource(seed)
	pick := func(list ...string) string { return sim.Pick(r, list...) }
	f := &Member{Options: map[string]capacity.PoolOptions{}}
	for _, name := range []string{"a", "b"} {
		f.Pools = append(f.Pools, Pool(name, func(p *api.NodePool) {
			p.Spec.Disruption.ConsolidationPolicy = pick("", api.WhenEmpty, api.Balanced, api.WhenEmptyOrUnderutilized)
			p.Spec.Disruption.ConsolidateAfter = pick("0s", "0s", "30s", "5m")
			p.Spec.Template.Spec.ExpireAfter = pick(api.Never, api.Never, "5h", "90m")
			p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new(pick("1", "2", "20%", "50%", "100%"))}}
			if r.Below(3) == 0 {
				p.Spec.Disruption.Budgets = append(p.Spec.Disruption.Budgets, api.DisruptionBudget{Nodes: new(pick("0", "1")), Reasons: []string{pick(api.DisruptionReasons...)}})
			}
		}))
	}
	kinds := []string{"d2", "d4", "d8", "f2", "f4", "e4"}
	for i := range 3 + r.Below(10) {
		n := Node(fmt.Sprintf("n%02d", i), kinds[r.Below(len(kinds))], pick("z-a", "z-b", "z-c"), pick("a", "a", "b", ""))
		n.Created = metav1.NewTime(Now.Add(-time.Duration(r.Below(400)) * time.Minute))
		n.Since = n.Created
		n.Ready, n.Initialized, n.Deleting = r.Below(15) > 0, r.Below(15) > 0, r.Below(15) == 0
		if r.Below(4) == 0 {
			n.LastPodEvent = metav1.NewTime(Now.Add(-time.Duration(r.Below(600)) * time.Second))
		}
		if r.Below(8) == 0 {
			n.ProviderDrift = "ImageDrifted"
		}
		free := n.Allocatable["cpu"]
		for j := range r.Below(6) {
			cpu := int64(100 + 100*r.Below(8))
			if free -= cpu; free < 0 {
				break
			}
			n.Pods = append(n.Pods, randomPod(r, fmt.Sprintf("p%02d-%d", i, j), cpu, pick))
		}
		f.Nodes = append(f.Nodes, n)
	}
	if r.Below(3) == 0 {
		f.Pdbs = []api.PodBudget{{Namespace: "default", Name: "x", Selector: Selecting("x"), Allowed: int32(r.Below(3))}}
	}
	if r.Below(3) == 0 {
		f.Pending = []api.PodState{randomPod(r, "pending", 500, pick)}
	}
	return f
}

func randomPod(r *sim.Source, name string, cpu int64, pick func(...string) string) api.PodState {
	app := pick("x", "y", "z")
	p := Pod(name, cpu, Labelled(app))
	switch r.Below(9) {
	case 0:
		Apart(app, pick(corev1.LabelHostname, corev1.LabelTopologyZone))(&p)
	case 1:
		SpreadOver(corev1.LabelTopologyZone, 1, 0)(&p)
		p.Labels = map[string]string{"app": app}
		p.Spread[0].LabelSelector = Selecting(app)
	case 2:
		p.NodeSelector = map[string]string{corev1.LabelTopologyZone: pick("z-a", "z-b")}
	case 3:
		p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	case 4:
		p.Ports = []api.HostPort{{Port: 80}}
	case 5:
		p.Owner = "DaemonSet"
	}
	return p
}

// Guarded gives a pod the annotation that protects it.
func Guarded(value string) func(*api.PodState) {
	return func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: value} }
}

// Ending gives a pod its grace.
func Ending(seconds int64) func(*api.PodState) {
	return func(p *api.PodState) { p.GraceSeconds = &seconds }
}

// Going is a node that has drifted, and is to be empty an hour after its drain begins.
func Going(name, kind string, pods ...api.PodState) *api.NodeState {
	n := Node(name, kind, "z-a", "a", pods...)
	n.ProviderDrift, n.TerminationGracePeriod = "ImageDrifted", "1h"
	return n
}
