package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Whom a plan calls killed is who the drain deletes, and when; budgets stay as they are but for what is taken
// from them.
func TestTheDrainKillsWhomThePlanNames(t *testing.T) {
	killed := 0
	for seed := range uint64(simulatetest.PropertySeeds) {
		n, budgets := randomDrain(seed)
		x := simulate.NewIndex((&simulatetest.Member{Nodes: []*api.NodeState{n}, Pdbs: budgets}).State())
		want := map[string]time.Duration{}
		for _, k := range doomedOn(x, x.Nodes[0]) {
			if !k.withNode {
				want[k.pod.Key] = k.after
			}
		}
		got := drained(x, n)
		for key, after := range want {
			require.Contains(t, got, key, "seed %d: it is not killed", seed)
			require.InDelta(t, after.Seconds(), got[key].Seconds(), 1, "seed %d: %s", seed, key)
		}
		for i := range x.Nodes[0].Pods {
			p := &x.Nodes[0].Pods[i]
			if at, deleted := got[p.Key]; deleted && want[p.Key] == 0 && protectedAt(x, p, at) {
				require.Contains(t, want, p.Key, "seed %d: it is killed after %s, and nobody says so", seed, at)
			}
		}
		killed += len(want)
	}
	require.Greater(t, killed, simulatetest.PropertySeeds/2)
}

// protectedAt reports whether do-not-disrupt or budgets that let nothing go protect a pod at a moment.
func protectedAt(x *simulate.Index, p *cluster.Pod, after time.Duration) bool {
	held, _ := p.Protected(simulatetest.Now.Add(after))
	covering := x.Cover.Of(p)
	return held || len(covering) > 1 || len(covering) == 1 && covering[0].Allowed == 0 && covering[0].Holds(p)
}

// randomDrain is a node that is to be empty in an hour, with pods that are protected in all ways.
func randomDrain(seed uint64) (*api.NodeState, []api.PodBudget) {
	r := rand.New(rand.NewPCG(seed, 7))
	n := simulatetest.Node("n1", "d8", "z-a", "a")
	n.TerminationGracePeriod = "1h"
	for i := range 1 + r.IntN(8) {
		p := simulatetest.Pod(fmt.Sprintf("p%d", i), 100, simulatetest.Labelled([]string{"x", "y", "z"}[r.IntN(3)]))
		p.Started = metav1.NewTime(simulatetest.Now.Add(-time.Duration(r.IntN(60)) * time.Minute))
		switch r.IntN(4) {
		case 0:
			p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: []string{"true", "30m", "2h", "no"}[r.IntN(4)]}
		case 1:
			simulatetest.Ending([]int64{0, 600, 7200}[r.IntN(3)])(&p)
		}
		if r.IntN(6) == 0 {
			p.Owner = "DaemonSet"
		}
		p.NotReady, p.Critical = r.IntN(5) == 0, r.IntN(5) == 0
		n.Pods = append(n.Pods, p)
	}
	var budgets []api.PodBudget
	for i, app := range []string{"x", "y", "y"} {
		if r.IntN(2) == 0 {
			budgets = append(budgets, api.PodBudget{Namespace: "default", Name: fmt.Sprint("b", i), Selector: simulatetest.Selecting(app), Allowed: int32(r.IntN(3)), AlwaysAllow: r.IntN(3) == 0})
		}
	}
	return n, budgets
}

// drained empties a node as an agent does and returns what it deleted, and how long after it began. What is
// evicted is gone at once.
func drained(x *simulate.Index, n *api.NodeState) map[string]time.Duration {
	out := map[string]time.Duration{}
	left := map[*cluster.PodBudget]int{}
	for i := range x.State.Cluster.Budgets {
		b := &x.State.Cluster.Budgets[i]
		left[b] = b.Allowed
	}
	pods := map[string]*cluster.Pod{}
	for i := range x.Nodes[0].Pods {
		pods[x.Nodes[0].Pods[i].Key] = &x.Nodes[0].Pods[i]
	}
	node := *n
	remove := func(key string) {
		node.Pods = slices.DeleteFunc(slices.Clone(node.Pods), func(p api.PodState) bool { return p.Namespace+"/"+p.Name == key })
	}
	for now := simulatetest.Now; ; {
		step := Drain(DrainInput{Node: &node, Began: simulatetest.Now, Deadline: DrainDeadline(&node, simulatetest.Now), Now: now})
		if step.Drained || now.After(simulatetest.Now.Add(2*time.Hour)) {
			return out
		}
		before := len(node.Pods)
		for _, key := range step.Evict {
			if evicted(x.Cover.Of(pods[key]), pods[key], left) {
				remove(key)
			}
		}
		for _, one := range step.Delete {
			out[one.Pod] = now.Sub(simulatetest.Now)
			remove(one.Pod)
		}
		if now = now.Add(time.Second); len(node.Pods) == before && step.Recheck.After(now) {
			now = step.Recheck
		}
	}
}

// evicted is the eviction API.
func evicted(covering []*cluster.PodBudget, p *cluster.Pod, left map[*cluster.PodBudget]int) bool {
	switch {
	case len(covering) == 0:
		return true
	case len(covering) > 1:
		return false
	case !covering[0].Holds(p):
		return true
	case left[covering[0]] <= 0:
		return false
	}
	left[covering[0]]--
	return true
}
