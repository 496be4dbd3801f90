package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

func never(string) metav1.Time { return metav1.Time{} }

// Drains are judged by when the agent last told of them, aborts by whether their nodes are left alone.
func TestDisruptionsThatLast(t *testing.T) {
	one := func(phase string, since time.Duration, nodes ...string) api.Disruption {
		return api.Disruption{ID: "d", Phase: phase, Nodes: nodes, Decided: before(since), Message: "m"}
	}
	ended := one(api.PhaseDraining, time.Hour, "n1")
	ended.Ended = before(time.Minute)
	stuck := "node/berlin/n1 DrainStuck: disruption d drains without progress: m -> flotilla describe disruption/d -m berlin"
	undoing := "node/berlin/n1 Undoing: disruption d was given up, and the agent has not taken off its taint yet: m -> flotilla describe disruption/d -m berlin"
	for _, c := range []struct {
		what string
		one  api.Disruption
		told func(string) metav1.Time
		want []string
	}{
		{"a drain without progress", one(api.PhaseDraining, drainPatience, "n1"), never, []string{stuck}},
		{"a drain of now", one(api.PhaseDraining, drainPatience-1, "n1"), never, []string{}},
		{"a drain that goes on", one(api.PhaseDraining, time.Hour, "n1"), func(string) metav1.Time { return before(time.Minute) }, []string{}},
		{"a launch", one(api.PhaseLaunching, time.Hour, "n1"), never, []string{}},
		{"an abort", one(api.PhaseAborted, 0, "n1"), never, []string{undoing}},
		{"an abort whose node is left alone", one(api.PhaseAborted, 0, "n2"), never, []string{}},
		{"one that ended", ended, never, []string{}},
		{"one of no node", one(api.PhaseDraining, time.Hour), never, []string{}},
	} {
		record := &api.DisruptionRecord{Member: "berlin", Disruptions: []api.Disruption{c.one}, Backoffs: []api.NodeBackoff{{Node: "n2", Failures: 1, Until: before(-time.Second)}}}
		m := Disruptions{Record: record, Told: c.told}
		require.Equal(t, c.want, told(m.lasting(noon)), c.what)
	}
}

// A member about whose nodes nothing is decided is a problem, unless it is one already, or something is under way.
func TestUndecided(t *testing.T) {
	stale := func(member string) *api.DisruptionRecord {
		return &api.DisruptionRecord{Member: member, Stale: "no inventory", StaleSince: before(undecidedPatience)}
	}
	berlin := func(change func(*Disruptions)) []Disruptions {
		m := Disruptions{Record: stale("berlin"), Pooled: true, State: api.MemberReady, Told: never}
		change(&m)
		return []Disruptions{m}
	}
	require.Equal(t, []string{"member/berlin NothingDecided: nothing is decided about its nodes: no inventory -> flotilla plan nodes -m berlin"}, told(OfDisruptions(berlin(func(*Disruptions) {}), noon)))
	for what, change := range map[string]func(*Disruptions){
		"has no nodes":      func(m *Disruptions) { m.Pooled = false },
		"is not Ready":      func(m *Disruptions) { m.State = api.MemberUnknown },
		"is worked on":      func(m *Disruptions) { m.Elsewhere = true },
		"is decided about":  func(m *Disruptions) { m.Record.Stale = "" },
		"is just so":        func(m *Disruptions) { m.Record.StaleSince = before(undecidedPatience - 1) },
		"launches machines": func(m *Disruptions) { m.Record.Disruptions = []api.Disruption{{Phase: api.PhaseLaunching}} },
		"drains nodes": func(m *Disruptions) {
			m.Record.Disruptions = []api.Disruption{{Phase: api.PhaseDone}, {Phase: api.PhaseDraining}}
		},
	} {
		require.Empty(t, OfDisruptions(berlin(change), noon), what)
	}
	both := append(berlin(func(m *Disruptions) { m.State = "" }), Disruptions{Record: stale("oslo"), Pooled: true, Told: never})
	both[1].Record.StaleSince = before(time.Hour)
	found := OfDisruptions(both, noon)
	require.Equal(t, []string{"fleet NothingDecided: nothing is decided about the nodes of berlin, oslo: no inventory -> flotilla plan nodes -m berlin"}, told(found))
	require.Equal(t, before(time.Hour), found[0].Since)
}

func TestGivenUp(t *testing.T) {
	record := &api.DisruptionRecord{Member: "berlin", Backoffs: []api.NodeBackoff{{Node: "n1", Failures: 1, Until: before(0)}, {Node: "n2", Failures: 1, Until: before(-30 * time.Second), Why: "w"}}}
	require.Equal(t, []string{
		"node/berlin/n2 DisruptionFailed: its disruption failed once, and it is left alone until 2024-05-01T12:00:30Z: w -> flotilla events node/berlin/n2",
	}, told(givenUp(record, noon)))
}

// Of several the one that failed last says why, wherever it stands.
func TestTheLatestFailureSaysWhy(t *testing.T) {
	late := api.NodeBackoff{Node: "late", Failures: 1, Until: before(-30 * time.Second), Why: "no capacity"}
	early := api.NodeBackoff{Node: "early", Failures: 1, Until: before(-20 * time.Second), Why: "a webhook"}
	for _, backoffs := range [][]api.NodeBackoff{{late, early}, {early, late}} {
		found := givenUp(&api.DisruptionRecord{Member: "berlin", Backoffs: backoffs}, noon)
		require.Len(t, found, 1)
		require.Contains(t, found[0].Message, "no capacity")
		require.NotContains(t, found[0].Message, "a webhook")
	}
}

// Of a warning that ends with a corrected form all but that is told; one without is told whole.
func TestWarningsAreToldBriefly(t *testing.T) {
	for lint, want := range map[string]string{
		"never; write it so:\n- a": "never", "a; b; write:\n- a": "a; b", "a; b": "a; b", "all\n- a": "all", "": "",
	} {
		require.Equal(t, want, briefly(lint), lint)
	}
}

func TestPool(t *testing.T) {
	status := api.NodePoolStatus{
		Unconfirmed: []string{"berlin"}, Lint: []string{"BudgetLint: never matches; write:\n- nodes: 1"},
		Members: []api.PoolMember{{Member: "oslo"}, {Member: "rome", NotInCatalog: 2, Example: "d2", Catalog: "azure"}},
	}
	next := " -> flotilla describe nodepool general"
	require.Equal(t, []string{
		"nodepool/general BudgetLint: never matches" + next,
		"nodepool/general NotInCatalog: 2 nodes on rome without a price, so that they are not consolidated: InstanceCatalog azure does not list d2" + next,
	}, told(Pool("general", before(time.Hour), nil, &status)))
	deleted := before(time.Minute)
	require.Equal(t, []string{"nodepool/general Deleting: waits for berlin" + next}, told(Pool("general", before(time.Hour), &deleted, &status)))
}
