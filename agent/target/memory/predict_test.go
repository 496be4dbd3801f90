package memory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/podspec"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/strict"
)

// Random members with pods of all sizes and demands. What core/disruption decides for them is carried out
// here as an agent would, and every pod must land where the decision said. Pods that waited before are in
// nobody's order: they take room as soon as there is some.
func TestPodsGoWhereDisruptionsPromise(t *testing.T) {
	moves, launched := 0, 0
	for seed := range uint64(60) {
		p := newPromise(t, seed)
		for round := range 12 {
			d := disruption.Decide(p.state(t))
			if len(d.Commands) == 0 || strings.Contains(where(t, p.m), "?") {
				break
			}
			moved, made := p.carryOut(t, &d.Commands[0], fmt.Sprintf("seed %d round %d: %s", seed, round, d.Commands[0]))
			moves, launched = moves+moved, launched+made
		}
	}
	require.Greater(t, moves, 200, "a test of nothing")
	require.Greater(t, launched, 20, "a test of nothing")
}

type promise struct {
	m     *Member
	clock *manualClock
	pools []*capacity.Pool
	count int
}

func boughtFrom() *capacity.Catalog {
	c := &api.InstanceCatalog{}
	for name, cpu := range map[string]int{"d2": 2, "d4": 4, "d8": 8} {
		kind := api.InstanceType{Name: name, CPU: strict.Amount(fmt.Sprint(cpu)), Memory: strict.Amount(fmt.Sprintf("%dGi", 4*cpu))}
		for i, zone := range []string{"z1", "z2"} {
			kind.Offerings = append(kind.Offerings, api.InstanceOffering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: strict.Price(float64(cpu)*0.05 + float64(i)*0.001)})
		}
		c.Spec.Types = append(c.Spec.Types, kind)
	}
	return capacity.NewCatalog(c)
}

// newPromise makes a member whose pods were placed with more around them than is left.
func newPromise(t *testing.T, seed uint64) *promise {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general"}}
	pool.Spec.Disruption = &api.PoolDisruption{ConsolidateAfter: "0s", Budgets: []api.DisruptionBudget{{Nodes: new("100%")}}}
	pool.Spec.Template.Spec.ExpireAfter = api.Never
	p := &promise{pools: []*capacity.Pool{capacity.NewPool(pool, boughtFrom(), capacity.PoolOptions{})}}
	var given []target.Node
	for i := range 3 + r.IntN(6) {
		cpu := []int{2, 4, 8}[r.IntN(3)]
		given = append(given, target.Node{
			Name: fmt.Sprintf("n%d", i), Zone: []string{"z1", "z2"}[r.IntN(2)], InstanceType: fmt.Sprintf("d%d", cpu), CapacityType: api.CapacityOnDemand, Template: target.Template{NodePool: "general"},
			Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(fmt.Sprint(cpu)), corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dGi", 4*cpu))},
		})
	}
	p.m, p.clock = world(t, Options{Nodes: given, ScheduleAfter: time.Second})
	create(t, p.m, app("DaemonSet", "log", 1, "100m", "tolerations: [{operator: Exists}], "))
	asks := []string{
		"", "", "", "nodeSelector: {topology.kubernetes.io/zone: z1}, ",
		"topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: NAME}}, topologyKey: topology.kubernetes.io/zone}], ",
		"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: NAME}}, topologyKey: kubernetes.io/hostname}]}}, ",
		"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z2]}]}}]}}, ",
	}
	for i := range 14 {
		name := fmt.Sprintf("s%02d", r.IntN(90)+i*100)
		p.clock.Advance(time.Duration(r.IntN(2)) * time.Second)
		create(t, p.m, app("StatefulSet", name, 1+r.IntN(3), fmt.Sprintf("%dm", 100*(1+r.IntN(15))), strings.ReplaceAll(asks[r.IntN(len(asks))], "NAME", name)))
		if i%3 > 0 {
			p.m.Remove(api.ObjectRef{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: name})
		}
	}
	return p
}

// state is the member as the hub would see it.
func (p *promise) state(t *testing.T) *simulate.State {
	t.Helper()
	s := survey(t, p.m)
	on, inventory := map[string][]*corev1.Pod{}, &api.NodeInventory{}
	for _, pod := range s.Pods {
		if cluster.Provisionable(pod) {
			inventory.Pending = append(inventory.Pending, cluster.ObservePod(pod, nil))
		}
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	for _, d := range s.DaemonSets {
		inventory.DaemonSets = append(inventory.DaemonSets, api.DaemonSetState{
			Namespace: d.Namespace, Name: d.Name,
			Pod: cluster.ObservePod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: d.Spec.Template.Spec}, nil),
		})
	}
	out := &simulate.State{Cluster: cluster.NewCluster(), Pools: p.pools, Now: p.clock.Now()}
	for _, n := range s.Nodes {
		seen := cluster.ObserveNode(n, on[n.Name], nil, nil)
		out.Cluster.Set(&seen)
	}
	out.Cluster.SetInventory(inventory)
	return out
}

// carryOut does what an agent does, and compares.
func (p *promise) carryOut(t *testing.T, c *disruption.Command, what string) (moves, launched int) {
	t.Helper()
	p.count++
	d := orchestration.Begin(c, fmt.Sprintf("a%d", p.count), p.clock.Now(), len(c.Nodes))
	for _, name := range d.Nodes {
		cordon(t, p.m, name)
	}
	for i := range d.Replacements {
		p.launch(t, &d.Replacements[i])
	}
	for _, pod := range survey(t, p.m).Pods {
		for _, name := range d.Nodes {
			if pod.Spec.NodeName == name && pod.OwnerReferences[0].Kind != podspec.KindDaemonSet {
				require.NoError(t, p.m.Evict(t.Context(), refOf(pod)))
			}
		}
	}
	p.clock.Advance(30 * time.Second)
	p.clock.Advance(time.Second)
	for _, name := range d.Nodes {
		require.True(t, p.m.TerminateMachine(name, 0))
		require.NoError(t, p.m.DeleteNode(t.Context(), name, ""))
	}
	at := map[string]string{}
	for _, pod := range survey(t, p.m).Pods {
		at[pod.Namespace+"/"+pod.Name] = pod.Spec.NodeName
	}
	for _, m := range d.Moves {
		if m.To == "new-0" {
			m.To = d.Replacements[0].Name
		}
		require.Equal(t, m.To, at[m.Pod], "%s in %s", m.Pod, what)
	}
	return len(d.Moves), len(d.Replacements)
}

func (p *promise) launch(t *testing.T, r *api.NodeReplacement) {
	t.Helper()
	kind := &r.Types[0]
	list := func(a api.Amounts) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(a["cpu"], resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(a["memory"], resource.BinarySI),
		}
	}
	_, err := p.m.LaunchNode(Launch{
		Name: r.Name, NodePool: r.Pool, InstanceType: kind.Name, Zone: kind.Offerings[0].Zone, CapacityType: kind.Offerings[0].CapacityType,
		Capacity: list(kind.Capacity), Allocatable: list(kind.Allocatable), Labels: kind.Labels,
	})
	require.NoError(t, err)
	require.NoError(t, p.m.UpdateNode(t.Context(), r.Name, func(n *corev1.Node) {
		n.Spec.Taints, n.Labels[api.LabelRegistered], n.Labels[api.LabelInitialized] = nil, "true", "true"
	}))
}
