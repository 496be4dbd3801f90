package run

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/validate/upgrades"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func flagsOf(t *testing.T, args ...string) (*stageFlags, *policyFlags) {
	t.Helper()
	stages, policy := &stageFlags{}, &policyFlags{}
	set := pflag.NewFlagSet("create", pflag.ContinueOnError)
	stages.addFlags(set)
	policy.addFlags(set)
	require.NoError(t, set.Parse(args))
	return stages, policy
}

func TestStagesOfFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `null`},
		{[]string{"-l", "env=dev"}, `{stages: [{name: default, memberSelector: {byLabel: env=dev}}]}`},
		{[]string{"--max-concurrency", "3"}, `{stages: [{name: default, memberSelector: {byLabel: ""}, maxConcurrency: "3"}]}`},
		{
			[]string{"--group", "eu", "--group", "us:region in (us,ca)", "--max-failures", "us=1"},
			`{stages: [{name: default, groups: [{name: eu}, {name: us, memberSelector: {byLabel: "region in (us,ca)"}, maxAllowedFailures: "1"}]}]}`,
		},
		{[]string{
			"--stage", "canary:ring=0", "--stage", "prod", "--group", "prod/eu", "--group", "prod/prod:x", "-l", "env=live",
			"--wait", "canary=90m", "--max-concurrency", "25%", "--max-concurrency", "prod=50%", "--max-concurrency", "eu=2",
			"--approve-before", "prod", "--approve-after", "eu", "--start-at", "canary=saturday 02:00 +01:00", "--max-failures", "prod/prod=10%",
		}, `{stages: [
			{name: canary, memberSelector: {byLabel: "ring=0,env=live"}, maxConcurrency: 25%, afterStageWaitInSeconds: 5400,
			 beforeGates: [{type: ScheduledStart, scheduledStartConfiguration: {startDay: Saturday, startTime: "02:00", utcOffset: "+01:00"}}]},
			{name: prod, memberSelector: {byLabel: env=live}, maxConcurrency: 50%, beforeGates: [{type: Approval}], groups: [
			 {name: eu, maxConcurrency: "2", afterGates: [{type: Approval}]},
			 {name: prod, memberSelector: {byLabel: x}, maxAllowedFailures: 10%}]}]}`},
	} {
		stages, _ := flagsOf(t, c.args...)
		strategy, err := stages.strategy()
		require.NoError(t, err, c.args)
		got, err := json.Marshal(strategy)
		require.NoError(t, err)
		want, err := yaml.YAMLToJSON([]byte(c.want))
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), "%v", c.args)
		if strategy != nil {
			run := &api.UpdateRun{Spec: api.UpdateRunSpec{Strategy: strategy, Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.31"}}}
			run.Name = "x"
			require.Empty(t, upgrades.UpdateRun(run), "%v", c.args)
		}
	}
}

func TestStageFlagsThatCannotBeFollowed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--stage", "a:x", "--stage", "b:y", "--group", "eu"}, "expected STAGE/eu, as there are 2 stages"},
		{[]string{"--stage", "prod:x", "--group", "prd/eu"}, "did you mean prod?"},
		{[]string{"--stage", "prod:x", "--max-concurrency", "pord=2"}, "did you mean prod?"},
		{[]string{"--wait", "soon"}, "expected a duration up to 720h"},
		{[]string{"--wait", "721h"}, "expected a duration up to 720h"},
		{[]string{"--group", "eu", "--wait", "eu=1h"}, "only stages are waited after"},
		{[]string{"--start-at", "Saturday"}, "expected a day, a time and an offset"},
		{[]string{"--start-at", "Satrday 02:00"}, "did you mean Saturday?"},
	} {
		stages, _ := flagsOf(t, c.args...)
		_, err := stages.strategy()
		require.ErrorContains(t, err, c.want, "%v", c.args)
		require.Equal(t, session.ExitUsage, session.FailureOf(err).Code)
	}
}

func TestPolicyOfFlags(t *testing.T) {
	_, none := flagsOf(t)
	policy, err := none.policy()
	require.NoError(t, err)
	require.Nil(t, policy)

	_, some := flagsOf(t, "--on-stopped", "wait", "--on-ineligible=Skip", "--member-timeout", "2h", "--strict", "--checks", "warn")
	policy, err = some.policy()
	require.NoError(t, err)
	require.Equal(t, [3]string{api.PolicyWait, api.PolicySkip, api.ChecksWarn}, [3]string{policy.OnStopped, policy.OnIneligible, policy.Checks})
	require.Equal(t, 2*time.Hour, api.Span(policy.MemberTimeout))
	require.True(t, *policy.Strict)
	require.Nil(t, policy.AllowPreview)

	_, wrong := flagsOf(t, "--on-unreachable", "Fial")
	_, err = wrong.policy()
	require.ErrorContains(t, err, "did you mean Fail?")
}

func TestUpgradeOfFlags(t *testing.T) {
	now := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		options createOptions
		name    string
		images  string
	}{
		{createOptions{to: "v1.31.2"}, "upgrade-1-31-2", api.ImagesLatest},
		{createOptions{to: "1.31", kind: "controlplaneonly"}, "control-plane-1-31", api.ImagesLatest},
		{createOptions{images: []string{"consistent"}}, "node-images-20261120", api.ImagesConsistent},
		{createOptions{to: "1.31", images: []string{"AKSUbuntu-2204gen2containerd-202401.09.0"}}, "upgrade-1-31", api.ImagesCustom},
	} {
		run, err := c.options.run(now)
		require.NoError(t, err)
		require.Equal(t, c.name, run.Name)
		require.Equal(t, c.images, run.Spec.Upgrade.Images())
		require.Empty(t, upgrades.UpdateRun(run))
	}
	_, err := (&createOptions{to: "1.31", kind: api.UpgradeNodeImageOnly}).run(now)
	require.ErrorContains(t, err, "leaves as it is")
	_, err = (&createOptions{kind: "Ful", to: "1.31"}).run(now)
	require.ErrorContains(t, err, "did you mean Full?")
}

func TestSkipTargetsOfArguments(t *testing.T) {
	targets, err := skipTargets([]string{"member/oslo", "Groups/eu", "stage/prod", "wait/canary"})
	require.NoError(t, err)
	require.Equal(t, []api.SkipTarget{
		{Type: api.TargetMember, Name: "oslo"},
		{Type: api.TargetGroup, Name: "eu"},
		{Type: api.TargetStage, Name: "prod"},
		{Type: api.TargetAfterStageWait, Name: "canary"},
	}, targets)
	for arg, want := range map[string]string{"oslo": "expected member/NAME", "membr/oslo": "did you mean member?", "group/": "expected member/NAME"} {
		_, err := skipTargets([]string{arg})
		require.ErrorContains(t, err, want)
	}
}

// What a run does not have is refused like anything else that cannot be done with it; a run that is not
// there is not found.
func TestPartsThatARunDoesNotHave(t *testing.T) {
	a := commands{Client: clientOf(clitest.Answering{
		api.VerbRunSkip: func(any) (any, error) {
			return nil, (&api.Refusal{Code: api.CodeSkipTargetNotFound, Message: `run spring has no Group "nowhere"`}).Failure()
		},
		api.VerbList: func(any) (any, error) {
			return api.ListResponse{Items: []json.RawMessage{json.RawMessage(`{"apiVersion": "flotilla.io/v1", "kind": "UpdateRun", "metadata": {"name": "spring"}}`)}}, nil
		},
	})}
	for run, code := range map[string]int{"spring": session.ExitRefused, "sprong": session.ExitDifferent} {
		_, err := a.operate(t.Context(), &operation{verb: api.VerbRunSkip, request: api.RunRequest{Run: run}})
		require.Equal(t, code, session.FailureOf(err).Code, run)
	}
}

func TestApproveWantsToKnowWhichGate(t *testing.T) {
	gates := func(states ...api.UpdateState) clitest.Answering {
		run := clitest.SpringRun(t)
		run.Status.Stages[1].BeforeGates[0] = api.GateStatus{Type: api.GateApproval, GateID: "a", Status: api.UpdateStatus{State: states[0]}}
		run.Status.Stages[1].Groups[0].BeforeGates = []api.GateStatus{
			{Type: api.GateApproval, GateID: "b", Status: api.UpdateStatus{State: states[1]}},
			{Type: api.GateScheduledStart, GateID: "c", Schedule: &api.ScheduledStart{}, Status: api.UpdateStatus{State: states[2]}},
		}
		return clitest.Answering{api.VerbGet: func(any) (any, error) { return run, nil }}
	}
	for _, c := range []struct {
		hub  clitest.Answering
		gate string
		code int
	}{
		{gates(api.StatePending, api.StateCompleted, api.StatePending), "prod/before/Approval", session.ExitDone},
		{gates(api.StateCompleted, api.StateCompleted, api.StatePending), "prod/eu/before/ScheduledStart", session.ExitDone},
		{gates(api.StatePending, api.StatePending, api.StateCompleted), "", session.ExitUsage},
		{gates(api.StateCompleted, api.StateCompleted, api.StateCompleted), "", session.ExitRefused},
	} {
		gate, err := commands{Client: clientOf(c.hub)}.waitingGate(t.Context(), "spring")
		require.Equal(t, c.gate, gate)
		if c.code != session.ExitDone {
			require.Equal(t, c.code, session.FailureOf(err).Code)
		}
	}
}

// clientOf is a client of a hub.
func clientOf(hub session.Hub) *resource.Client {
	return resource.New(session.New(session.Environment{
		Getenv: func(string) string { return "" },
		Dial:   func(context.Context, session.Connection) (session.Hub, error) { return hub, nil },
	}))
}
