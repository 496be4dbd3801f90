package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// A pod has the relations that it has when every group is asked about it, and those groups are not asked that are of other namespaces
// or demand another label.
func TestLookupsFindTheGroupsThatAskingAllFinds(t *testing.T) {
	keys, values, spaces := []string{"app", "tier", "track"}, []string{"a", "b", ""}, []string{"one", "two", "three", "four"}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := &State{Cluster: cluster.NewCluster()}
		s.Cluster.Spaces = map[string]map[string]string{}
		for _, space := range spaces {
			s.Cluster.Spaces[space] = map[string]string{"team": values[r.IntN(2)]}
		}
		x := NewIndex(s)
		for range 60 {
			p := randomPod(s.Cluster, r, keys, values, spaces)
			x.termGroup(groupKind(1+r.IntN(3)), p, randomTerm(r, keys, values, spaces))
		}
		for i, g := range x.groups {
			g.rank = i
		}
		x.lookup = newGroupLookup(x.groups)
		for range 100 {
			p := randomPod(s.Cluster, r, keys, values, spaces)
			var counted, avoids []*group
			asked := 0
			for _, g := range x.groups {
				label, demands := demanded(g)
				here := g.spaces == nil || slices.Contains(g.spaces, p.State.Namespace)
				if v, has := p.State.Labels[label[0]]; here && (!demands || has && v == label[1]) {
					asked += g.weight
				}
				switch {
				case !g.selects(p):
				case g.kind == ownersGroup:
					avoids = append(avoids, g)
				default:
					counted = append(counted, g)
				}
			}
			x.asked = 0
			l := x.relate(p, &shape{})
			require.Equal(t, ids(counted), ids(l.counted))
			require.Equal(t, ids(avoids), ids(l.Avoids))
			require.Equal(t, asked, x.asked)
		}
	}
}

func ids(groups []*group) []string {
	out := []string{}
	for _, g := range groups {
		out = append(out, g.id)
	}
	return out
}

func randomPod(c *cluster.Cluster, r *rand.Rand, keys, values, spaces []string) *cluster.Pod {
	p := &api.PodState{Namespace: spaces[r.IntN(len(spaces))], Labels: map[string]string{}}
	for _, k := range keys {
		if r.IntN(4) > 0 {
			p.Labels[k] = values[r.IntN(len(values))]
		}
	}
	return c.NewPod(p)
}

// randomTerm is of one namespace, several, none or all, and of any sort of selector.
func randomTerm(r *rand.Rand, keys, values, spaces []string) *corev1.PodAffinityTerm {
	some := func(of []string) []string { return of[:r.IntN(len(of))+1] }
	term := &corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}
	switch r.IntN(5) {
	case 0:
		term.Namespaces = append(slices.Clone(some(spaces)), spaces[0])
	case 1:
		term.NamespaceSelector = &metav1.LabelSelector{}
	case 2:
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": values[r.IntN(3)]}}
	}
	for range r.IntN(3) {
		key := keys[r.IntN(len(keys))]
		term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions, []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOpIn, Values: some(values)},
			{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values[:1]},
			{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: some(values)},
			{Key: key, Operator: metav1.LabelSelectorOpExists},
			{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist},
		}[r.IntN(5)])
	}
	if r.IntN(10) == 0 {
		term.LabelSelector = nil
	}
	return term
}

// Terms of many namespaces stand under each of them: the namespaces that are named count like the values of a selector.
func TestNamespacesOfTermsAreBounded(t *testing.T) {
	x := NewIndex(&State{Cluster: cluster.NewCluster()})
	named := make([]string, 10*aTerm)
	p := x.State.Cluster.NewPod(&api.PodState{Namespace: "one"})
	x.termGroup(antiGroup, p, &corev1.PodAffinityTerm{Namespaces: named})
	require.Equal(t, 1+10, x.made)
}
