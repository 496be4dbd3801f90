package schedule_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

var benchNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// benchMembers are members with the labels and properties of the seed documents: five regions with
// three zones each, so that three regions and at least five nodes fit about 38 of a hundred.
func benchMembers(n int) []api.Member {
	regions := []string{"eastus", "westus", "northeurope", "japaneast", "southeastasia"}
	members := make([]api.Member, n)
	for i := range members {
		region := regions[i%5]
		nodes := (i/5)%11 + 1
		cpu := nodes * (4 + (i*31)%13)
		members[i] = api.Member{
			Name: fmt.Sprintf("member-%06d", i), HasAgent: true, Joined: "True", Healthy: "True",
			LastHeartbeat: benchNow.Add(-time.Duration(i%60) * time.Second), HealthChanged: benchNow.Add(-time.Hour),
			Labels: map[string]string{
				"region": region, "zone": fmt.Sprintf("%s-%d", region, (i/5)%3+1),
				"env":               []string{"prod", "staging", "dev"}[i%3],
				api.LabelMemberName: fmt.Sprintf("member-%06d", i),
			},
			Properties: map[string]string{
				api.PropertyNodeCount:                             fmt.Sprint(nodes),
				api.PropertyResourcePrefix + "total-cpu":          fmt.Sprint(cpu),
				api.PropertyResourcePrefix + "allocatable-cpu":    fmt.Sprintf("%dm", cpu*950),
				api.PropertyResourcePrefix + "available-cpu":      fmt.Sprintf("%dm", cpu*(100+(i*53)%800)),
				api.PropertyResourcePrefix + "total-memory":       fmt.Sprintf("%dGi", cpu*4),
				api.PropertyResourcePrefix + "allocatable-memory": fmt.Sprintf("%dMi", cpu*3900),
				api.PropertyResourcePrefix + "available-memory":   fmt.Sprintf("%dKi", cpu*(1<<20+i*97)),
				api.PropertyCPUCost:                               fmt.Sprintf("0.%03d", 20+(i*17)%80),
				api.PropertyMemoryCost:                            fmt.Sprintf("0.%03d", 2+(i*13)%9),
				"k8s.io/k8s-version":                              fmt.Sprintf("v1.3%d.%d", i%4, i%7),
			},
		}
	}
	return members
}

func benchPickAll() *api.Policy {
	return &api.Policy{
		PlacementType: api.PickAll,
		Affinity: &api.Affinity{ClusterAffinity: &api.ClusterAffinity{Required: &api.ClusterSelector{
			ClusterSelectorTerms: []api.ClusterSelectorTerm{{
				LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: "region", Operator: metav1.LabelSelectorOpIn, Values: []string{"eastus", "northeurope", "japaneast"},
				}}},
				PropertySelector: &api.PropertySelector{MatchExpressions: []api.PropertyExpression{{
					Name: api.PropertyNodeCount, Operator: api.OpGe, Values: []string{"5"},
				}}},
			}},
		}}},
	}
}

func benchPickNSorter() *api.Policy {
	n := int32(10)
	return &api.Policy{
		PlacementType: api.PickN, NumberOfClusters: &n,
		Affinity: &api.Affinity{ClusterAffinity: &api.ClusterAffinity{Preferred: []api.PreferredClusterTerm{{
			Weight: 100,
			Preference: api.ClusterSelectorTerm{PropertySorter: &api.PropertySorter{
				Name: api.PropertyResourcePrefix + "available-cpu", SortOrder: api.Descending,
			}},
		}}}},
	}
}

func benchPickNSpread() *api.Policy {
	n, skew, anyway := int32(10), int32(1), int32(1)
	return &api.Policy{
		PlacementType: api.PickN, NumberOfClusters: &n,
		TopologySpreadConstraints: []api.TopologySpreadConstraint{
			{TopologyKey: "region", MaxSkew: &skew, WhenUnsatisfiable: api.DoNotSchedule},
			{TopologyKey: "zone", MaxSkew: &anyway, WhenUnsatisfiable: api.ScheduleAnyway},
		},
	}
}

// BenchmarkSchedule schedules one placement from nothing over a whole fleet, with the verdict of
// every member. Each iteration has a policy of its own.
func BenchmarkSchedule(b *testing.B) {
	for _, shape := range []struct {
		name   string
		policy func() *api.Policy
		picks  func(n int) (low, high int)
	}{
		{"PickAll", benchPickAll, func(n int) (int, int) { return n * 36 / 100, n * 40 / 100 }},
		{"PickNSorter", benchPickNSorter, func(int) (int, int) { return 10, 10 }},
		{"PickNSpread", benchPickNSpread, func(int) (int, int) { return 10, 10 }},
	} {
		b.Run(shape.name, func(b *testing.B) {
			for _, n := range []int{100, 1000, 10000, 100000} {
				b.Run(fmt.Sprint(n), func(b *testing.B) {
					fleet := schedule.NewFleet(benchMembers(n)...)
					low, high := shape.picks(n)
					in := schedule.Input{Placement: "bench", Generation: 1, Policy: shape.policy(), Fleet: fleet, Now: benchNow}
					plan := schedule.Schedule(in) // which makes the columns that the policy asks for
					b.ReportAllocs()
					b.ResetTimer()
					for b.Loop() {
						in.Policy = shape.policy()
						plan = schedule.Schedule(in)
					}
					b.StopTimer()
					checkBench(b, &plan, n, low, high)
				})
			}
		})
	}
}

func checkBench(b *testing.B, plan *schedule.Plan, n, low, high int) {
	b.Helper()
	require.True(b, plan.Fulfilled)
	require.GreaterOrEqual(b, len(plan.Bindings), low)
	require.LessOrEqual(b, len(plan.Bindings), high)
	require.Equal(b, n, plan.Verdicts.Len())
	require.Equal(b, len(plan.Bindings), plan.Verdicts.Tally()[""])
	last := plan.Verdicts.Row(n - 1)
	require.NotEmpty(b, last.Reason)
	require.Equal(b, last.Picked, last.Filter == "")
}

// BenchmarkHeartbeat changes one member of ten thousand in place, of whose properties policies ask for four.
func BenchmarkHeartbeat(b *testing.B) {
	members := benchMembers(10000)
	fleet := schedule.NewFleet(members...)
	for _, name := range []string{api.PropertyNodeCount, api.PropertyCPUCost, api.PropertyResourcePrefix + "available-cpu", api.PropertyResourcePrefix + "available-memory"} {
		schedule.Schedule(schedule.Input{Policy: pickAll(propertyTerm(name, api.OpGt, "1")), Fleet: fleet, Now: benchNow})
	}
	changed := make([]map[string]string, 2)
	for k := range changed {
		changed[k] = map[string]string{}
		maps.Copy(changed[k], members[5000].Properties)
		changed[k][api.PropertyResourcePrefix+"available-cpu"] = fmt.Sprintf("%dm", 1500+k)
		changed[k][api.PropertyResourcePrefix+"available-memory"] = fmt.Sprintf("%dKi", 4<<20+k)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if !fleet.Heartbeat(members[5000].Name, benchNow.Add(time.Duration(i)), changed[i&1]) {
			b.Fatal("the member is unknown")
		}
	}
	m, _ := fleet.Member(members[5000].Name)
	require.Equal(b, benchNow.Add(time.Duration(i)), m.LastHeartbeat)
	require.Equal(b, changed[i&1], m.Properties)
}

// BenchmarkNewFleet makes a fleet of ten thousand members, and one in which three of them offer three thousand
// labels and properties each.
func BenchmarkNewFleet(b *testing.B) {
	for _, offers := range []int{0, 3000} {
		members := benchMembers(10000)
		for i := range 3 {
			members[i*2500] = offering(members[i*2500], offers)
		}
		b.Run(fmt.Sprint(offers), func(b *testing.B) {
			b.ReportAllocs()
			var fleet *schedule.Fleet
			for b.Loop() {
				fleet = schedule.NewFleet(members...)
			}
			require.Equal(b, len(members), fleet.Len())
		})
	}
}
