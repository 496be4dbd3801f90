package staged_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/staged"
)

func fleet(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "oslo tier=canary", "berlin tier=prod order=30", "lima tier=prod order=10", "paris tier=prod order=20")
	key := "order"
	prod := atOnce(by("prod", "prod"), intstr.FromString("70%"))
	prod.SortingLabelKey, prod.BeforeStageTasks = &key, []api.StageTask{{Type: api.TaskApproval}}
	w.strategy(by("canary", "canary"), prod)
	return w
}

func TestStagesGoOutInTheirOrder(t *testing.T) {
	w := fleet(t)
	w.create()
	w.release()
	require.Empty(t, w.holding(), "nobody moves by itself")
	require.Equal(t, "waits for a staged run: spec.strategy.type is External", w.held("oslo"))

	w.wants(api.RunRun)
	require.Equal(t, "oslo 1", w.holding())
	require.Equal(t, "waits: staged run web-1 has not come to it", w.held("lima"))
	w.after(time.Minute, "oslo")
	require.Equal(t, "oslo 1", w.holding(), "the gate before prod waits")
	require.Equal(t, "flotilla run approve web-1 --gate prod/before/Approval", stage.Next(&w.status))

	require.Nil(t, w.operate(api.VerbRunApprove, api.RunRequest{Gate: "prod/before/Approval"}))
	require.Equal(t, "lima 1, oslo 1, paris 1", w.holding(), "two of three, by their label")
	w.after(time.Minute, "lima")
	require.Equal(t, "berlin 1, lima 1, oslo 1, paris 1", w.holding())
	w.after(time.Minute, "berlin", "paris")
	require.Equal(t, `run Completed
  stage canary Completed
    group canary Completed
      oslo Completed ContentAvailable
  stage prod Completed
    before Approval Completed
    group prod Completed
      berlin Completed ContentAvailable
      lima Completed ContentAvailable
      paris Completed ContentAvailable
  stage kubernetes-fleet.io/deleteStage Skipped
    group kubernetes-fleet.io/deleteStage Skipped
`, stage.Text(&w.status))
}

// A member that does not become available fails nobody: it is told of, and the run goes on when it does.
func TestAMemberThatTakesTooLongIsStuckAndRecovers(t *testing.T) {
	w := fleet(t)
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo!")
	require.Equal(t, w.now.Add(4*time.Minute), w.recheck)
	w.after(4 * time.Minute)
	m, _ := stage.MemberStatus(&w.status, "oslo")
	require.Equal(t, api.ReasonUpdateRunStuck, m.Reason)
	require.Contains(t, m.Message, "1 of 3 pods are ready")
	told := len(w.events)
	w.after(time.Hour)
	require.Len(t, w.events, told, "it is told once")
	require.Equal(t, api.StateRunning, w.state())
	require.Zero(t, w.status.FailureCount)
	shown := staged.Shown(&w.status)
	require.Equal(t, api.ReasonUpdateRunStuck, shown.Conditions[1].Reason)

	w.after(time.Minute, "oslo")
	require.Equal(t, api.StatePending, w.state(), "the gate before prod")
	require.Equal(t, api.ReasonContentAvailable, must(stage.MemberStatus(&w.status, "oslo")).Reason)
}

func must(m *api.MemberUpdateStatus, found bool) *api.MemberUpdateStatus {
	if !found {
		panic("no such member")
	}
	return m
}

// Who stops a run waits for members that have the snapshot, but not for one that is stuck: another run can follow.
func TestAStoppedRunLetsGoOfWhoIsStuck(t *testing.T) {
	w := fleet(t)
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo!")
	w.wants(api.RunStop)
	require.Equal(t, api.StateStopping, w.state())
	w.after(5 * time.Minute)
	require.Equal(t, api.StateStopped, w.state())
	require.Equal(t, api.ReasonNotAwaited, must(stage.MemberStatus(&w.status, "oslo")).Reason)
	w.wants(api.RunRun)
	require.Equal(t, api.StateRunning, w.state())
	w.after(time.Minute, "oslo")
	require.Equal(t, api.StatePending, w.state())
}

func TestTheWaitAfterAStageCountsFromItsLastMember(t *testing.T) {
	w := newWorld(t, "oslo tier=canary", "lima tier=prod")
	canary := by("canary", "canary")
	canary.AfterStageTasks = []api.StageTask{{Type: api.TaskTimedWait, WaitTime: &metav1.Duration{Duration: 90 * time.Second}}, {Type: api.TaskApproval}}
	w.strategy(canary, by("prod", "prod"))
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo")
	require.Nil(t, w.operate(api.VerbRunApprove, api.RunRequest{Gate: "canary/after/Approval"}))
	w.after(89 * time.Second)
	require.Equal(t, "oslo 1", w.holding())
	w.after(time.Second)
	require.Equal(t, "lima 1, oslo 1", w.holding())
}

func TestTheLastStageWithdrawsFromWhoIsNotPicked(t *testing.T) {
	w := newWorld(t, "oslo tier=canary", "lima tier=prod")
	w.strategy(by("canary", "canary"), by("prod", "prod"))
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo")
	w.after(time.Minute, "lima")
	require.Equal(t, api.StateCompleted, w.state())

	w.view.Schedule.Bindings = w.view.Schedule.Bindings[:1] // oslo alone
	w.snapshot("work2")
	w.release()
	require.Equal(t, "lima 1, oslo 1", w.holding(), "nobody gives anything up by itself")
	w.run.Name, w.run.UID, w.run.Spec.State = "web-2", "r2", api.RunInitialize
	w.create()
	w.wants(api.RunRun)
	require.Equal(t, "lima 1, oslo 2", w.holding())
	w.after(time.Minute, "oslo")
	require.Equal(t, "oslo 2", w.holding())
	require.Equal(t, api.StateRunning, w.state(), "until lima says that it gave it up")
	w.after(time.Minute, "lima-")
	require.Equal(t, api.StateCompleted, w.state())
}

// A run may bring any revision that is kept: so a bad one is rolled back.
func TestARunBringsTheRevisionThatItNames(t *testing.T) {
	w := newWorld(t, "oslo")
	w.strategy(api.ContentStage{Name: "all", LabelSelector: &metav1.LabelSelector{}})
	w.snapshot("work2")
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo!")
	require.Equal(t, "oslo 2", w.holding())
	w.wants(api.RunStop)
	w.after(5 * time.Minute)

	w.run.Name, w.run.UID, w.run.Spec.State, w.run.Spec.ResourceSnapshotIndex = "web-2", "r2", api.RunInitialize, "1"
	w.create()
	w.wants(api.RunRun)
	require.Equal(t, "oslo 1", w.holding())
	w.after(time.Minute, "oslo")
	require.Equal(t, api.StateCompleted, w.state())
}

func TestOneRunOfAPlacementAtATime(t *testing.T) {
	w := fleet(t)
	w.create()
	w.wants(api.RunRun)
	first := w.status
	w.view.Runs = []*api.UpdateRunStatus{&first}
	w.run.Name, w.run.UID = "web-2", "r2"
	w.run.Spec.State = api.RunInitialize
	w.create()
	refusal := w.operate(api.VerbRunStart, api.RunRequest{})
	require.NotNil(t, refusal)
	require.Equal(t, "run web-1 brings placement web to members and is Running; one run of a placement at a time", refusal.Message)
	w.wants(api.RunRun)
	require.Equal(t, api.StateNotStarted, w.state())
	require.Contains(t, w.status.Warnings[0], "spec.state Run was not followed: run web-1 brings")
}

func TestWhatCannotBecomeARun(t *testing.T) {
	everyone := api.ContentStage{Name: "all", LabelSelector: &metav1.LabelSelector{}}
	key := "order"
	sorted := everyone
	sorted.SortingLabelKey = &key
	for name, c := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"no placement":      {func(w *world) { w.view.Placement = nil }, "there is no placement web to bring to members"},
		"rolls out itself":  {func(w *world) { w.view.Placement.Spec.Strategy.Type = api.StrategyRollingUpdate }, "a staged run needs type External"},
		"no strategy":       {func(w *world) { w.view.Strategy = nil }, "there is no strategy waves"},
		"not scheduled":     {func(w *world) { w.view.Schedule = nil }, "has not been scheduled yet"},
		"older schedule":    {func(w *world) { w.view.Placement.Generation = 2 }, "has not been scheduled yet"},
		"not fulfilled":     {func(w *world) { w.view.Schedule.Fulfilled, w.view.Schedule.Message = false, "found 1 of 3" }, "is not fully scheduled: found 1 of 3"},
		"nobody":            {func(w *world) { w.view.Schedule.Bindings = nil }, "placement web is picked for no member, and none holds it"},
		"no snapshot":       {func(w *world) { w.view.Snapshots = nil }, "has no revision yet"},
		"not kept":          {func(w *world) { w.run.Spec.ResourceSnapshotIndex = "7" }, "keeps no revision 7"},
		"broken selectors":  {func(w *world) { w.view.Snapshots[0].Error = "no such kind" }, "revision 1 of placement web holds nothing: no such kind"},
		"in two stages":     {func(w *world) { w.strategy(everyone, by("canary", "canary")) }, "a member can be in one stage only: oslo (all and canary)"},
		"in no stage":       {func(w *world) { w.strategy(by("canary", "canary")) }, "no stage selects: lima"},
		"selector left out": {func(w *world) { w.strategy(api.ContentStage{Name: "all"}) }, "no stage selects: lima, oslo"},
		"no number":         {func(w *world) { w.strategy(sorted) }, `which has to be an integer on: lima ("first"), oslo (no label)`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "oslo tier=canary", "lima tier=prod order=first")
			w.strategy(by("canary", "canary"), by("prod", "prod"))
			c.spoil(w)
			_, refusal := staged.Create(&w.run, w.view, w.now)
			require.NotNil(t, refusal)
			require.Contains(t, refusal.Message, c.want)
			require.NotEmpty(t, refusal.Next)
		})
	}
}

func TestMembersThatLeaveAreLeftOut(t *testing.T) {
	w := fleet(t)
	w.create()
	w.wants(api.RunRun)
	delete(w.members, "oslo")
	lima := w.members["lima"]
	lima.Leaving = true
	w.members["lima"] = lima
	w.after(time.Minute)
	require.Nil(t, w.operate(api.VerbRunApprove, api.RunRequest{Gate: "prod/before/Approval"}))
	require.Equal(t, api.ReasonMemberRemoved, must(stage.MemberStatus(&w.status, "oslo")).Reason)
	require.Equal(t, api.StateSkipped, must(stage.MemberStatus(&w.status, "lima")).Status.State)
	w.after(time.Minute, "berlin", "paris")
	require.Equal(t, api.StateCompleted, w.state())
}

// Whoever restarts decides the same: deciding twice changes nothing.
func TestDecidingTwiceChangesNothing(t *testing.T) {
	w := fleet(t)
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo!")
	d := staged.Step(&w.run, &w.status, w.view, w.now)
	require.False(t, d.Changed)
	require.Empty(t, d.Events)
}

// What the spec of a run asks for is done once.
func TestWhatASpecAsksForIsDoneOnce(t *testing.T) {
	w := newWorld(t, "oslo")
	w.strategy(api.ContentStage{Name: "all", LabelSelector: &metav1.LabelSelector{}})
	w.create()
	w.run.Spec.State = ""
	d, asked := staged.Follow(&w.run, &w.status, w.view, w.now)
	if asked {
		w.take(d)
	}
	_, asked = staged.Follow(&w.run, &w.status, w.view, w.now)
	require.False(t, asked, "a run without a state is one to be initialized")
	w.wants(api.RunRun)
	_, asked = staged.Follow(&w.run, &w.status, w.view, w.now)
	require.False(t, asked)
}
