package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/simulate/simulatetest"
)

// A fleet-wide budget counts the nodes of every member that shares it (N11).
func TestFleetAllowed(t *testing.T) {
	members := []FleetCount{{Total: 21, Disrupting: 1}, {Total: 30, Disrupting: 2}}
	for nodes, want := range map[string]int{"5": 2, "10%": 3, "3": 0, "0%": 0, "100%": 48} {
		got, err := FleetAllowed(nodes, members)
		require.NoError(t, err)
		require.Equal(t, want, got, nodes)
	}
	_, err := FleetAllowed("many", members)
	require.ErrorContains(t, err, "many")
}

// Pools are placed on members by a label selector, on all of them without one (N1).
func TestPoolsFor(t *testing.T) {
	pool := func(name, selector string) *api.NodePool {
		p := simulatetest.Pool(name)
		if selector != "" {
			p.Annotations = map[string]string{api.AnnotationMembers: selector}
		}
		return p
	}
	pools := []*api.NodePool{pool("all", ""), pool("prod", "env=prod"), pool("eu", "env in (prod,dev),region=eu"), pool("broken", "=(")}
	var names []string
	for _, p := range PoolsFor(map[string]string{"env": "prod", "region": "us"}, pools) {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"all", "prod"}, names)
}

// What many members have is asked with selectors that are parsed once, and is not worked out for nobody.
func TestProvisioning(t *testing.T) {
	over := false
	m := Provisioning{
		Catalogs: []*api.InstanceCatalog{catalog("z", ""), catalog("b", "env=prod"), catalog("a", "=(")},
		Members:  map[string]map[string]string{"berlin": {"env": "prod"}, "oslo": {"env": "test"}, "rome": {"env": "prod"}},
		Ended:    func() bool { return over },
	}
	require.Equal(t, "b", m.CatalogOf("berlin").Name)
	require.Equal(t, "z", m.CatalogOf("oslo").Name)
	require.True(t, m.Has("rome", m.Catalogs[1].Annotations))
	require.False(t, m.Has("oslo", m.Catalogs[1].Annotations))
	require.Len(t, m.selectors.parsed, 2)
	over = true
	require.Equal(t, "b", m.CatalogOf("berlin").Name, "what is known stays so")
	require.Nil(t, m.CatalogOf("rome"))
	require.False(t, m.Has("rome", m.Catalogs[1].Annotations))
	nodes := map[string][]*api.NodeState{"rome": {simulatetest.Node("n1", "d2", "z-a", "old")}}
	require.Empty(t, Effects(nodes, &Provisioning{}, &m, simulatetest.Now))
}

// Drift is dated when it is first seen, and forgotten when it is over.
func TestDriftTimes(t *testing.T) {
	f := simulatetest.Member{Nodes: []*api.NodeState{drifted(), simulatetest.Node("n2", "d2", "z-a", "old")}, Pools: []*api.NodePool{simulatetest.Pool("old")}}
	earlier := metav1.NewTime(simulatetest.Now.Add(-time.Hour))
	require.Equal(t, map[string]metav1.Time{"n1": metav1.NewTime(simulatetest.Now)}, DriftTimes(f.State(), nil))
	require.Equal(t, map[string]metav1.Time{"n1": earlier}, DriftTimes(f.State(), map[string]metav1.Time{"n1": earlier, "n2": earlier}))
}
