package simulate

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// constrained is a pod with something of all that variants and groups are made from.
func constrained() *api.PodState {
	term := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, TopologyKey: corev1.LabelHostname,
		MatchLabelKeys: []string{"version"}, MismatchLabelKeys: []string{"tenant"},
	}
	return &api.PodState{
		Namespace: "shop", Name: "web-1", Owner: "ReplicaSet", Phase: "Running",
		Labels:       map[string]string{"app": "web", "version": "1", "tenant": "a", "hash": "x"},
		NodeSelector: map[string]string{"disk": "ssd", "zone": "a"},
		Tolerations:  []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		Spread:       []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, MatchLabelKeys: []string{"hash"}}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone", MatchLabelKeys: []string{"track"}}}},
		}},
		Volumes: []api.PodVolume{{Name: "data", Terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "In", Values: []string{"a"}}}}}}},
	}
}

// Pods share what was made for one of them only where nothing that it was made from differs.
func TestPodsOfOneShape(t *testing.T) {
	c := cluster.NewCluster()
	key := func(change func(*api.PodState)) string {
		s := constrained()
		change(s)
		return string(appendShape(nil, s.Namespace, c.NewPod(s)))
	}
	same := key(func(*api.PodState) {})
	for name, change := range map[string]func(*api.PodState){
		"name, size and labels that nothing reads": func(p *api.PodState) {
			p.Name, p.Requests, p.Labels["app"], p.Labels["more"] = "web-2", api.Amounts{"cpu": 1}, "other", "1"
		},
		"ports": func(p *api.PodState) { p.Ports = []api.HostPort{{Port: 80}} },
	} {
		require.Equal(t, same, key(change), name)
	}
	seen := map[string]string{same: "as it was"}
	for name, change := range map[string]func(*api.PodState){
		"namespace":                   func(p *api.PodState) { p.Namespace = "other" },
		"node selector":               func(p *api.PodState) { p.NodeSelector["disk"] = "hdd" },
		"node selector, one less":     func(p *api.PodState) { delete(p.NodeSelector, "zone") },
		"toleration":                  func(p *api.PodState) { p.Tolerations[0].Key = "spot" },
		"no toleration":               func(p *api.PodState) { p.Tolerations = nil },
		"skew":                        func(p *api.PodState) { p.Spread[0].MaxSkew = 2 },
		"value that the spread reads": func(p *api.PodState) { p.Labels["hash"] = "y" },
		"no value for the spread":     func(p *api.PodState) { delete(p.Labels, "hash") },
		"an empty value of it":        func(p *api.PodState) { p.Labels["hash"] = "" },
		"value that a term matches":   func(p *api.PodState) { p.Labels["version"] = "2" },
		"value that a term does not":  func(p *api.PodState) { p.Labels["tenant"] = "b" },
		"value that a wish matches":   func(p *api.PodState) { p.Labels["track"] = "beta" },
		"nothing kept apart":          func(p *api.PodState) { p.Affinity = nil },
		"near in place of apart":      func(p *api.PodState) { p.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}} },
		"a selector of everything": func(p *api.PodState) {
			p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = &metav1.LabelSelector{}
		},
		"a selector of nothing": func(p *api.PodState) {
			p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = nil
		},
		"the zone of a volume": func(p *api.PodState) { p.Volumes[0].Terms[0].MatchExpressions[0].Values[0] = "b" },
		"no terms of it":       func(p *api.PodState) { p.Volumes[0].Terms = nil },
	} {
		k := key(change)
		require.Empty(t, seen[k], "%s is as %s", name, seen[k])
		seen[k] = name
	}
}

// Of labels only those count that some selector reads, whether there are more of them or more of the pod's.
func TestLabelsThatSelectorsRead(t *testing.T) {
	few, many := []string{"app"}, []string{"app", "b", "c", "d", "tier"}
	read := func(keys []string, labels map[string]string) string { return string(appendRead(nil, labels, keys)) }
	for _, keys := range [][]string{few, many} {
		web := read(keys, map[string]string{"app": "web", "pod": "1"})
		require.Equal(t, web, read(keys, map[string]string{"app": "web", "pod": "2"}))
		require.NotEqual(t, web, read(keys, map[string]string{"app": "db", "pod": "1"}))
		require.NotEqual(t, web, read(keys, map[string]string{"pod": "1", "version": "2"}))
	}
	require.NotEqual(t, read(many, map[string]string{"app": "x"}), read(many, map[string]string{"tier": "x"}))
}

// A domain that no pool and no node speaks for any more, and that pods are still in, is one as well.
func TestDomainsAreThoseOfNodesAndThoseThatPodsAreIn(t *testing.T) {
	g := &group{
		kind: spreadGroup, key: "zone", maxSkew: 1, selector: labels.Everything(), work: newWork(nil),
		known: map[string]int{"a": 2, "b": 1, "gone": 0}, counts: map[string]int{"b": 1, "left-1": 2, "left-2": 3, "left-3": 1, "empty": 0},
	}
	for range 20 { // whatever the order in which a map is gone through
		require.Equal(t, "unsatisfiable topology constraint for topology spread, key=zone (counts = a: 0, b: 1, left-1: 2, left-2: 3, left-3: 1)", g.refusal())
	}
	require.Equal(t, map[string]bool{"a": true, "left-3": true, "gone": false, "empty": false}, map[string]bool{
		"a": g.has("a"), "left-3": g.has("left-3"), "gone": g.has("gone"), "empty": g.has("empty"),
	})
	in := func(domains ...string) *capacity.Set { return &capacity.Set{Values: domains} }
	require.Equal(t, 1, g.least(in("left-1", "left-2", "left-3")))
	require.Equal(t, []string{"left-3"}, g.choose(&cluster.Pod{State: &api.PodState{}}, in("left-2", "left-3"), in("left-1", "left-2", "left-3")).Values)
}
