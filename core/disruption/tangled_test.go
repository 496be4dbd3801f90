package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// apart gives a pod terms that keep others away, each from pods of other labels.
func apart(terms int, of string) func(*api.PodState) {
	return func(p *api.PodState) {
		a := &corev1.PodAntiAffinity{}
		for i := range terms {
			a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a", "b", of}}, {Key: fmt.Sprint("l", i), Operator: metav1.LabelSelectorOpExists},
				}},
			})
		}
		p.Affinity = &corev1.Affinity{PodAntiAffinity: a}
	}
}

// named gives a pod terms that keep away pods of one name each, which most pods are not asked about.
func named(terms int, of string) func(*api.PodState) {
	return func(p *api.PodState) {
		apart(terms, of)(p)
		for i := range p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": fmt.Sprint(of, i)}}
		}
	}
}

// A pod with more terms than are followed keeps its node from being emptied and consolidated, and no pod is put beside it.
func TestATangledPodStays(t *testing.T) {
	slack := func(terms int) *simulate.State {
		fix := simulatetest.Member{
			Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100, apart(terms, "c"))), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("q", 100))},
			Pools: []*api.NodePool{simulatetest.Pool("a")},
		}
		return fix.State()
	}
	require.NotEmpty(t, Decide(slack(cluster.MaxTerms)).Commands, "the two fit on one node")
	d := Decide(slack(cluster.MaxTerms + 1))
	require.Contains(t, codes(d, "n1"), CodeTangled)
	refusal := d.Verdicts[0].Refusals[0]
	require.Equal(t, "default/p", refusal.About)
	require.Equal(t, "pod default/p has more than 50 terms of affinity and spread, or names more than 1000 values in them: where it could go is not followed", refusal.Message)
	require.Equal(t, "DisruptionBlocked", refusal.Event())
	for _, c := range d.Commands {
		require.Equal(t, []string{"n2"}, c.Nodes)
		for _, m := range c.Moves {
			require.NotEqual(t, "n1", m.To)
		}
	}
	s := slack(cluster.MaxTerms + 1)
	require.Empty(t, simulate.NewIndex(s).ByName["n1"].Movable)
	waits := simulatetest.Pod("w", 100, apart(cluster.MaxTerms+1, "c"))
	s.Cluster.Pending = append(s.Cluster.Pending, s.Cluster.NewPod(&waits))
	require.Empty(t, simulate.NewIndex(s).Waiting, "nobody knows where it fits")
}

// A pod with too many terms holds drift and expiry as a protected pod does: not where the node has a terminationGracePeriod, and not
// where it expires by force.
func TestATangledPodHoldsNoNodeForGood(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		change func(*api.NodeState)
		pool   func(*api.NodePool)
		forced bool
	}{
		"drift":  {method: MethodDrift, change: func(n *api.NodeState) { n.ProviderDrift = "ImageVersionDrift" }},
		"static": {method: MethodStaticDrift, change: func(n *api.NodeState) { n.ProviderDrift = "ImageVersionDrift" }, pool: func(p *api.NodePool) { p.Spec.Replicas = new(int32(1)) }},
		"expiry": {method: MethodExpired, change: func(n *api.NodeState) { n.ExpireAfter = "1h" }},
		"forceful expiry": {method: MethodExpired, change: func(n *api.NodeState) { n.ExpireAfter = "1h" }, forced: true, pool: func(p *api.NodePool) {
			p.Annotations = map[string]string{api.AnnotationExpiration: api.ExpirationForceful}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, period := range []string{"", "1h"} {
				pool := simulatetest.Pool("a")
				if c.pool != nil {
					c.pool(pool)
				}
				tangled, other := simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100, apart(cluster.MaxTerms+1, "c"))), simulatetest.Node("n2", "d4", "z-a", "")
				tangled.TerminationGracePeriod = period
				c.change(tangled)
				fix := simulatetest.Member{Nodes: []*api.NodeState{tangled, other}, Pools: []*api.NodePool{pool}}
				d := Decide(fix.State())
				if period == "" && !c.forced {
					require.Empty(t, d.Commands)
					require.Contains(t, codes(d, "n1"), CodeTangled)
					continue
				}
				require.Len(t, d.Commands, 1)
				require.Equal(t, []string{"n1"}, d.Commands[0].Nodes)
				require.Equal(t, c.method, d.Commands[0].Method)
			}
		})
	}
}

// What a pod with too many terms demands beside required anti-affinity keeps no pod away, and one that belongs to its node needs no
// other place: it keeps its node from nothing.
func TestWhatATangledPodKeepsAway(t *testing.T) {
	wishes := func(p *api.PodState) {
		a := &corev1.NodeAffinity{}
		for range cluster.MaxTerms + 1 {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{Weight: 1})
		}
		p.Affinity = &corev1.Affinity{NodeAffinity: a}
	}
	both := func(p *api.PodState) {
		simulatetest.Apart("nobody", corev1.LabelHostname)(p)
		away := p.Affinity.PodAntiAffinity
		wishes(p)
		p.Affinity.PodAntiAffinity = away
	}
	ended := func(p *api.PodState) { apart(cluster.MaxTerms+1, "c")(p); p.Phase = "Succeeded" }
	for name, c := range map[string]struct {
		owner       string
		demand      func(*api.PodState)
		stays, shut bool
	}{
		"apart":               {"ReplicaSet", apart(cluster.MaxTerms+1, "c"), true, true},
		"apart once":          {"ReplicaSet", both, true, true},
		"wishes":              {"ReplicaSet", wishes, true, false},
		"ended":               {"ReplicaSet", ended, false, false},
		"a daemon, apart":     {"DaemonSet", apart(cluster.MaxTerms+1, "c"), false, true},
		"a daemon, wishes":    {"DaemonSet", wishes, false, false},
		"a mirror pod, apart": {"Node", both, false, true},
		"a mirror pod":        {"Node", wishes, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			odd := simulatetest.Pod("odd", 100, c.demand, func(p *api.PodState) { p.Owner = c.owner })
			fix := simulatetest.Member{
				Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100), odd), simulatetest.Node("n2", "d4", "z-a", "")},
				Pools: []*api.NodePool{simulatetest.Pool("a")},
			}
			s := fix.State()
			x := simulate.NewIndex(s)
			require.Equal(t, !c.shut, slices.Contains(x.Order, x.ByName["n1"]), "pods are put beside it")
			d := Decide(s)
			if c.stays {
				require.Empty(t, d.Commands)
				require.Contains(t, codes(d, "n1"), CodeTangled)
				return
			}
			require.Len(t, d.Commands, 1)
			require.Equal(t, []string{"n1"}, d.Commands[0].Nodes)
		})
	}
}

// A pod that is killed although it has too many terms is not said to go anywhere, and not to lack a volume.
func TestWhereATangledPodGoesIsNotSaid(t *testing.T) {
	odd := simulatetest.Pod("odd", 100, apart(cluster.MaxTerms+1, "c"), func(p *api.PodState) {
		p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	})
	n := simulatetest.Node("n1", "d4", "z-a", "a", odd)
	n.TerminationGracePeriod, n.ProviderDrift = "1h", "ImageVersionDrift"
	fix := simulatetest.Member{Nodes: []*api.NodeState{n, simulatetest.Node("n2", "d4", "z-a", "")}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	d := Decide(fix.State())
	require.Len(t, d.Commands, 1)
	require.Len(t, d.Commands[0].Killed, 1)
	require.Empty(t, d.Commands[0].Killed[0].To)
	require.Equal(t, "it has more terms of affinity and spread than are followed", d.Commands[0].Killed[0].Nowhere)
}

// A workload in each of thousands of namespaces that keeps its own pods apart, by a label that all of them bear, makes no member tangled.
func TestNamespacesThatShareALabelAreDecided(t *testing.T) {
	const spaces, nodes = 3000, 120
	primary := map[string]string{"app.kubernetes.io/component": "primary"}
	apart := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: primary}}
	wished := apart
	wished.TopologyKey = corev1.LabelTopologyZone
	affinity := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{apart},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: wished}},
	}}
	s := benchState(nodes, true)
	for i, name := range s.Cluster.Names() {
		state := *s.Cluster.Nodes[name].State
		state.Pods = nil
		for k := i; k < 2*spaces; k += nodes {
			state.Pods = append(state.Pods, simulatetest.Pod(fmt.Sprint("p", k), 78, func(p *api.PodState) {
				p.Namespace, p.Labels, p.Affinity = fmt.Sprint("s", k/2), primary, affinity
			}))
		}
		s.Cluster.Set(&state)
	}
	require.Empty(t, simulate.NewIndex(s).Tangled())
	d := Decide(s)
	require.Empty(t, d.Stale)
	for _, v := range d.Verdicts {
		require.NotContains(t, codes(d, v.Node), CodeTangled)
	}
}

// A member whose pods demand more of each other than is followed is left alone, and says why; pods of one workload, which demand the
// same, do not make it so.
func TestATangledMemberIsLeftAlone(t *testing.T) {
	filled := func(nodes, terms, workloads int, demand func(int, string) func(*api.PodState)) *simulate.State {
		s := benchState(nodes, true)
		k := 0
		for _, name := range s.Cluster.Names() {
			state := *s.Cluster.Nodes[name].State
			state.Pods = slices.Clone(state.Pods)
			for i := range state.Pods {
				p := &state.Pods[i]
				p.Labels = map[string]string{"app": fmt.Sprint("w", k%workloads)}
				demand(terms, fmt.Sprint("w", k%workloads))(p)
				k++
			}
			s.Cluster.Set(&state)
		}
		return s
	}
	const why = "the pods of the member keep each other near or away in more ways than are followed"
	for _, c := range []struct {
		nodes, terms, workloads int
		demand                  func(int, string) func(*api.PodState)
		want                    string
	}{
		{20, 10, 1000, apart, ""},
		{160, 2, 100, apart, ""},
		{160, 50, 10, apart, ""},
		{160, 10, 1600, named, ""},
		{160, 5, 1600, apart, why},
		{160, 50, 1600, apart, why},
		{160, 50, 1600, named, why},
	} {
		s := filled(c.nodes, c.terms, c.workloads, c.demand)
		d := Decide(s)
		require.Equal(t, c.want, d.Stale, "%d nodes, %d terms of %d workloads", c.nodes, c.terms, c.workloads)
		if c.want == "" {
			require.NotContains(t, codes(d, s.Cluster.Names()[0]), CodeTangled)
			continue
		}
		require.Empty(t, d.Commands)
		require.Equal(t, []Refusal{{Code: CodeTangled, Message: why}}, d.Verdicts[0].Refusals)
		_, lost, ok := Validate(Command{Method: MethodSingle, Nodes: s.Cluster.Names()[:1]}, s)
		require.False(t, ok)
		require.Equal(t, why, lost)
		require.Empty(t, NodeAlone(s, s.Cluster.Names()[0]).Removal)
	}
}

// A member that names more resources than are told apart is left alone, and says why.
func TestAMemberOfTooManyResourcesIsLeftAlone(t *testing.T) {
	s := benchState(20, true)
	first := s.Cluster.Names()[0]
	state := *s.Cluster.Nodes[first].State
	state.Pods = slices.Clone(state.Pods)
	state.Pods[0].Requests = api.Amounts{}
	for i := range 2 * cluster.MostResources {
		state.Pods[0].Requests[fmt.Sprint("example.com/", i)] = 1
	}
	s.Cluster.Set(&state)
	d := Decide(s)
	require.Empty(t, d.Commands)
	require.Equal(t, "the nodes and pods of the member name more than 256 resources, which are not told apart", d.Stale)
	_, lost, ok := Validate(Command{Method: MethodSingle, Nodes: []string{first}}, s)
	require.False(t, ok)
	require.Equal(t, d.Stale, lost)
}

// The domains of a label that each node has for itself are not given to thousands of terms: nothing is decided.
func TestAMemberOfTooManyDomainsIsLeftAlone(t *testing.T) {
	waiting := func(nodes, pods int) *simulate.State {
		f := &simulatetest.Member{Pools: []*api.NodePool{simulatetest.Pool("p")}}
		for i := range nodes {
			f.Nodes = append(f.Nodes, &api.NodeState{Name: fmt.Sprint("n", i), Labels: map[string]string{"rack": fmt.Sprint(i)}})
		}
		for p := range pods {
			near := &corev1.PodAffinity{}
			for k := range 40 {
				near.RequiredDuringSchedulingIgnoredDuringExecution = append(near.RequiredDuringSchedulingIgnoredDuringExecution,
					corev1.PodAffinityTerm{TopologyKey: "rack", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": fmt.Sprint(1000*p + k)}}})
			}
			f.Pending = append(f.Pending, api.PodState{Namespace: "a", Name: fmt.Sprint(p), Affinity: &corev1.Affinity{PodAffinity: near}})
		}
		return f.State()
	}
	require.Empty(t, simulate.NewIndex(waiting(100, 100)).Tangled())
	require.NotEmpty(t, simulate.NewIndex(waiting(1000, 100)).Tangled())
}
