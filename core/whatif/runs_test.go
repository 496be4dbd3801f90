package whatif_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/sim"
	"flotilla/core/whatif"
)

// under is a run of two stages with two members each; a, b and d leave.
func under(name string, content *api.ContentRun, run api.UpdateState, members ...api.UpdateState) api.UpdateRunStatus {
	r := api.UpdateRunStatus{Run: name, Content: content, Status: api.UpdateStatus{State: run}}
	for i, state := range members {
		if i%2 == 0 {
			r.Stages = append(r.Stages, api.StageStatus{Groups: []api.GroupStatus{{}}})
		}
		group := &r.Stages[i/2].Groups[0]
		group.Members = append(group.Members, api.MemberUpdateStatus{Name: string(rune('a' + i)), Status: api.UpdateStatus{State: state}})
	}
	return r
}

// A run skips the members that leave and that it has not begun with, and waits for an upgrade that runs on one. It does not
// wait for content. What is over for a member or for the run is not told.
func TestRunsOfMembersThatLeave(t *testing.T) {
	const open, runs, done = api.StateNotStarted, api.StateRunning, api.StateCompleted
	in := whatif.Input{Now: sim.Now, Without: []whatif.Leaver{{Member: "d"}, {Member: "a"}, {Member: "b"}}, Runs: []api.UpdateRunStatus{
		under("upgrade", nil, runs, runs, open, runs, open),
		under("ended", nil, api.StateFailed, open, open),
		under("content", &api.ContentRun{Placement: "web"}, runs, done, runs, open, open),
		under("passed", nil, runs, done, api.StateSkipped, runs),
	}}
	for _, name := range []string{"a", "b", "c", "d"} {
		in.Members = append(in.Members, api.Member{Name: name})
	}
	answer := whatif.Build(in)
	require.Equal(t, []whatif.Run{
		{Name: "content", State: "Running", Placement: "web", Skipped: []string{"b", "d"}, Awaited: []string{}},
		{Name: "upgrade", State: "Running", Skipped: []string{"b", "d"}, Awaited: []string{"a"}},
	}, answer.Runs)
	require.True(t, answer.Differs())
	require.Contains(t, answer.Text(false), `staged run content of placement/web (Running)
  ~ skips b, d

updaterun/upgrade (Running)
  ~ skips b, d
  ~ waits, until its timeout, for the upgrade that runs on a
`)
}

// Kinds that can be added are those of members and placements.
func TestAddable(t *testing.T) {
	for kind, want := range map[string]bool{
		api.KindMemberCluster: true, api.KindClusterResourcePlacement: true, api.KindResourcePlacement: true, api.KindUpdateRun: false, "Node": false,
	} {
		require.Equal(t, want, whatif.Addable(kind), kind)
	}
}
