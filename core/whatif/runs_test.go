package whatif_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

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

// A document of a placement that is there is the next version of it; one that is not there is new.
func TestADocumentIsTheNextVersionOfItsPlacement(t *testing.T) {
	known := whatif.Subject{Known: true}
	known.Placement.Name, known.Placement.UID, known.Placement.Generation = "web", "u", 4
	in := whatif.Input{Now: sim.Now, Subjects: []whatif.Subject{known}}
	document := func(name string) string {
		return `{"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourcePlacement", "metadata": {"name": "` + name + `"},
			"spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}]}}`
	}
	require.Empty(t, in.Add([]json.RawMessage{json.RawMessage(document("web")), json.RawMessage(document("api"))}))
	require.Len(t, in.Subjects, 2)
	require.Equal(t, []any{types.UID("u"), int64(5)}, []any{in.Subjects[0].Next.UID, in.Subjects[0].Next.Generation})
	require.Equal(t, []any{"api", false}, []any{in.Subjects[1].Next.Name, in.Subjects[1].Known})
	faults := in.Add([]json.RawMessage{json.RawMessage(document("fine")), json.RawMessage(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}`)})
	require.Len(t, faults, 1)
	require.Equal(t, []any{2, "ConfigMap/b/a"}, []any{faults[0].Document, faults[0].Object})
}
