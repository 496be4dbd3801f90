package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// states has the agent of a member state labels, which the registrar took over.
func (h *harness) states(member string, labels map[string]string) {
	h.t.Helper()
	h.put(subjects.Members.Key(member), api.MemberRecord{Name: member, UID: "u-" + member, State: api.MemberReady, Labels: labels})
}

// A68: an agent that states a label of two groups leaves its own member out of an update run, and the run goes on.
func TestALabelThatAnAgentStatesStopsNoUpdateRun(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never})
	for _, name := range []string{"berlin", "mallory"} {
		h.member(name, "u-"+name, map[string]string{"env": "prod"})
		h.inventory(name, "1.29.2")
	}
	h.states("mallory", map[string]string{"env": "prod", "tier": "fe"})
	h.updateRun("r1", `{"upgrade":{"type":"Full","kubernetesVersion":"1.29.9"},"strategy":{"stages":[
		{"name":"one","groups":[{"name":"aa","memberSelector":{"byLabel":"env=prod"}}]},
		{"name":"two","groups":[{"name":"bb","memberSelector":{"byLabel":"tier=fe"}}]}]}}`)
	status := h.eventually("r1", "NotStarted: berlin NotStarted")
	require.Len(t, status.LeftOut, 1)
	h.told("run/r1", "LeftOut: member mallory", `is in groups aa and bb by label tier="fe", which its agent alone states`, "flotilla label member mallory tier=VALUE")
	h.start("r1")
	h.eventually("r1", "Running: berlin Running")
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Completed: berlin Completed")
}

// D31: the same of a run of content, also where the label puts the member into no stage.
func TestALabelThatAnAgentStatesStopsNoRunOfContent(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never})
	for name, labels := range map[string]map[string]string{"berlin": {"tier": "prod"}, "mallory": {"tier": "prod"}, "eve": nil} {
		h.member(name, "u-"+name, labels)
	}
	h.states("mallory", map[string]string{"tier": "prod", "edge": "yes"})
	h.states("eve", map[string]string{"tier": "none"})
	h.bookshop()
	h.object(subjects.StagedStrategySpecs, api.KindClusterStagedUpdateStrategy, "waves", `{"stages":[{"name":"prod","labelSelector":{"matchLabels":{"tier":"prod"}}},
		{"name":"edge","labelSelector":{"matchLabels":{"edge":"yes"}}}]}`)
	h.put(subjects.Schedules.Key("bookshop"), api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "bookshop", UID: "uid-bookshop", Generation: 1, Policy: "p", Fulfilled: true,
		Bindings: []api.Binding{{Member: "berlin"}, {Member: "eve"}, {Member: "mallory"}},
	})
	h.object(subjects.RunSpecs, api.KindClusterStagedUpdateRun, "spring", `{"placementName":"bookshop","stagedRolloutStrategyName":"waves"}`)
	h.eventually("spring", "NotStarted: berlin NotStarted")
	h.told("run/spring", "LeftOut: member mallory", `is in stages prod and edge by label edge="yes", which its agent alone states`)
	h.told("run/spring", "LeftOut: member eve", `is in no stage by label tier="none", which its agent alone states`)
	h.start("spring")
	h.eventually("spring", "Completed: berlin Completed ContentAvailable")
}
