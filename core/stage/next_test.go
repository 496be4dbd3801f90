package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// The command that brings a run on can be typed as it stands.
func TestWhichCommandBringsARunOn(t *testing.T) {
	gate := []api.StageStatus{{Name: "test"}, {Name: "prod", BeforeGates: []api.GateStatus{
		{Type: api.GateApproval, Status: api.UpdateStatus{State: api.StateCompleted}}, {Type: api.GateScheduledStart, Status: api.UpdateStatus{State: api.StatePending}},
	}, AfterGates: []api.GateStatus{{Type: api.GateApproval, Status: api.UpdateStatus{State: api.StatePending}}}}}
	in := func(state api.UpdateState) api.UpdateStatus { return api.UpdateStatus{State: state} }
	for name, c := range map[string]struct {
		status api.UpdateRunStatus
		want   string
	}{
		"not started":                {api.UpdateRunStatus{Status: in(api.StateNotStarted)}, "flotilla run start spring"},
		"cannot be started":          {api.UpdateRunStatus{Status: api.UpdateStatus{State: api.StateNotStarted, Error: &api.UpdateError{}}}, "flotilla describe run/spring"},
		"waits for another":          {api.UpdateRunStatus{Status: in(api.StateNotStarted), BlockedBy: "winter"}, "flotilla run status winter"},
		"stopped":                    {api.UpdateRunStatus{Status: in(api.StateStopped), BlockedBy: "winter"}, "flotilla run start spring"},
		"failed":                     {api.UpdateRunStatus{Status: in(api.StateFailed)}, "flotilla run start spring"},
		"failed with content":        {api.UpdateRunStatus{Status: in(api.StateFailed), Content: &api.ContentRun{}}, "flotilla run start spring"},
		"went back":                  {api.UpdateRunStatus{Status: in(api.StateFailed), Content: &api.ContentRun{RollBack: &api.ContentRollBack{}}}, "flotilla describe run/spring"},
		"done":                       {api.UpdateRunStatus{Status: in(api.StateCompleted)}, "flotilla get members"},
		"content is done":            {api.UpdateRunStatus{Status: in(api.StateCompleted), Content: &api.ContentRun{}}, "flotilla get placements"},
		"done, and some failed":      {api.UpdateRunStatus{Status: in(api.StateCompleted), FailureCount: 1}, "flotilla run rerun spring"},
		"goes on":                    {api.UpdateRunStatus{Status: in(api.StateRunning)}, "flotilla run status spring --watch"},
		"waits for an approval":      {api.UpdateRunStatus{Status: in(api.StatePending), Stages: gate}, "flotilla run approve spring --gate prod/after/Approval"},
		"stops, whoever may approve": {api.UpdateRunStatus{Status: in(api.StateStopping), Stages: gate}, "flotilla run status spring --watch"},
	} {
		c.status.Run = "spring"
		require.Equal(t, c.want, stage.Next(&c.status), name)
	}
	for state, want := range map[api.UpdateState]string{api.StateRunning: " --watch", api.StatePending: " --watch", api.StateStopping: " --watch", api.StateStopped: "", api.StateCompleted: ""} {
		require.Equal(t, "flotilla run status spring"+want, stage.Show(&api.UpdateRunStatus{Run: "spring", Status: in(state)}), state)
	}
}

// The strategy of a run is shown as it was written, that of content for a run of content.
func TestTheStrategyOfARunIsShown(t *testing.T) {
	status := &api.UpdateRunStatus{Strategy: api.RunStrategy{Stages: []api.UpdateStage{{Name: "<a>"}}}}
	require.Contains(t, stage.StrategyText(status), `"name": "<a>"`)
	status.Content = &api.ContentRun{Strategy: api.StagedUpdateStrategySpec{Stages: []api.ContentStage{{Name: "waves"}}}}
	require.Contains(t, stage.StrategyText(status), `"name": "waves"`)
	require.NotContains(t, stage.StrategyText(status), "<a>")
}
