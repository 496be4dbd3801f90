package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// What a catalog does not list is drift only when it says that it is complete (N20); a node of which the
// provider did not say what it is has no price, and is not replaced for that (N19).
func TestWhatACatalogDoesNotKnow(t *testing.T) {
	partial := simulatetest.Catalog()
	partial.Name, partial.Spec.Complete = "east", false
	complete := simulatetest.Catalog()
	label := func(key, value string) func(*api.NodeState) { return func(n *api.NodeState) { n.Labels[key] = value } }
	without := func(key string) func(*api.NodeState) { return func(n *api.NodeState) { delete(n.Labels, key) } }
	for name, row := range map[string]struct {
		catalog *api.InstanceCatalog
		change  func(*api.NodeState)
		goes    string
		code    disruption.Code
		message string
	}{
		"a type, complete":      {complete, label(corev1.LabelInstanceTypeStable, "x9"), "replace [n1] by drift with a/f2[] p>new-0", "", ""},
		"a type":                {partial, label(corev1.LabelInstanceTypeStable, "x9"), "none", disruption.CodeNotInCatalog, "its price is not known: InstanceCatalog east does not list x9 in zone z-a as on-demand"},
		"a zone, complete":      {complete, label(corev1.LabelTopologyZone, "z-x"), "replace [n1] by drift with a/f2[] p>new-0", "", ""},
		"a zone":                {partial, label(corev1.LabelTopologyZone, "z-x"), "none", disruption.CodeNotInCatalog, "its price is not known: InstanceCatalog east does not list d8 in zone z-x as on-demand"},
		"no type, complete":     {complete, without(corev1.LabelInstanceTypeStable), "none", disruption.CodeNoLabel, "the node lacks the label node.kubernetes.io/instance-type"},
		"no zone, complete":     {complete, without(corev1.LabelTopologyZone), "none", disruption.CodeNoLabel, "the node lacks the label topology.kubernetes.io/zone"},
		"no capacity, complete": {complete, without(api.LabelCapacityType), "none", disruption.CodeNoLabel, "the node lacks the label karpenter.sh/capacity-type"},
		"no capacity":           {partial, without(api.LabelCapacityType), "none", disruption.CodeNoLabel, "the node lacks the label karpenter.sh/capacity-type"},
		"all is listed":         {partial, func(*api.NodeState) {}, "replace [n1] by single with a/f2[] p>new-0", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := simulatetest.Node("n1", "d8", "z-a", "a", simulatetest.Pod("p", 100))
			row.change(n)
			s := (&simulatetest.Member{Nodes: []*api.NodeState{n}, Pools: []*api.NodePool{simulatetest.Pool("a")}, Catalog: row.catalog}).State()
			d := disruption.Decide(s)
			require.Equal(t, row.goes, disruptiontest.Summary(d))
			if row.code == "" {
				return
			}
			require.Equal(t, row.code, d.Verdicts[0].Code())
			require.Equal(t, string(row.code)+": "+row.message, d.Verdicts[0].Why())
			require.Empty(t, d.Verdicts[0].Drift)
			e, _ := Explain(s, "n1")
			require.Empty(t, e.Flip)
			require.NotEmpty(t, e.NoFlip)
			require.Empty(t, disruption.DriftTimes(s, nil))
		})
	}
}

// Since when a node is drifted is what its NodeClaim says, and the verdict names the claim's own reason, of a
// node that stays too (N21).
func TestAClaimSaysThatItsNodeDrifted(t *testing.T) {
	since := metav1.NewTime(simulatetest.Now.Add(-3 * time.Hour))
	node := func(name string) *api.NodeState {
		return simulatetest.Node(name, "d2", "z-a", "a", simulatetest.Pod("p-"+name, 100))
	}
	first, second := node("n1"), node("n2")
	first.ProviderDrift, first.DriftedSince = "ImageDrifted", metav1.NewTime(simulatetest.Now.Add(-time.Hour))
	second.ProviderDrift, second.DriftedSince = "SubnetDrifted", since
	one := func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("1")}} }
	s := (&simulatetest.Member{Nodes: []*api.NodeState{first, second}, Pools: []*api.NodePool{simulatetest.Pool("a", one)}}).State()
	times := disruption.DriftTimes(s, map[string]metav1.Time{"n1": metav1.NewTime(simulatetest.Now), "n2": metav1.NewTime(simulatetest.Now)})
	require.Equal(t, map[string]metav1.Time{"n1": first.DriftedSince, "n2": since}, times)
	s.DriftedSince = map[string]time.Time{"n1": times["n1"].Time, "n2": times["n2"].Time}
	d := disruption.Decide(s)
	require.Equal(t, "delete [n2] by drift p-n2>n1", disruptiontest.Summary(d), "the one that drifted first")
	require.Equal(t, "SubnetDrifted", d.Commands[0].Drift)
	require.Equal(t, []string{"ImageDrifted", "SubnetDrifted"}, []string{d.Verdicts[0].Drift, d.Verdicts[1].Drift})
	e, _ := Explain(s, "n1")
	require.Contains(t, e.String(), "\n  drifted: ImageDrifted\n")

	second.ProviderDrift, second.DriftedSince = "", metav1.Time{}
	s.Cluster.Set(second)
	require.NotContains(t, disruption.DriftTimes(s, times), "n2", "the condition is False again")
}

// Who can be helped by a complete catalog is told so: not of a node that was made as something that the catalog lists.
func TestAdviceOnWhatACatalogDoesNotList(t *testing.T) {
	partial := simulatetest.Catalog()
	partial.Name, partial.Spec.Complete = "east", false
	n := simulatetest.Node("n1", "d8", "z-a", "a", simulatetest.Pod("p", 100))
	n.Labels[corev1.LabelInstanceTypeStable] = "x9"
	const text = "list x9 in zone z-a as on-demand in InstanceCatalog east"
	for name, row := range map[string]struct {
		origin *api.NodeOrigin
		want   string
	}{
		"as it is": {nil, text + "; or set its spec.complete to true, if all that can be bought is listed: then the node drifts"},
		"made as another": {&api.NodeOrigin{Labels: map[string]string{
			corev1.LabelInstanceTypeStable: "d8", corev1.LabelTopologyZone: "z-a", api.LabelCapacityType: api.CapacityOnDemand,
		}}, text},
	} {
		n.Origin = row.origin
		s := (&simulatetest.Member{Nodes: []*api.NodeState{n}, Pools: []*api.NodePool{simulatetest.Pool("a")}, Catalog: partial}).State()
		x := simulate.NewIndex(s)
		require.Equal(t, row.want, advice(disruption.CodeNotInCatalog, x.Nodes[0]), name)
	}
}
