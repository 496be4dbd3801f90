package upgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// Skipped stages, groups and waits outlive an edit like skipped members do.
func TestSkipsOfAllKindsOutliveAnEdit(t *testing.T) {
	run, _, view := silentPair(t, "1.29.2")
	only := func(name, wave string) api.UpdateStage {
		m, _ := view.Fleet.Member(name)
		facts := m.MemberFacts
		facts.Labels = map[string]string{"wave": wave}
		require.NoError(t, view.Fleet.Set(facts))
		return api.UpdateStage{
			Name: "s" + wave, AfterStageWaitInSeconds: 60,
			Groups: []api.UpdateGroup{{Name: "g" + wave, MemberSelector: &api.MemberSelector{ByLabel: "wave=" + wave}}},
		}
	}
	run.Spec.Strategy = &api.RunStrategy{Stages: []api.UpdateStage{only("a", "1"), only("b", "2")}}
	for name, target := range map[string]api.SkipTarget{
		"stage": {Type: api.TargetStage, Name: "s1"}, "group": {Type: api.TargetGroup, Name: "g2"},
		"wait": {Type: api.TargetAfterStageWait, Name: "s1"}, "member": {Type: api.TargetMember, Name: "b"},
	} {
		status, refusal := upgrade.Create(run, nil, view, benchNow)
		require.Nil(t, refusal)
		skipped, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunSkip, &api.RunRequest{Targets: []api.SkipTarget{target}})
		require.Nil(t, refusal)
		kept := upgrade.KeepSkips(run, &status, &skipped.Status, view, benchNow)
		require.Equal(t, skipped.Status, kept, name)
	}
}
