package disruption

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate/simulatetest"
)

// Each reason of drift, in the order in which they are looked for, and what is none.
func TestDrifted(t *testing.T) {
	pool := simulatetest.Pool("a", simulatetest.Requiring(corev1.LabelInstanceTypeStable, "In", "d2", "d4"))
	hash := capacity.PoolHash(pool)
	made := func(change ...func(*api.NodeState)) *api.NodeState {
		n := simulatetest.Node("n1", "d2", "z-a", "a")
		n.Annotations = map[string]string{api.AnnotationPoolHash: hash, api.AnnotationPoolHashLevel: capacity.PoolHashLevel, api.AnnotationClassHash: "class-1"}
		for _, c := range change {
			c(n)
		}
		return n
	}
	note := func(key, value string) func(*api.NodeState) {
		return func(n *api.NodeState) { n.Annotations[key] = value }
	}
	label := func(key, value string) func(*api.NodeState) {
		return func(n *api.NodeState) { n.Labels[key] = value }
	}
	young := func(n *api.NodeState) { n.Created = metav1.NewTime(simulatetest.Now.Add(-30 * time.Minute)) }
	lacking := func(keys ...string) func(*api.NodeState) {
		return func(n *api.NodeState) {
			for _, key := range keys {
				delete(n.Labels, key)
			}
		}
	}
	// claimed is made from labels as they are by now, whatever becomes of those of the node.
	claimed := func(n *api.NodeState) { n.Origin = &api.NodeOrigin{Labels: maps.Clone(n.Labels), Whole: true} }
	reported := func(n *api.NodeState) { n.ProviderDrift = "ImageDrifted" }
	for name, row := range map[string]struct {
		node *api.NodeState
		want string
	}{
		"as it was made":                    {made(), ""},
		"the template changed":              {made(note(api.AnnotationPoolHash, "other")), DriftPool},
		"a hash of another version":         {made(note(api.AnnotationPoolHash, "other"), note(api.AnnotationPoolHashLevel, "v3")), ""},
		"a requirement excludes the type":   {made(label(corev1.LabelInstanceTypeStable, "d8")), DriftRequirements},
		"no capacity type, no zone":         {made(lacking(api.LabelCapacityType, corev1.LabelTopologyZone)), ""},
		"no instance type":                  {made(lacking(corev1.LabelInstanceTypeStable)), ""},
		"none of the three, and a claim":    {made(lacking(api.LabelCapacityType, corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable), claimed), ""},
		"no zone, sold in none as spot":     {made(lacking(corev1.LabelTopologyZone), label(api.LabelCapacityType, api.CapacitySpot)), DriftRequirements},
		"an edited zone":                    {made(claimed, label(corev1.LabelTopologyZone, "z-x")), ""},
		"an edited type":                    {made(claimed, label(corev1.LabelInstanceTypeStable, "d8")), ""},
		"a claim of another type":           {made(label(corev1.LabelInstanceTypeStable, "d8"), claimed, label(corev1.LabelInstanceTypeStable, "d2")), DriftRequirements},
		"stamped for another pool":          {made(note(api.AnnotationPoolHash, "other"), note(api.AnnotationClassHash, "other"), note(api.AnnotationStampedPool, "b")), ""},
		"stamped for its pool":              {made(note(api.AnnotationPoolHash, "other"), note(api.AnnotationStampedPool, "a")), DriftPool},
		"another class":                     {made(note(api.AnnotationClassHash, "other")), DriftClass},
		"the zone is not offered any more":  {made(label(corev1.LabelTopologyZone, "z-x")), DriftType},
		"not offered, younger than an hour": {made(label(corev1.LabelTopologyZone, "z-x"), young), ""},
		"Karpenter says so":                 {made(reported), "ImageDrifted"},
		"Karpenter's reason goes first":     {made(reported, note(api.AnnotationPoolHash, "other")), "ImageDrifted"},
		"nobody's node":                     {made(reported, func(n *api.NodeState) { n.Managed = false }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, Drifted(row.node, capacity.NewPool(pool, capacity.NewCatalog(simulatetest.Catalog()), capacity.PoolOptions{ClassHash: "class-1"}), simulatetest.Now, capacity.Rules{}))
		})
	}
}

// A requirement on a label that a node never had is broken by one of which all is known that it was made from,
// and unknown of any other (N19).
func TestALabelThatWasNeverThere(t *testing.T) {
	pool := capacity.NewPool(simulatetest.Pool("a", simulatetest.Requiring("team", "In", "web")), capacity.NewCatalog(simulatetest.Catalog()), capacity.PoolOptions{})
	for name, row := range map[string]struct {
		origin *api.NodeOrigin
		want   string
	}{
		"adopted":                       {nil, ""},
		"adopted, with the label":       {&api.NodeOrigin{Labels: map[string]string{"team": "web"}}, ""},
		"adopted, with another value":   {&api.NodeOrigin{Labels: map[string]string{"team": "db"}}, DriftRequirements},
		"launched":                      {&api.NodeOrigin{Whole: true}, DriftRequirements},
		"launched, with the label":      {&api.NodeOrigin{Labels: map[string]string{"team": "web"}, Whole: true}, ""},
		"launched, with other labels":   {&api.NodeOrigin{Labels: map[string]string{"tier": "x"}, Whole: true}, DriftRequirements},
		"adopted, with another capital": {&api.NodeOrigin{Labels: map[string]string{"Team": "db"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := simulatetest.Node("n1", "d2", "z-a", "a")
			n.Origin = row.origin
			require.Equal(t, row.want, Drifted(n, pool, simulatetest.Now, capacity.Rules{}))
		})
	}
}

// A change of the node class is drift, by the hash that was stamped (N16).
func TestNodeClasses(t *testing.T) {
	ref := func(p *api.NodePool) {
		p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
		p.Spec.Disruption.ConsolidateAfter = api.Never
	}
	bare := func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }
	stamped := func(name, hash string) *api.NodeState {
		n := simulatetest.Node(name, "d2", "z-a", "a", simulatetest.Pod("p-"+name, 100))
		n.Annotations = map[string]string{api.AnnotationClassHash: hash}
		return n
	}
	with := func(hash string) map[string]capacity.PoolOptions {
		return map[string]capacity.PoolOptions{"a": {ClassHash: hash}}
	}
	plain := simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p-n1", 100))
	held := stamped("n1", "one")
	held.Annotations[api.AnnotationDoNotDisrupt] = "true"
	check(t, []row{
		{"the class is as it was", simulatetest.Member{Nodes: []*api.NodeState{stamped("n1", "one")}, Pools: []*api.NodePool{simulatetest.Pool("a", ref)}, Options: with("one")}, "none"},
		{"the class changed", simulatetest.Member{Nodes: []*api.NodeState{stamped("n1", "one")}, Pools: []*api.NodePool{simulatetest.Pool("a", ref)}, Options: with("two")}, "replace [n1] by drift with a/f2[] p-n1>new-0"},
		{"a node without a stamp", simulatetest.Member{Nodes: []*api.NodeState{plain}, Pools: []*api.NodePool{simulatetest.Pool("a", ref)}, Options: with("two")}, "none"},
		{"a pool without a class", simulatetest.Member{Nodes: []*api.NodeState{stamped("n1", "one")}, Pools: []*api.NodePool{simulatetest.Pool("a", bare)}}, "none"},
		{"only the node of the old class", simulatetest.Member{Nodes: []*api.NodeState{stamped("n1", "two"), stamped("n2", "one")}, Pools: []*api.NodePool{simulatetest.Pool("a", ref)}, Options: with("two")}, "delete [n2] by drift p-n2>n1"},
		{"a protected node", simulatetest.Member{Nodes: []*api.NodeState{held}, Pools: []*api.NodePool{simulatetest.Pool("a", ref)}, Options: with("two")}, "none"},
	})
	require.Equal(t, DriftClass, Drifted(stamped("n1", "one"), capacity.NewPool(simulatetest.Pool("a", ref), capacity.NewCatalog(simulatetest.Catalog()), capacity.PoolOptions{ClassHash: "two"}), simulatetest.Now, capacity.Rules{}))
}

// What the hash covers: all of the template but requirements and do-not-disrupt, lists as sets.
func TestPoolHash(t *testing.T) {
	base := func() *api.NodePool {
		return simulatetest.Pool("a", simulatetest.Tainted("x", corev1.TaintEffectNoSchedule), simulatetest.Tainted("y", corev1.TaintEffectNoExecute))
	}
	same := map[string]func(*api.NodePool){
		"requirements": simulatetest.Requiring("k", "Exists"),
		"weight":       weighing(7),
		"limits":       simulatetest.Limited("cpu", "4"),
		"disruption":   func(p *api.NodePool) { p.Spec.Disruption.ExpireAfter = "1h" },
		"do-not-disrupt": func(p *api.NodePool) {
			p.Spec.Template.Metadata.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
		},
		"order of taints": func(p *api.NodePool) {
			taints := p.Spec.Template.Spec.Taints
			taints[0], taints[1] = taints[1], taints[0]
		},
	}
	other := map[string]func(*api.NodePool){
		"labels":      func(p *api.NodePool) { p.Spec.Template.Metadata.Labels = map[string]string{"k": "v"} },
		"annotations": func(p *api.NodePool) { p.Spec.Template.Metadata.Annotations = map[string]string{"k": "v"} },
		"taints":      simulatetest.Tainted("z", corev1.TaintEffectNoSchedule),
		"startupTaints": func(p *api.NodePool) {
			p.Spec.Template.Spec.StartupTaints = []api.NodeTaint{{Key: "k", Effect: "NoSchedule"}}
		},
		"nodeClassRef":           func(p *api.NodePool) { p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Name: "c"} },
		"expireAfter":            func(p *api.NodePool) { p.Spec.Template.Spec.ExpireAfter = "5h" },
		"terminationGracePeriod": func(p *api.NodePool) { p.Spec.Template.Spec.TerminationGracePeriod = "5h" },
	}
	for name, change := range same {
		p := base()
		change(p)
		require.Equal(t, capacity.PoolHash(base()), capacity.PoolHash(p), name)
	}
	for name, change := range other {
		p := base()
		change(p)
		require.NotEqual(t, capacity.PoolHash(base()), capacity.PoolHash(p), name)
	}
}

// Drifted nodes of a static pool are replaced one for one, as many as its budget and limits allow.
func TestStaticDrift(t *testing.T) {
	static := func(change ...func(*api.NodePool)) *api.NodePool {
		return simulatetest.Pool("a", append(change, func(p *api.NodePool) { p.Spec.Replicas = new(int32) })...)
	}
	node := func(name string) *api.NodeState {
		n := simulatetest.Node(name, "d2", "z-a", "a", simulatetest.Pod("p-"+name, 100))
		n.ProviderDrift = "ImageDrifted"
		return n
	}
	nodes := []*api.NodeState{node("n1"), node("n2"), node("n3")}
	two := func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("2")}} }
	check(t, []row{
		{"all at once", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{static()}}, "replace [n1] by static-drift with a/f2[] p-n1>new-0; replace [n2] by static-drift with a/f2[] p-n2>new-0; replace [n3] by static-drift with a/f2[] p-n3>new-0"},
		{"within its budget", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{static(two)}}, "replace [n1] by static-drift with a/f2[] p-n1>n3; replace [n2] by static-drift with a/f2[] p-n2>n3"},
		{"within its limit of nodes", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{static(simulatetest.Limited("nodes", "4"))}}, "replace [n1] by static-drift with a/f2[] p-n1>n2"},
		{"never consolidated", simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a")}, Pools: []*api.NodePool{static()}}, "none"},
	})
}

// A node that is made from a pool's template as it stands does not drift.
func TestFreshNodesDoNotDrift(t *testing.T) {
	pool := capacity.NewPool(simulatetest.Pool("a", simulatetest.Tainted("x", corev1.TaintEffectNoSchedule)), capacity.NewCatalog(simulatetest.Catalog()), capacity.PoolOptions{ClassHash: "class"})
	made := pool.Template()
	require.Equal(t, "a", made.Name)
	require.Equal(t, api.Never, made.ExpireAfter)
	n := simulatetest.Node("n1", "d2", "z-a", made.Name)
	n.Annotations = map[string]string{api.AnnotationPoolHash: made.Hash, api.AnnotationPoolHashLevel: capacity.PoolHashLevel, api.AnnotationClassHash: made.ClassHash}
	require.Empty(t, Drifted(n, pool, simulatetest.Now, capacity.Rules{}))
}
