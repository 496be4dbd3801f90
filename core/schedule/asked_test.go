package schedule_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
)

// offering is a member that offers so many labels and properties more, under names of its own.
func offering(m api.Member, n int) api.Member {
	m.Labels, m.Properties = maps.Clone(m.Labels), maps.Clone(m.Properties)
	for i := range n {
		m.Labels[fmt.Sprintf("%s.example.com/label-%d", m.Name, i)] = fmt.Sprint(i)
		m.Properties[fmt.Sprintf("%s.example.com/property-%d", m.Name, i)] = fmt.Sprint(i)
	}
	return m
}

// What members offer costs the fleet a column only where a policy asks for it, and decisions are those over a fleet
// without it.
func TestWhatNobodyAsksForHasNoColumn(t *testing.T) {
	plain := benchMembers(200)
	members := benchMembers(200)
	for i := range 3 {
		members[i*50] = offering(members[i*50], 3000)
	}
	fleet := schedule.NewFleet(members...)
	labels, properties := fleet.Columns()
	require.Zero(t, labels+properties, "nobody asked yet")
	for _, c := range []struct {
		name               string
		policy             *api.Policy
		labels, properties int // that were asked for so far
	}{
		{"none", nil, 0, 0},
		{"sorter", benchPickNSorter(), 0, 1},
		{"required", benchPickAll(), 1, 2},
		{"spread", benchPickNSpread(), 2, 2},
		{"spread again", benchPickNSpread(), 2, 2},
		{"a label of one member", pickAll(labelTerm("member-000050.example.com/label-7", "7")), 3, 2},
	} {
		in := schedule.Input{Placement: "web", Policy: c.policy, Fleet: fleet, Now: benchNow}
		got := plainPlan(t, in)
		if labels, properties = fleet.Columns(); labels != c.labels || properties != c.properties {
			t.Errorf("%s: %d labels and %d properties have columns", c.name, labels, properties)
		}
		if c.labels == 3 {
			plain[50].Labels["member-000050.example.com/label-7"] = "7"
		}
		in.Fleet = schedule.NewFleet(plain...)
		require.Equal(t, plainPlan(t, in), got, c.name)
	}
	require.True(t, fleet.Heartbeat(members[50].Name, benchNow, offering(members[50], 5000).Properties))
	fleet.Set(offering(members[51], 2000))
	labels, properties = fleet.Columns()
	require.Equal(t, [2]int{3, 2}, [2]int{labels, properties}, "members alone make none")
	m, _ := fleet.Member(members[50].Name)
	require.Equal(t, offering(members[50], 5000).Properties, m.Properties, "all of it is kept")
}

// However much policies ask for, the columns are bounded, and what was forgotten is made again.
func TestColumnsAreBounded(t *testing.T) {
	fleet := schedule.NewFleet(offering(member("a"), 2*schedule.MostColumns), member("b"))
	for range 2 {
		for i := range 2 * schedule.MostColumns {
			plan := schedule.Schedule(schedule.Input{Fleet: fleet, Now: sim.Now, Policy: pickAll(ofBoth(
				labelTerm(fmt.Sprintf("a.example.com/label-%d", i), fmt.Sprint(i)),
				propertyTerm(fmt.Sprintf("a.example.com/property-%d", i), api.OpEq, fmt.Sprint(i))))})
			require.Equal(t, []string{"a"}, names(plan.Bindings))
			labels, properties := fleet.Columns()
			require.LessOrEqual(t, max(labels, properties), schedule.MostColumns)
		}
	}
	var terms []metav1.LabelSelectorRequirement
	for i := range schedule.MostColumns + 9 {
		terms = append(terms, metav1.LabelSelectorRequirement{
			Key: fmt.Sprintf("a.example.com/label-%d", i), Operator: metav1.LabelSelectorOpIn, Values: []string{fmt.Sprint(i)},
		})
	}
	one := pickAll(api.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{MatchExpressions: terms}})
	plan := schedule.Schedule(schedule.Input{Fleet: fleet, Now: sim.Now, Policy: one})
	require.Equal(t, []string{"a"}, names(plan.Bindings), "a policy that asks for more than that at once")
}

func ofBoth(labels, properties api.ClusterSelectorTerm) api.ClusterSelectorTerm {
	labels.PropertySelector = properties.PropertySelector
	return labels
}

// Decisions on one fleet may run at once, whoever asks first for a label or a property.
func TestDecisionsShareAFleet(t *testing.T) {
	policies := []func() *api.Policy{benchPickAll, benchPickNSorter, benchPickNSpread}
	var wanted []string
	for _, policy := range policies {
		wanted = append(wanted, plainPlan(t, schedule.Input{Policy: policy(), Fleet: schedule.NewFleet(benchMembers(100)...), Now: benchNow}))
	}
	fleet := schedule.NewFleet(benchMembers(100)...)
	got := make([]string, 8*len(policies))
	var deciding sync.WaitGroup
	for i := range got {
		deciding.Go(func() {
			of := fleet
			if i%4 == 0 {
				of = fleet.Clone()
			}
			got[i] = plainPlan(t, schedule.Input{Policy: policies[i%len(policies)](), Fleet: of, Now: benchNow})
		})
	}
	deciding.Wait()
	for i := range got {
		require.Equal(t, wanted[i%len(policies)], got[i])
	}
}
