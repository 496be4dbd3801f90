package validate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func stagedFaults(t *testing.T, kind, meta, spec string) []string {
	t.Helper()
	_, faults := Decode([]byte(`{"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "` + kind + `", "metadata": {` + meta + `}, "spec": ` + spec + `}`))
	var out []string
	for _, f := range faults {
		out = append(out, f.Path+": found "+f.Found+", expected "+f.Expected)
	}
	return out
}

func TestRulesOfStagedRuns(t *testing.T) {
	for name, c := range map[string]struct {
		kind, meta, spec string
		want             []string
	}{
		"a run": {api.KindClusterStagedUpdateRun, `"name": "web-1"`, `{"placementName": "web", "resourceSnapshotIndex": "", "stagedRolloutStrategyName": "waves", "state": "Initialize"}`, nil},
		"one in a namespace": {
			api.KindStagedUpdateRun, `"name": "web-1", "namespace": "shop"`, `{"placementName": "web", "resourceSnapshotIndex": "3", "stagedRolloutStrategyName": "waves"}`, nil,
		},
		"all of it is wrong": {api.KindClusterStagedUpdateRun, `"name": "web_1", "namespace": "shop"`, `{"placementName": "", "resourceSnapshotIndex": "last", "stagedRolloutStrategyName": "W", "state": "Go"}`, []string{
			`metadata.namespace: found "shop", expected nothing: kind ClusterStagedUpdateRun lies in no namespace`,
			`metadata.name: found "web_1", expected lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit`,
			`spec.placementName: found nothing, expected a name`,
			`spec.stagedRolloutStrategyName: found "W", expected lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit`,
			`spec.state: found "Go", expected Initialize, Run or Stop`,
			"spec.resourceSnapshotIndex: found \"last\", expected the number of a revision, as `flotilla rollout history` lists it",
		}},
		"no namespace": {api.KindStagedUpdateRun, `"name": "web-1"`, `{"placementName": "web", "stagedRolloutStrategyName": "waves"}`, []string{
			"metadata.namespace: found nothing, expected the namespace of the ResourcePlacement",
		}},
		"a strategy": {api.KindClusterStagedUpdateStrategy, `"name": "waves"`, `{"stages": [{"name": "canary", "labelSelector": {}, "maxConcurrency": "25%",
			"afterStageTasks": [{"type": "TimedWait", "waitTime": "1h30m"}, {"type": "Approval"}], "beforeStageTasks": [{"type": "Approval"}]}]}`, nil},
		"no stages": {api.KindStagedUpdateStrategy, `"name": "waves", "namespace": "shop"`, `{"stages": []}`, []string{"spec.stages: found nothing, expected 1 to 31 stages"}},
		"stages that are wrong": {api.KindClusterStagedUpdateStrategy, `"name": "waves"`, `{"stages": [
			{"name": "Canary-1", "maxConcurrency": 0, "sortingLabelKey": "a b"},
			{"name": "prod", "maxConcurrency": "0%", "beforeStageTasks": [{"type": "TimedWait", "waitTime": "1h"}]},
			{"name": "prod", "afterStageTasks": [{"type": "Approval", "waitTime": "1h"}, {"type": "Approval"}]},
			{"name": "rest", "afterStageTasks": [{"type": "TimedWait"}, {"type": "TimedWait", "waitTime": "721h"}, {"type": "Approval"}]}]}`, []string{
			`spec.stages[0].name: found "Canary-1", expected 1 to 63 lower-case letters and digits`,
			`spec.stages[0].sortingLabelKey: found "a b", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
			`spec.stages[0].maxConcurrency: found number 0, expected a number of 1 or more, or a percentage from "1%" to "100%"`,
			`spec.stages[1].maxConcurrency: found "0%", expected a number of 1 or more, or a percentage from "1%" to "100%"`,
			`spec.stages[1].beforeStageTasks[0].type: found "TimedWait", expected Approval; a TimedWait stands behind a stage`,
			`spec.stages[2].name: found "prod" again, expected each stage under a name of its own`,
			`spec.stages[2].afterStageTasks[0].waitTime: found 1h0m0s, expected nothing: an approval waits for somebody`,
			`spec.stages[2].afterStageTasks[1].type: found "Approval" again, expected each type once`,
			`spec.stages[3].afterStageTasks: found a list of 3, expected at most 2, each of another type`,
			`spec.stages[3].afterStageTasks[0].waitTime: found nothing, expected how long to wait, such as 30m`,
			`spec.stages[3].afterStageTasks[1].type: found "TimedWait" again, expected each type once`,
			`spec.stages[3].afterStageTasks[1].waitTime: found 721h0m0s, expected more than 0, at most 720h`,
		}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, stagedFaults(t, c.kind, c.meta, c.spec)) })
	}
}

// Of a run only the state it is wanted in may change, and that not into every other one.
func TestChangesOfStagedRuns(t *testing.T) {
	run := func(state string) *api.StagedUpdateRun {
		r := &api.StagedUpdateRun{Spec: api.StagedUpdateRunSpec{PlacementName: "web", StrategyName: "waves", State: state}}
		r.Kind, r.Name = api.KindClusterStagedUpdateRun, "web-1"
		return r
	}
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"", api.RunRun, true},
		{api.RunInitialize, api.RunRun, true},
		{api.RunRun, api.RunStop, true},
		{api.RunStop, api.RunRun, true},
		{api.RunRun, api.RunRun, true},
		{api.RunInitialize, api.RunStop, false},
		{api.RunRun, api.RunInitialize, false},
		{api.RunRun, "", false},
		{api.RunStop, api.RunInitialize, false},
	} {
		faults := stagedRunChange(run(c.to), run(c.from))
		require.Equal(t, c.allowed, len(faults) == 0, "%s to %s: %s", c.from, c.to, faults)
	}
	other := run(api.RunRun)
	other.Spec.PlacementName, other.Spec.StrategyName, other.Spec.ResourceSnapshotIndex = "api", "others", "2"
	require.Len(t, stagedRunChange(other, run(api.RunRun)), 3)
}

// Of an approval request the status is read, for what approves is there; the rest that the hub sets is left out.
func TestTheStatusOfAnApprovalRequestIsRead(t *testing.T) {
	d, faults := Decode([]byte(`{"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterApprovalRequest", "metadata": {"name": "web-1-before-prod", "uid": "u"},
		"spec": {"parentStageRollout": "web-1", "targetStage": "prod"}, "status": {"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "", "lastTransitionTime": null, "observedGeneration": 1}]}}`))
	require.Empty(t, faults)
	require.Len(t, As[api.ApprovalRequest](&d).Status.Conditions, 1)
	require.Equal(t, "ignored, because the hub sets it: metadata.uid", d.DropServerSet())
}
