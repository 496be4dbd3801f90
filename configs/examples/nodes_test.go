package examples_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// nodes is what the files under nodes/ hold.
type nodes struct {
	catalogs []*api.InstanceCatalog
	class    api.ObjectRef
	pools    map[string]*api.NodePool
}

func readNodes(t *testing.T) nodes {
	t.Helper()
	out := nodes{pools: map[string]*api.NodePool{}}
	for _, name := range names(t, "nodes/*.yaml") {
		decoded, faults := decode(t, name)
		require.NoError(t, faults.Err(), name)
		require.Empty(t, decoded.Notes, name)
		require.Empty(t, decoded.DropServerSet(), name)
		switch value := decoded.Value.(type) {
		case *api.InstanceCatalog:
			out.catalogs = append(out.catalogs, value)
		case *api.NodePool:
			require.NotContains(t, out.pools, value.Name)
			require.Empty(t, validate.NodePoolZones(value, func(zone string) bool { _, err := time.LoadLocation(zone); return err == nil }))
			out.pools[value.Name] = value
		default:
			require.True(t, decoded.IsContent(), name)
			out.class = decoded.Object
		}
	}
	return out
}

func TestNodePoolsNameTheNodeClassThatIsThere(t *testing.T) {
	n := readNodes(t)
	naming := 0
	for name, pool := range n.pools {
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
			require.True(t, ref.Names(n.class), name)
			naming++
		}
	}
	require.Equal(t, 4, naming)
}

// The catalog of each member sells what it has, where it has it, and for what it pays.
func TestCatalogsSellTheMachinesOfTheMembers(t *testing.T) {
	n := readNodes(t)
	require.Len(t, n.catalogs, 4)
	for name, m := range members(t) {
		catalog := disruption.CatalogFor(m.spec.Labels, n.catalogs)
		require.NotNil(t, catalog, name)
		require.GreaterOrEqual(t, len(catalog.Spec.Types), 12)
		node := m.agent.Target.Memory.Nodes[0]
		at := slices.IndexFunc(catalog.Spec.Types, func(kind api.InstanceType) bool { return kind.Name == node.InstanceType })
		require.GreaterOrEqual(t, at, 0, name)
		kind := &catalog.Spec.Types[at]
		require.Equal(t, [2]strict.Amount{strict.Amount(node.CPU), strict.Amount(node.Memory)}, [2]strict.Amount{kind.CPU, kind.Memory}, name)
		require.InDelta(t, numberOf(t, node.PricePerHour), onDemand(t, kind)[node.Zone], 1e-9, name)
	}
}

// Spot costs less than half of on demand, and nothing is offered twice.
func TestSpotIsCheap(t *testing.T) {
	for _, catalog := range readNodes(t).catalogs {
		for i := range catalog.Spec.Types {
			kind := &catalog.Spec.Types[i]
			dear := onDemand(t, kind)
			for _, o := range kind.Offerings {
				if o.CapacityType == api.CapacitySpot {
					require.Less(t, float64(o.Price), dear[o.Zone]/2, "%s in %s", kind.Name, o.Zone)
				}
			}
		}
	}
}

// onDemand is the price of a type in each zone.
func onDemand(t *testing.T, kind *api.InstanceType) map[string]float64 {
	t.Helper()
	prices := map[string]float64{}
	seen := map[[2]string]bool{}
	for _, o := range kind.Offerings {
		key := [2]string{o.Zone, o.CapacityType}
		require.False(t, seen[key], "an offering twice")
		seen[key] = true
		if o.CapacityType == api.CapacityOnDemand {
			prices[o.Zone] = float64(o.Price)
		}
	}
	return prices
}

func numberOf(t *testing.T, text string) float64 {
	t.Helper()
	var price strict.Price
	require.NoError(t, price.UnmarshalJSON([]byte(text)))
	return float64(price)
}

// The budgets allow what the comments above them say. Each pool has 30 nodes; 23 November 2026 is a Monday.
func TestBudgetsAllowWhatTheirCommentsSay(t *testing.T) {
	n := readNodes(t)
	winter, summer := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 20, 0, 0, 0, 0, time.UTC)
	at := func(day time.Time, clock string) time.Time {
		offset, err := time.ParseDuration(strings.Replace(clock, ":", "h", 1) + "m")
		require.NoError(t, err)
		return day.Add(offset)
	}
	for _, c := range []struct {
		pool, clock string
		day         time.Time
		reason      string
		want        capacity.Count
	}{
		{"default", "08:59", winter, api.ReasonEmpty, 3},
		{"default", "09:00", winter, api.ReasonEmpty, 0},
		{"default", "17:00", winter, api.ReasonEmpty, 3},
		{"default", "12:00", winter.AddDate(0, 0, -1), api.ReasonEmpty, 3},
		{"office-hours", "07:59", winter, api.ReasonDrifted, 6},
		{"office-hours", "08:00", winter, api.ReasonDrifted, 0},
		{"office-hours", "07:00", summer, api.ReasonDrifted, 0},
		{"gradual", "01:59", winter, api.ReasonEmpty, 0},
		{"gradual", "02:00", winter, api.ReasonEmpty, 1},
		{"gradual", "04:00", winter, api.ReasonEmpty, 3},
		{"gradual", "08:00", winter, api.ReasonEmpty, 0},
		{"weekend", "00:00", winter, api.ReasonEmpty, 0},
		{"weekend", "23:59", winter.AddDate(0, 0, 4), api.ReasonEmpty, 0},
		{"weekend", "00:00", winter.AddDate(0, 0, 5), api.ReasonEmpty, 15},
		{"weekend", "23:59", winter.AddDate(0, 0, 6), api.ReasonEmpty, 15},
		{"balanced", "12:00", winter, api.ReasonEmpty, 3},
		{"balanced", "12:00", winter, api.ReasonDrifted, 0},
		{"balanced", "22:00", winter, api.ReasonExpired, 3},
		{"spot", "12:00", winter, api.ReasonEmpty, 15},
		{"production", "12:00", winter, api.ReasonEmpty, 3},
		{"protected", "12:00", winter, api.ReasonEmpty, 3},
		{"workers", "12:00", winter, api.ReasonUnderutilized, 3},
	} {
		require.Contains(t, n.pools, c.pool)
		budgets := capacity.ParseBudgets(n.pools[c.pool].Spec.Budgets(), time.LoadLocation)
		require.NoError(t, budgets.Err(), c.pool)
		require.Equal(t, c.want, budgets.Limit(at(c.day, c.clock), 30, c.reason, capacity.Rules{}), "%s at %s", c.pool, c.clock)
	}
	name, nodes, ok := validate.FleetBudget(n.pools["production"].Annotations[api.AnnotationFleetBudget])
	require.Equal(t, []any{"production", "3", true}, []any{name, nodes, ok})
	require.Len(t, n.pools, 9)
}

// The pool for production is for production members.
func TestPoolsFindTheirMembers(t *testing.T) {
	n := readNodes(t)
	having := 0
	for name, m := range members(t) {
		has := len(disruption.PoolsFor(m.spec.Labels, []*api.NodePool{n.pools["production"]})) == 1
		require.Equal(t, m.spec.Labels["env"] == "prod", has, name)
		if has {
			having++
		}
	}
	require.Positive(t, having)
}
