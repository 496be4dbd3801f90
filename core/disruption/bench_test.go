package disruption

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// benchState is a member of n nodes of type d4 with ten pods each, in one pool: slack nodes are 25 to
// 65 % full, packed ones 99 %.
func benchState(n int, packed bool) *simulate.State {
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption = &api.PoolDisruption{ConsolidateAfter: "0s", Budgets: []api.DisruptionBudget{{Nodes: new("100%")}}}
	pool.Spec.Template.Spec.Requirements = []api.NodeRequirement{{Key: api.LabelCapacityType, Operator: "In", Values: []string{api.CapacityOnDemand}}}
	s := &simulate.State{Cluster: cluster.NewCluster(), Now: simulatetest.Now}
	s.Pools = []*capacity.Pool{capacity.NewPool(pool, capacity.NewCatalog(simulatetest.Catalog()), capacity.PoolOptions{})}
	for i := range n {
		s.Cluster.Set(simulatetest.FilledNode(i, packed))
	}
	return s
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
		nodes[i] = simulatetest.FilledNode(i, false)
	}
	c := cluster.NewCluster()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Set(nodes[i%len(nodes)])
		i++
	}
}
