package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Deciding twice gives the same, and so does a member whose parts come in another order.
func TestDecidingTwiceChangesNothing(t *testing.T) {
	for seed := range uint64(simulatetest.PropertySeeds) {
		f := simulatetest.RandomMember(seed)
		s := f.State()
		first := Decide(s)
		require.Equal(t, first, Decide(s), "seed %d", seed)
		shuffled := *f
		shuffled.Nodes, shuffled.Pools = slices.Clone(f.Nodes), slices.Clone(f.Pools)
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(shuffled.Nodes), func(i, j int) {
			shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i]
		})
		slices.Reverse(shuffled.Pools)
		require.Equal(t, first, Decide(shuffled.State()), "seed %d, shuffled", seed)
	}
}

// A simulation leaves no trace in the index: each that comes later finds what one of a fresh index finds.
func TestUndo(t *testing.T) {
	for seed := range uint64(simulatetest.PropertySeeds) {
		s := simulatetest.RandomMember(seed).State()
		x, quiet := simulate.NewIndex(s), seed%2 == 0
		for i, n := range x.Nodes {
			if n.Deleting {
				continue
			}
			fresh := simulate.NewIndex(s)
			require.Equal(t, result(fresh.Simulate(fresh.Nodes[i:i+1], quiet)), result(x.Simulate(x.Nodes[i:i+1], quiet)), "seed %d node %s", seed, n.State.Name)
			require.Equal(t, fresh.Nodes[i].Free, n.Free)
		}
	}
}

// result is an outcome in words.
func result(out *simulate.Outcome) []string {
	var lines []string
	for i := range out.Moves {
		lines = append(lines, out.Moves[i].Pod.Key+" to "+out.Moves[i].To())
	}
	for _, c := range out.Claims {
		lines = append(lines, fmt.Sprintf("%s of %s, %d types", c.Hostname, c.Pool.Name, len(c.Types)))
	}
	return append(lines, simulate.Failures(out.Failed), simulate.Failures(out.Homeless))
}

// No move that does not pay: what consolidation does saves money, with at most one new node.
func TestConsolidationPays(t *testing.T) {
	moved := 0
	for seed := range uint64(simulatetest.PropertySeeds) {
		for _, c := range Decide(simulatetest.RandomMember(seed).State()).Commands {
			if c.Method == MethodEmpty || c.Method == MethodMulti || c.Method == MethodSingle {
				require.Positive(t, c.Savings.Amount, "seed %d: %s", seed, c)
				require.LessOrEqual(t, len(c.Replacements), 1)
				moved++
			}
		}
	}
	require.Greater(t, moved, simulatetest.PropertySeeds/4)
}

// No pod of a node that goes is without a place, no place takes more than it has, and no pod is put
// where its own or another's anti-affinity, its selector, or a port forbids it.
func TestEveryPodHasAPlace(t *testing.T) {
	checked := 0
	for seed := range uint64(simulatetest.PropertySeeds) {
		f := simulatetest.RandomMember(seed)
		s := f.State()
		x := simulate.NewIndex(s)
		for _, c := range Decide(s).Commands {
			if c.Method == MethodEmpty || c.Forceful {
				continue
			}
			places := map[string]string{}
			for _, m := range c.Moves {
				places[m.Pod] = m.To
			}
			for _, name := range c.Nodes {
				for _, m := range x.ByName[name].Movable {
					require.NotEmpty(t, places[m.Key], "seed %d: %s\n%s", seed, m.Key, c)
					checked++
				}
			}
			requireRoom(t, seed, x, &c, places)
		}
	}
	require.Greater(t, checked, simulatetest.PropertySeeds/2)
}

// requireRoom recounts every target from scratch.
func requireRoom(t *testing.T, seed uint64, x *simulate.Index, c *Command, places map[string]string) {
	t.Helper()
	pods := map[string]*cluster.Pod{}
	on := map[string][]*cluster.Pod{}
	for _, n := range x.Nodes {
		for i := range n.Pods {
			p := &n.Pods[i]
			pods[p.Key] = p
			if places[p.Key] == "" && !slices.Contains(c.Nodes, n.State.Name) {
				on[n.State.Name] = append(on[n.State.Name], p)
			}
		}
	}
	for _, m := range x.Waiting {
		pods[m.Key] = m.Pod
	}
	for key, to := range places {
		if n := x.ByName[to]; n != nil {
			require.NotContains(t, c.Nodes, to)
			require.False(t, n.Deleting)
			on[to] = append(on[to], pods[key])
		}
	}
	for name, list := range on {
		n := x.ByName[name]
		cpu := int64(0)
		ports := map[int32]bool{}
		for _, p := range list {
			cpu += p.Requests.Base[cluster.CPUIndex]
			if places[p.Key] != name {
				continue
			}
			require.True(t, capacity.NeedsOfLabels(p.State.NodeSelector).Admits(n.Labels, n.Hostname), "seed %d: %s on %s", seed, p.Key, name)
			for _, q := range list {
				require.False(t, p != q && (minds(p, q) || minds(q, p)), "seed %d: %s beside %s on %s", seed, p.Key, q.Key, name)
			}
			for _, port := range p.State.Ports {
				require.False(t, ports[port.Port], "seed %d: port twice on %s", seed, name)
				ports[port.Port] = true
			}
		}
		if len(list) > 0 && slices.ContainsFunc(list, func(p *cluster.Pod) bool { return places[p.Key] == name }) {
			require.LessOrEqual(t, cpu, n.State.Allocatable["cpu"], "seed %d: %s is overfull", seed, name)
		}
	}
}

// minds reports whether p does not want q on its node.
func minds(p, q *cluster.Pod) bool {
	a := p.State.Affinity
	if a == nil || a.PodAntiAffinity == nil || !p.Active || !q.Active {
		return false
	}
	return slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		return t.LabelSelector.MatchLabels["app"] == q.State.Labels["app"]
	})
}
