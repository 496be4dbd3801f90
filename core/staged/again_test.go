package staged_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// waves is a fleet of two stages of two members, one at a time.
func waves(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "a tier=one", "b tier=one", "c tier=two", "d tier=two")
	w.strategy(by("one", "one"), by("two", "two"))
	return w
}

// begin makes another run, or the first one, and starts it.
func (w *world) begin(name, uid string) {
	w.t.Helper()
	w.run.Name, w.run.UID, w.run.Spec.State = name, types.UID(uid), api.RunInitialize
	w.create()
	w.wants(api.RunRun)
}

// overtaken is what became of a first run once a second one brought another snapshot to everybody.
func (w *world) overtaken(state string) {
	w.t.Helper()
	first := w.status
	w.snapshot("work2")
	w.begin("web-2", "r2")
	w.afterEach("a", "b", "c", "d")
	require.Equal(w.t, "a 2, b 2, c 2, d 2", w.holding())
	w.run.Name, w.run.UID, w.run.Spec.State = "web-1", "r1", state
	w.status = first
}

// afterEach lets members answer one after another.
func (w *world) afterEach(members ...string) {
	w.t.Helper()
	for _, name := range members {
		w.after(time.Minute, name)
	}
}

// A run that is done with a member does not take it back from a later run, all at once, for the sake of another member.
func TestARerunOfOneMemberMovesThatMemberAlone(t *testing.T) {
	w := waves(t)
	w.begin("web-1", "r1")
	w.afterEach("a", "b", "c", "d")
	w.overtaken(api.RunRun)
	require.Nil(t, w.operate(api.VerbRunRerun, api.RunRequest{Members: []string{"b"}}))
	w.after(time.Minute)
	require.Equal(t, "a 2, b 1, c 2, d 2", w.holding())
	require.Equal(t, "waits for another staged run: web-1 is done with it", w.held("a"))
	w.after(time.Minute, "b")
	require.Equal(t, api.StateCompleted, w.state())
	require.Equal(t, "a 2, b 1, c 2, d 2", w.holding())
}

// A stopped run that is started again after another one brings its snapshot to everybody, in its stages.
func TestAStoppedRunThatIsTakenUpAfterAnotherGoesOverItsMembersAgain(t *testing.T) {
	w := waves(t)
	w.begin("web-1", "r1")
	w.afterEach("a", "b")
	w.wants(api.RunStop)
	w.after(time.Minute, "c")
	require.Equal(t, api.StateStopped, w.state())
	w.overtaken(api.RunStop)
	w.wants(api.RunRun)
	w.after(time.Minute)
	require.Equal(t, "a 1, b 2, c 2, d 2", w.holding(), "stage after stage, one at a time")
	w.afterEach("a", "b", "c", "d")
	require.Equal(t, api.StateCompleted, w.state())
	require.Equal(t, "a 1, b 1, c 1, d 1", w.holding())
}

// Overrides that change while a run goes on, or without any, go out in stages too: a run that finds the snapshot itself on a
// member has it made anew, and waits for that.
func TestARunBringsOverridesThatChanged(t *testing.T) {
	w := waves(t)
	w.begin("web-1", "r1")
	w.afterEach("a", "b", "c", "d")
	w.overrides = []api.OverrideVersion{{Name: "eu", Generation: 1, AtOnce: true}}
	w.after(time.Minute)
	require.Equal(t, "work1 work1 work1 work1", w.works())
	require.Equal(t, "waits for a staged run: spec.strategy.type is External", w.held("a"))

	w.begin("web-2", "r2")
	w.after(time.Minute)
	refusal := w.operate(api.VerbRunSkip, api.RunRequest{Targets: []api.SkipTarget{{Type: api.TargetMember, Name: "a"}}})
	require.Contains(t, refusal.Message, "member a has begun; wait for it to end")
	require.Equal(t, "work1+1 work1 work1 work1", w.works())
	require.Equal(t, api.StateRunning, must(stage.MemberStatus(&w.status, "a")).Status.State)
	w.afterEach("a", "b")
	require.Equal(t, "work1+1 work1+1 work1+1 work1", w.works())

	w.overrides = []api.OverrideVersion{{Name: "eu", Generation: 2, AtOnce: true}}
	w.after(time.Minute)
	require.Equal(t, "work1+1 work1+1 work1+2 work1", w.works(), "whoever the run is done with waits for the next")
	w.afterEach("c", "d")
	require.Equal(t, api.StateCompleted, w.state())
	require.Equal(t, "work1+1 work1+1 work1+2 work1+2", w.works())
}

// Who loses the placement while the run brings it is not waited for.
func TestAMemberThatLosesThePlacementIsNotWaitedFor(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"is not picked any more": func(*world) {},
		"is evicted":             func(w *world) { w.view.Schedule.Evicted = []string{"oslo"} },
		"is drained":             func(w *world) { w.view.Schedule.Drained = []string{"oslo"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "oslo tier=canary", "lima tier=prod")
			w.strategy(by("canary", "canary"), by("prod", "prod"))
			w.create()
			w.wants(api.RunRun)
			w.after(time.Minute, "oslo!")
			w.view.Schedule.Bindings = w.view.Schedule.Bindings[1:]
			lose(w)
			w.after(time.Minute)
			m := must(stage.MemberStatus(&w.status, "oslo"))
			require.Equal(t, api.StateSkipped, m.Status.State)
			require.Equal(t, api.ReasonNoLongerPicked, m.Reason)
			w.after(time.Minute, "lima")
			require.Equal(t, api.StateCompleted, w.state())
		})
	}
}

// What a run is for may go away under it, whatever it waits for: then it ends and says so, and holds up no other.
func TestARunEndsWithWhatItIsFor(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"gone":           {func(w *world) { w.view.Placement, w.view.Schedule = nil, nil }, "the placement web that the run is for is gone"},
		"deleting":       {func(w *world) { w.view.Placement.DeletionTimestamp = &deleted }, "the placement web that the run is for is gone"},
		"another":        {func(w *world) { w.view.Placement.UID = "u2" }, "the placement web that the run is for is gone"},
		"rolls out":      {func(w *world) { w.view.Placement.Spec.Strategy.Type = api.StrategyRollingUpdate }, "placement web rolls out by itself now"},
		"another policy": {func(w *world) { w.view.Schedule.Policy = "p2" }, "the policy of placement web changed after the run began"},
	} {
		for waits, answers := range map[string][]string{"for a member": nil, "for an approval": {"oslo"}} {
			t.Run(name+" while it waits "+waits, func(t *testing.T) {
				w := fleet(t)
				canary := by("canary", "canary")
				canary.AfterStageTasks = []api.StageTask{{Type: api.TaskApproval}}
				w.view.Strategy.Spec.Stages[0] = canary
				w.create()
				w.wants(api.RunRun)
				w.after(time.Minute, answers...)
				c.spoil(w)
				w.after(time.Minute)
				if name == "another policy" && waits == "for a member" {
					require.Equal(t, api.StateStopping, w.state(), "who has the snapshot is waited for")
					w.after(time.Minute, "oslo")
				}
				require.Equal(t, api.StateFailed, w.state())
				require.Contains(t, w.status.Status.Error.Message, c.want)
				require.False(t, w.status.UnderWay())
			})
		}
	}
}
