package disruption

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/strict"
)

var benchNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// benchCatalog has eleven types with on-demand offerings in three zones.
func benchCatalog() *api.InstanceCatalog {
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

// benchState is a member of n nodes of type d4 with ten pods each, in one pool: slack nodes are 25 to
// 65 % full, packed ones 99 %.
func benchState(n int, packed bool) *simulate.State {
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption = &api.PoolDisruption{ConsolidateAfter: "0s", Budgets: []api.DisruptionBudget{{Nodes: new("100%")}}}
	pool.Spec.Template.Spec.Requirements = []api.NodeRequirement{{Key: api.LabelCapacityType, Operator: "In", Values: []string{api.CapacityOnDemand}}}
	s := &simulate.State{Cluster: cluster.NewCluster(), Now: benchNow}
	s.Pools = []*capacity.Pool{capacity.NewPool(pool, capacity.NewCatalog(benchCatalog()), capacity.PoolOptions{})}
	for i := range n {
		s.Cluster.Set(benchNode(i, packed))
	}
	return s
}

func benchNode(i int, packed bool) *api.NodeState {
	full := 25 + int64(i*7)%41
	if packed {
		full = 99
	}
	name := fmt.Sprintf("node-%05d", i)
	created := metav1.NewTime(benchNow.Add(-time.Duration(2+i%100) * time.Hour))
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

// BenchmarkDisruption measures what a pass is made of. Single/packed is a whole fruitless pass.
func BenchmarkDisruption(b *testing.B) {
	sizes := []int{100, 500, 2000}
	run := func(name string, f func(b *testing.B, s *simulate.State)) {
		b.Run(name, func(b *testing.B) {
			for _, fill := range []string{"slack", "packed"} {
				for _, n := range sizes {
					b.Run(fmt.Sprintf("%s/%d", fill, n), func(b *testing.B) {
						s := benchState(n, fill == "packed")
						b.ReportAllocs()
						b.ResetTimer()
						f(b, s)
					})
				}
			}
		})
	}
	run("Candidates", func(b *testing.B, s *simulate.State) {
		for b.Loop() {
			d := begin(s)
			if cs := d.candidates(MethodSingle, func(c *candidate) Refusal { return isConsolidationCandidate(d, c) }); len(cs) != s.Cluster.Len() {
				b.Fatalf("%d candidates", len(cs))
			}
		}
	})
	run("Simulate", func(b *testing.B, s *simulate.State) {
		x := simulate.NewIndex(s)
		i := 0
		for b.Loop() {
			if out := x.Simulate([]*simulate.ExistingNode{x.Nodes[i%len(x.Nodes)]}, true); len(out.Failed) > 0 {
				b.Fatal(out.Failed)
			}
			i++
		}
	})
	run("Multi", func(b *testing.B, s *simulate.State) {
		for b.Loop() {
			d := begin(s)
			d.multi(api.ReasonUnderutilized)
		}
	})
	run("Single", func(b *testing.B, s *simulate.State) {
		evaluated := 0
		for b.Loop() {
			d := begin(s)
			d.single(api.ReasonUnderutilized)
			evaluated = d.out.Evaluated
		}
		b.ReportMetric(float64(evaluated), "nodes/pass")
	})
}

// BenchmarkFold measures taking in the events of nodes with ten pods each, decoded.
func BenchmarkFold(b *testing.B) {
	nodes := make([]*api.NodeState, 1000)
	for i := range nodes {
		nodes[i] = benchNode(i, false)
	}
	c := cluster.NewCluster()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Set(nodes[i%len(nodes)])
		i++
	}
}
