package disruption

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

func timed(nodes, schedule, duration string) api.DisruptionBudget {
	return api.DisruptionBudget{Nodes: new(nodes), Schedule: &schedule, Duration: &duration}
}

func at(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)
}

// The seed's numbers: 20 %, at most 5, none in the first ten minutes of a day.
func TestSeedBudgets(t *testing.T) {
	b := ParseBudgets([]api.DisruptionBudget{{Nodes: new("20%")}, {Nodes: new("5")}, timed("0", "@daily", "10m")}, time.LoadLocation)
	for total, want := range map[int]Count{0: 0, 1: 1, 20: 4, 21: 5, 25: 5, 26: 5, 1000: 5} {
		require.Equal(t, want, b.Limit(at(16, 12, 0), total, api.ReasonEmpty, Rules{}), "%d nodes", total)
	}
	require.Equal(t, Count(0), b.Limit(at(16, 0, 0), 100, api.ReasonEmpty, Rules{}))
	require.Equal(t, Count(0), b.Limit(at(16, 0, 10).Add(-time.Nanosecond), 100, api.ReasonEmpty, Rules{}))
	require.Equal(t, Count(5), b.Limit(at(16, 0, 10), 100, api.ReasonEmpty, Rules{}))
}

// Nodes that are left out are the default; nodes of an empty text are no number, and allow nothing.
func TestEmptyNodesAllowNothing(t *testing.T) {
	limit := func(text string) (Count, error) {
		var d api.PoolDisruption
		require.NoError(t, json.Unmarshal([]byte(text), &d))
		b := ParseBudgets(d.Budgets, nil)
		return b.Limit(testNow, 100, api.ReasonEmpty, Rules{}), b.Err()
	}
	got, err := limit(`{"budgets":[{"reasons":["Empty"]}]}`)
	require.NoError(t, err)
	require.Equal(t, Count(10), got)
	got, err = limit(`{"budgets":[{"nodes":""}]}`)
	require.ErrorContains(t, err, `budgets[0]: nodes is neither a number nor a percentage: ""`)
	require.Zero(t, got)
}

// A calendar has one span for each stretch without change.
func TestCalendar(t *testing.T) {
	b := ParseBudgets([]api.DisruptionBudget{{Nodes: new("10%")}, timed("0", "0 9 * * 1-5", "8h")}, time.LoadLocation)
	var lines []string
	for _, s := range b.Calendar(at(20, 12, 0), at(24, 0, 0), 30) {
		lines = append(lines, s.String())
	}
	require.Equal(t, []string{
		"Fri 2026-11-20 12:00 - Fri 2026-11-20 17:00  0",
		"Fri 2026-11-20 17:00 - Mon 2026-11-23 09:00  3",
		"Mon 2026-11-23 09:00 - Mon 2026-11-23 17:00  0",
		"Mon 2026-11-23 17:00 - Tue 2026-11-24 00:00  3",
	}, lines)
	drift := timed("0", "0 9 * * *", "1h")
	drift.Reasons = []string{api.ReasonDrifted}
	spans := ParseBudgets([]api.DisruptionBudget{drift}, time.LoadLocation).Calendar(at(20, 9, 0), at(20, 10, 0), 5)
	require.Equal(t, "Fri 2026-11-20 09:00 - Fri 2026-11-20 10:00  Empty no limit, Underutilized no limit, Drifted 0, Expired no limit", spans[0].String())
	require.Len(t, ParseBudgets(nil, time.LoadLocation).Calendar(at(20, 9, 0), at(27, 9, 0), 5), 1)
}

// A budget's own zone (N13), and a zone that does not exist.
func TestTimeZone(t *testing.T) {
	berlin := timed("0", "0 9 * * *", "8h")
	berlin.TimeZone = "Europe/Berlin"
	b := ParseBudgets([]api.DisruptionBudget{berlin}, time.LoadLocation)
	require.Equal(t, Unbounded, b.Limit(at(20, 7, 59), 5, api.ReasonEmpty, Rules{}))
	require.Equal(t, Count(0), b.Limit(at(20, 8, 0), 5, api.ReasonEmpty, Rules{}), "nine in Berlin is eight in winter")
	require.Equal(t, Count(0), b.Limit(time.Date(2026, 7, 20, 7, 0, 0, 0, time.UTC), 5, api.ReasonEmpty, Rules{}), "and seven in summer")
	berlin.TimeZone = "Europe/Nowhere"
	require.Equal(t, Count(0), ParseBudgets([]api.DisruptionBudget{berlin}, time.LoadLocation).Limit(at(20, 12, 0), 5, api.ReasonEmpty, Rules{}))
	require.ErrorContains(t, ParseBudgets([]api.DisruptionBudget{berlin}, time.LoadLocation).Err(), "budgets[0]: timeZone \"Europe/Nowhere\"")
	require.ErrorContains(t, ParseBudgets([]api.DisruptionBudget{berlin}, nil).Err(), "no zones are known here")
}

// NextChange is when a window opens or closes next.
func TestNextChange(t *testing.T) {
	b := ParseBudgets([]api.DisruptionBudget{timed("0", "0 9 * * *", "8h"), timed("0", "0 0 31 2 *", "1h")}, time.LoadLocation)
	require.Equal(t, at(20, 9, 0), b.NextChange(at(20, 8, 0)).UTC())
	require.Equal(t, at(20, 17, 0), b.NextChange(at(20, 9, 0)).UTC())
	require.True(t, ParseBudgets([]api.DisruptionBudget{{Nodes: new("1")}}, time.LoadLocation).NextChange(at(20, 9, 0)).IsZero())
}

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
		p := testPool(name)
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

// Drift is dated when it is first seen, and forgotten when it is over.
func TestDriftTimes(t *testing.T) {
	f := fixture{nodes: []*api.NodeState{drifted(), aNode("n2", "d2", "z-a", "old")}, pools: []*api.NodePool{testPool("old")}}
	earlier := metav1.NewTime(testNow.Add(-time.Hour))
	require.Equal(t, map[string]metav1.Time{"n1": metav1.NewTime(testNow)}, DriftTimes(f.state(), nil))
	require.Equal(t, map[string]metav1.Time{"n1": earlier}, DriftTimes(f.state(), map[string]metav1.Time{"n1": earlier, "n2": earlier}))
}
