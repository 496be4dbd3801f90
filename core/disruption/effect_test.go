package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate/simulatetest"
)

// made is a node as a pool would make it.
func made(name, kind string, pool *api.NodePool, age time.Duration) *api.NodeState {
	n := simulatetest.Node(name, kind, "z-a", pool.Name)
	n.Annotations = map[string]string{api.AnnotationPoolHash: capacity.PoolHash(pool), api.AnnotationPoolHashLevel: capacity.PoolHashLevel}
	n.Created = metav1.NewTime(simulatetest.Now.Add(-age))
	return n
}

// An edit of a pool drifts the nodes that it would not make any more, on all members; those that drift already do not
// drift by it.
func TestWhichNodesDriftByAnEdit(t *testing.T) {
	was := simulatetest.Pool("a")
	is := simulatetest.Pool("a", simulatetest.Requiring(corev1.LabelInstanceTypeStable, "In", "d2", "d4"))
	other := simulatetest.Pool("b")
	before := &Provisioning{Pools: []*api.NodePool{was, other}, Catalogs: []*api.InstanceCatalog{simulatetest.Catalog()}, Members: map[string]map[string]string{"oslo": nil, "rome": nil, "bern": nil}}
	after := &Provisioning{Pools: []*api.NodePool{is, other}, Catalogs: before.Catalogs, Members: before.Members}
	drifted := made("n5", "d8", is, 2*time.Hour)
	drifted.ProviderDrift = "ImageDrifted"
	nodes := map[string][]*api.NodeState{
		"oslo": {made("n1", "d2", is, 2*time.Hour), made("n2", "d8", is, 2*time.Hour), made("n3", "d16", is, time.Minute), drifted, made("n6", "d8", other, time.Hour)},
		"rome": {made("n4", "d8", is, 2*time.Hour), simulatetest.Node("free", "d8", "z-a", "")},
		"gone": {made("n7", "d8", is, 2*time.Hour)},
	}
	effects := Effects(nodes, before, after, simulatetest.Now)
	require.Len(t, effects, 2)
	a := effects[0]
	require.Equal(t, Effect{Pool: "a", Nodes: 5, Members: 2, Drift: map[string]int{DriftRequirements: 3}, Unlisted: map[string]Unlisted{}}, a)
	require.True(t, a.Many())
	require.Equal(t, "by this 3 of the 5 nodes of NodePool a on 2 members drift ("+DriftRequirements+") and are replaced, within its budgets", a.DriftNote())
	require.Equal(t, Effect{Pool: "b", Nodes: 1, Members: 1, Drift: map[string]int{}, Unlisted: map[string]Unlisted{}}, effects[1])
	require.Empty(t, a.UnlistedNote("default"))

	require.Empty(t, Effects(nodes, before, &Provisioning{Catalogs: before.Catalogs, Members: before.Members}, simulatetest.Now), "a pool that goes is no drift")
	made := Effects(nodes, &Provisioning{Members: before.Members}, after, simulatetest.Now)
	require.Equal(t, map[string]int{DriftRequirements: 3, "ImageDrifted": 1}, made[0].Drift, "where there was none before all of it is by the edit")
	require.Contains(t, made[0].DriftNote(), "by this 4 of the 5 nodes of NodePool a on 2 members drift (ImageDrifted 1, "+DriftRequirements+" 3)")
}

// A type that a complete catalog lists no more drifts within an hour; a catalog that is not complete has no price for it.
func TestWhatAnEditOfACatalogDoes(t *testing.T) {
	pool := simulatetest.Pool("a")
	whole := simulatetest.Catalog()
	whole.Name = "main"
	less := func(complete bool) *api.InstanceCatalog {
		c := simulatetest.Catalog()
		c.Name, c.Spec.Complete = "main", complete
		c.Spec.Types = c.Spec.Types[:1]
		return c
	}
	provisioning := func(c *api.InstanceCatalog) *Provisioning {
		return &Provisioning{Pools: []*api.NodePool{pool}, Catalogs: []*api.InstanceCatalog{c}, Members: map[string]map[string]string{"oslo": {}}}
	}
	nodes := map[string][]*api.NodeState{"oslo": {made("n1", "d2", pool, time.Minute), made("n2", "d8", pool, time.Minute), made("n3", "d4", pool, time.Minute)}}
	for _, c := range []struct {
		complete bool
		drift    map[string]int
		unlisted map[string]Unlisted
	}{
		{true, map[string]int{DriftType: 2}, map[string]Unlisted{}},
		{false, map[string]int{}, map[string]Unlisted{"main": {2, "d4 in zone z-a as on-demand"}}},
	} {
		effects := Effects(nodes, provisioning(whole), provisioning(less(c.complete)), simulatetest.Now)
		require.Len(t, effects, 1)
		require.Equal(t, c.drift, effects[0].Drift)
		require.Equal(t, c.unlisted, effects[0].Unlisted)
		if !c.complete {
			require.Contains(t, effects[0].UnlistedNote("main"), "InstanceCatalog main does not list 2 of the 3 nodes of NodePool a, such as d4 in zone z-a as on-demand")
		}
	}
}

// Many is more than two, and more than a fifth.
func TestManyNodesDrift(t *testing.T) {
	for _, c := range []struct {
		nodes, drift int
		want         bool
	}{{2, 2, false}, {3, 3, true}, {14, 3, true}, {15, 3, false}, {16, 3, false}, {100, 20, false}, {100, 21, true}} {
		e := Effect{Nodes: c.nodes, Drift: map[string]int{DriftPool: c.drift - 1, DriftType: 1}}
		require.Equal(t, c.want, e.Many(), "%d of %d", c.drift, c.nodes)
	}
}
