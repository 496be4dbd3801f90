package crowd

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
)

func ask[A any](t testing.TB, f *Fleet, verb string, question any) (answer A) {
	t.Helper()
	require.NoError(t, f.ask(t.Context(), verb, question, &answer))
	return answer
}

func rows(t testing.TB, f *Fleet) *overview.Fleet {
	t.Helper()
	fleet, err := f.Rows(t.Context())
	require.NoError(t, err)
	return fleet
}

func placement(t testing.TB, fleet *overview.Fleet, name string) *overview.Placement {
	t.Helper()
	for i := range fleet.Placements {
		if fleet.Placements[i].Key == name {
			return &fleet.Placements[i]
		}
	}
	require.Fail(t, "there is no placement "+name)
	return nil
}

func listed(t testing.TB, f *Fleet, kind string) (items []json.RawMessage) {
	t.Helper()
	for next := ""; ; {
		page := ask[api.ListResponse](t, f, api.VerbList, api.ListRequest{Kind: kind, Continue: next, Brief: true})
		if items, next = append(items, page.Items...), page.Continue; next == "" {
			return items
		}
	}
}

// asPlanned holds a fleet against what Start says that it leaves.
func asPlanned(t testing.TB, f *Fleet) {
	t.Helper()
	status := ask[api.FleetStatus](t, f, api.VerbStatus, nil)
	want := map[string]int{}
	for state, n := range f.Members() {
		want[string(state)] = n
	}
	require.Equal(t, want, status.Members)
	require.Equal(t, f.options.Placements, status.Placements)
	require.Equal(t, map[string]int{"Completed": 1, "Failed": 1, "Pending": 1, "Running": 1}, status.Runs)
	require.Len(t, status.Frozen, 1)
	require.Positive(t, status.Disruptions[string(api.PhaseLaunching)]+status.Disruptions[string(api.PhaseDraining)], status.Disruptions)
	require.Len(t, listed(t, f, api.KindMemberCluster), f.options.Members)
	require.Len(t, listed(t, f, api.KindClusterResourcePlacement), f.options.Placements)
	require.Len(t, listed(t, f, api.KindAutoUpgradeProfile), 1)
	require.NotEmpty(t, listed(t, f, api.KindMemberMaintenance))

	fleet := rows(t, f)
	require.Len(t, fleet.Members, f.options.Members)
	require.Len(t, fleet.Placements, f.options.Placements)
	web := placement(t, fleet, everywhere)
	require.Equal(t, overview.Bad, web.Sign)
	require.Positive(t, web.Counts.Failed)
	require.Positive(t, web.Counts.Drifted)
	require.Less(t, web.Counts.Available, web.Counts.Applied)
	require.Equal(t, 1, web.Counts.Unconfirmed, "a member leaves and confirms nothing")
	require.NotNil(t, placement(t, fleet, pinned).Pinned)
	require.True(t, placement(t, fleet, withheld).Held)
	require.Contains(t, placement(t, fleet, staged).Message, "for a staged run")
	require.Equal(t, f.Spring(), courseOf(t, fleet, runSpring))
}

func courseOf(t testing.TB, fleet *overview.Fleet, name string) (c Course) {
	t.Helper()
	for i := range fleet.Runs {
		if run := &fleet.Runs[i]; run.Key == name {
			return Course{Members: run.Members, Finished: run.Finished, Failed: run.Failed}
		}
	}
	require.Fail(t, "there is no run "+name)
	return c
}

func TestTenMembersAreAsPlanned(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Members: 10, Placements: 4, Seed: 1})
	asPlanned(t, f)
	fleet := rows(t, f)
	require.NotNil(t, placement(t, fleet, pinned).Paused)
	text, err := json.Marshal(fleet)
	require.NoError(t, err)
	require.Greater(t, strings.Count(string(text), `\u003cscript\u003e`), 5, "what is shown has to be escaped")
	require.Contains(t, string(text), `nowhere \u003cb`)
}

// What is shaken settles again, and comes to what players report.
func TestAShakenFleetSettles(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Members: 10, Placements: 8, Seed: 2})
	require.NotNil(t, placement(t, rows(t, f), paused).Paused)
	random := rand.New(rand.NewPCG(2, 3))
	for range 30 {
		t.Log(f.Shake(random))
	}
	f.Settle()
	fleet := rows(t, f)
	unwell := 0
	for i := range fleet.Members {
		m := &fleet.Members[i]
		if p := f.byName[m.Name]; p != nil && m.State == api.MemberNotReady {
			require.False(t, p.says().healthy, m.Name)
			unwell++
		}
	}
	for _, p := range f.players {
		if s := p.says(); !s.healthy && !s.silent {
			unwell--
		}
	}
	require.Zero(t, unwell, "who is unwell is shown so")
}

// A member that comes to be unwell, and one that refuses a placement and takes it again, are told of.
func TestTheFleetDoesWhatItIsTold(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Members: 10, Placements: 4, Seed: 3})
	p := f.anyone(rand.New(rand.NewPCG(1, 1)))
	row := func() *overview.Member {
		fleet := rows(t, f)
		for i := range fleet.Members {
			if fleet.Members[i].Name == p.name {
				return &fleet.Members[i]
			}
		}
		return nil
	}
	f.Set(p.name, Unwell(markup), Nodes(77))
	f.Settle()
	require.Equal(t, api.MemberNotReady, row().State)
	require.Equal(t, "its agent says: "+markup, row().Message)
	f.Set(p.name, Well())
	f.Report(p.name, everywhere, WellThere)
	f.Settle()
	require.Equal(t, api.MemberReady, row().State)
	failed := placement(t, rows(t, f), everywhere).Counts.Failed
	f.Report(p.name, everywhere, RefusedThere)
	f.Settle()
	require.Equal(t, failed+1, placement(t, rows(t, f), everywhere).Counts.Failed)
}
