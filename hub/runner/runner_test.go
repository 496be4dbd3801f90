package runner_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/hub/runner"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// never is a poll that no test waits for: what happens then happens because of an event or a timer.
const never = time.Hour

func TestARunGoesFromMemberToMember(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(1))
	h.eventually("r1", "NotStarted: berlin NotStarted, oslo NotStarted")
	h.start("r1")
	status := h.eventually("r1", "Running: berlin Running, oslo NotStarted")
	h.held("uid-r1/berlin/1")
	lock, _ := h.locks.Get("berlin")
	require.Equal(t, "run r1", lock.Owner)
	wanted := upgrade.Operations(&api.UpdateRun{}, &status)
	require.Len(t, wanted, 1)
	require.Equal(t, "1.29.9", wanted[0].Operation.ControlPlaneVersion)

	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Running: berlin Completed, oslo Running")
	h.held("uid-r1/oslo/1")
	h.conclude("r1", "oslo", api.OutcomeSucceeded)
	h.eventually("r1", "Completed: berlin Completed, oslo Completed")
	h.held()
	h.told("run/r1", "Created", "2 members in 1 stages", "by runner")
	h.told("run/r1", "Asked", "run-start", "by anna")
	h.told("run/r1", "member oslo NotStarted -> Running")
	h.told("run/r1", "Completed: run Running -> Completed")
}

// What a run does is told before what others do because of it.
func TestARunIsToldBeforeWhatFollowsFromIt(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.echoing()
	h.updateRun("r1", toNew(1))
	h.toldBefore("r1", "NotStarted: berlin NotStarted", "Created: 1 members in 1 stages")
	h.start("r1")
	h.toldBefore("r1", "Running: berlin Running", "Asked: run-start", "run NotStarted -> Running", "member berlin NotStarted -> Running")
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.toldBefore("r1", "Completed: berlin Completed", "member berlin Running -> Completed")
	h.put(subjects.RunSpecs.Key("r1"), nil)
	h.toldBefore("r1", "none", "Removed: it was Completed")
}

func TestProgressIsTakenIn(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: 20 * time.Millisecond}, "berlin")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.result("r1", "berlin", h.operation("r1", "berlin"), api.OutcomeRunning, "halfway")
	bustest.Eventually(t, func() error {
		status, _, _ := h.runs.Get("r1")
		if m, _ := stage.MemberStatus(&status, "berlin"); m.Status.State != api.StateRunning || m.Message != "0 % done: halfway" {
			return errors.New(string(m.Status.State) + ": " + m.Message)
		}
		return nil
	})
}

// What an agent says of an operation that is not the one that runs ends nothing.
func TestAResultOfAnotherAttemptIsNotTakenForThisOne(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo", "paris")
	h.updateRun("r1", toNew(2))
	h.start("r1")
	h.eventually("r1", "Running: berlin Running, oslo Running, paris NotStarted")
	h.result("r1", "berlin", "uid-r1/berlin/7", api.OutcomeSucceeded, "of another attempt")
	h.conclude("r1", "oslo", api.OutcomeSucceeded)
	h.eventually("r1", "Running: berlin Running, oslo Completed, paris Running")
}

func TestAFailedMemberStopsTheRunAndIsRetried(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.conclude("r1", "berlin", api.OutcomeFailed)
	status := h.eventually("r1", "Failed: berlin Failed UpgradeFailed, oslo NotStarted")
	require.Contains(t, status.Status.Error.Message, "berlin")
	h.held()
	_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "again"})
	require.NoError(t, err)
	h.eventually("r1", "Running: berlin Running, oslo NotStarted")
	h.held("uid-r1/berlin/2")
}

// Two runs want one member: the second waits with the name of the first, and goes on by itself.
func TestTwoRunsOnOneMember(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", toNew(1))
	h.updateRun("r2", `{"upgrade":{"type":"Full","kubernetesVersion":"1.30.1"}}`)
	h.start("r1")
	h.start("r2")
	status := h.eventually("r2", "Pending: berlin Pending LockedByRun")
	m, _ := stage.MemberStatus(&status, "berlin")
	require.Equal(t, "run r1 holds the member", m.Message)
	h.held("uid-r1/berlin/1")
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Completed: berlin Completed")
	h.eventually("r2", "Running: berlin Running")
	h.held("uid-r2/berlin/1")
}

// What another room holds is waited for as well.
func TestALockOfAnotherRoomIsWaitedFor(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	_, err := h.store.Writer.Write(bustest.Context(t), h.locks.Take("berlin", "drain-7", "disruption of n1", elsewhen.Now()))
	require.NoError(t, err)
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Pending: berlin Pending LockedByRun")
	op, held := h.locks.Release("berlin", "drain-7")
	require.True(t, held)
	_, err = h.store.Writer.Write(bustest.Context(t), op)
	require.NoError(t, err)
	h.eventually("r1", "Running: berlin Running")
}

// A run that waits for a disruption of nodes says for which, and what that waits for.
func TestADisruptionThatHoldsAMemberIsNamed(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: 50 * time.Millisecond}, "berlin")
	_, err := h.store.Writer.Write(bustest.Context(t), h.locks.Take("berlin", "disruption/berlin", "node disruption", elsewhen.Now()))
	require.NoError(t, err)
	decided := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	disrupting := func(message string, more ...api.Disruption) {
		t.Helper()
		key := subjects.Disruptions.Key("berlin")
		one := api.Disruption{Decided: metav1.NewTime(decided), ID: "manual-3-ab", Nodes: []string{"n1", "n2", "n3", "n4"}, Phase: api.PhaseDraining, Message: message}
		record := api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Member: "berlin", Disruptions: append([]api.Disruption{
			{ID: "old", Phase: api.PhaseDone, Ended: metav1.NewTime(elsewhen.Now())}, one,
		}, more...)}
		_, err := h.store.Writer.Write(bustest.Context(t), store.Put(key, record, h.store.State.Revision(key)))
		require.NoError(t, err)
	}
	waits := func(want string) {
		t.Helper()
		bustest.Eventually(t, func() error {
			status := h.eventually("r1", "Pending: berlin Pending LockedByRun")
			if m, _ := stage.MemberStatus(&status, "berlin"); m.Message != want {
				return fmt.Errorf("the message is %q, wanted %q", m.Message, want)
			}
			return nil
		})
	}
	h.updateRun("r1", toNew(1))
	h.start("r1")
	waits("node disruption holds the member")
	disrupting("waiting for pod default/web")
	waits("node disruption manual-3-ab of n1, n2, n3 and 1 more since 2026-03-01T12:00:00Z (Draining: waiting for pod default/web) holds the member")
	disrupting("", api.Disruption{ID: "drift-4-cd", Nodes: []string{"n9"}, Phase: api.PhaseAborted})
	waits("node disruption manual-3-ab of n1, n2, n3 and 1 more since 2026-03-01T12:00:00Z (Draining) and 1 more holds the member")
}

func TestAMemberThatComesBackGoesOn(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.record("berlin", "u-berlin", api.MemberUnknown, elsewhen.Now())
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Pending: berlin Pending MemberUnreachable")
	h.record("berlin", "u-berlin", api.MemberReady, elsewhen.Now())
	h.eventually("r1", "Running: berlin Running")
}

func TestAMemberWithoutInventoryWaitsForIt(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never})
	h.member("berlin", "u-berlin", nil)
	h.updateRun("r1", toNew(1))
	bustest.Eventually(t, func() error {
		_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "s"})
		return err
	})
	h.eventually("r1", "Pending: berlin Pending MemberUnreachable")
	h.report("berlin", api.MemberInventory{ClusterResourceID: "cluster-7", ControlPlaneVersion: "1.29.2"})
	h.eventually("r1", "Running: berlin Running")
}

// A run that cannot be created says why, refuses to start, and is created once its cause is mended.
func TestARefusedRunIsTriedAgain(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", `{"strategyName":"slow","upgrade":{"type":"Full","kubernetesVersion":"1.29.9"}}`)
	h.eventually("r1", "NotFound")
	h.told("run/r1", "there is no UpdateStrategy slow")
	_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "r1"})
	failure := (*api.Failure)(nil)
	require.ErrorAs(t, err, &failure)
	require.Equal(t, api.CodeNotFound, failure.Code)
	require.Contains(t, failure.Message, "NotFound: the run cannot be created: there is no UpdateStrategy slow")
	require.Equal(t, "flotilla run status r1", failure.Next)

	h.spec(subjects.StrategySpecs, api.KindUpdateStrategy, "slow", 1, `{"stages":[{"name":"eu","groups":[{"name":"eu"}]}]}`)
	h.eventually("r1", "GroupNotFound")
	h.member("berlin", "u-berlin", map[string]string{api.LabelUpdateGroup: "eu"})
	h.eventually("r1", "NotStarted: berlin NotStarted")
	h.start("r1")
	h.eventually("r1", "Running: berlin Running")
}

func TestASpecCanBeEditedUntilTheRunStarts(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(1))
	h.eventually("r1", "NotStarted: berlin NotStarted, oslo NotStarted")
	h.spec(subjects.RunSpecs, api.KindUpdateRun, "r1", 2, `{"upgrade":{"type":"Full","kubernetesVersion":"1.30.1"},
		"strategy":{"stages":[{"name":"one","memberSelector":{"byLabel":"kubernetes-fleet.io/member-name=oslo"}}]}}`)
	status := h.eventually("r1", "NotStarted: oslo NotStarted")
	require.Equal(t, "1.30.1", status.ResolvedKubernetesVersion)
	require.Equal(t, int64(2), status.ObservedGeneration)
}

// A run whose spec is gone leaves neither record nor lock; one made anew under its name is another run.
func TestARunWhoseSpecIsGone(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.held("uid-r1/berlin/1")
	h.put(subjects.RunSpecs.Key("r1"), nil)
	h.eventually("r1", "none")
	h.held()
	h.told("run/r1", "Removed", "it was Running, 0 of 1 members finished")

	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.put(subjects.RunSpecs.Key("r1"), api.Spec{
		Object: api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: "r1"}, UID: "another", Generation: 1, Body: []byte(`{"spec":` + toNew(1) + `}`),
	})
	status := h.eventually("r1", "NotStarted: berlin NotStarted")
	require.Equal(t, "another", status.UID)
	h.held()
}

// A runner that takes over finds what happened while nobody looked, and starts nothing twice.
func TestARestartGoesOn(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Running: berlin Running, oslo NotStarted")
	before, revision, _ := h.runs.Get("r1")
	h.stop()
	h.run()
	h.updateRun("r2", toNew(1))
	h.eventually("r2", "NotStarted: berlin NotStarted, oslo NotStarted")
	after, now, _ := h.runs.Get("r1")
	require.Equal(t, revision, now, "looking again changes nothing")
	require.Equal(t, before, after)

	h.stop()
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.run()
	h.eventually("r1", "Running: berlin Completed, oslo Running")
	h.conclude("r1", "oslo", api.OutcomeSucceeded)
	status := h.eventually("r1", "Completed: berlin Completed, oslo Completed")
	for _, member := range []string{"berlin", "oslo"} {
		m, _ := stage.MemberStatus(&status, member)
		require.Equal(t, 1, m.Attempt)
	}
	h.held()
}

// Two runners that both believe that they lead tick the same run: whoever writes second drops its plan.
func TestTwoRunnersStartEachMemberOnce(t *testing.T) {
	members := []string{"berlin", "lima", "oslo", "paris"}
	h := newHarness(t, runner.Options{Poll: 5 * time.Millisecond}, members...)
	h.run()
	h.updateRun("r1", toNew(2))
	bustest.Eventually(t, func() error { // as a client asks that is told to ask again
		_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "start"})
		return err
	})
	started := map[string]bool{}
	bustest.Eventually(t, func() error {
		status, _, _ := h.runs.Get("r1")
		for _, wanted := range upgrade.Operations(&api.UpdateRun{}, &status) {
			if !started[wanted.Operation.ID] {
				started[wanted.Operation.ID] = true
				h.inventory(wanted.Member, "1.29.9")
				h.result("r1", wanted.Member, wanted.Operation.ID, api.OutcomeSucceeded, "")
			}
		}
		if status.Status.State != api.StateCompleted {
			return errors.New(text(&status, true))
		}
		return nil
	})
	want := map[string]bool{}
	for _, m := range members {
		want["uid-r1/"+m+"/1"] = true
	}
	require.Equal(t, want, started)
	h.held()
}

// The broker goes away and comes back in the middle of a run: it goes on.
func TestBrokerRestart(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.server.Restart(t)
	bustest.Eventually(t, func() error {
		if !h.store.Synced() || !h.agents["berlin"].Connected() {
			return errors.New("not connected again")
		}
		return nil
	})
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Running: berlin Completed, oslo Running")
}

// A lock that no run knows of, as an older backup may bring back, is given up; that of another room stays.
func TestStrayLocksAreGivenBack(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo", "paris")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.stop()
	_, err := h.store.Writer.Write(bustest.Context(t),
		h.locks.Take("oslo", "gone/oslo/1", "run gone", elsewhen.Now()), h.locks.Take("paris", "drain-7", "disruption of n1", elsewhen.Now()))
	require.NoError(t, err)
	h.run()
	h.held("uid-r1/berlin/1", "drain-7")
	h.told("run/gone", "LockReleased", "operation gone/oslo/1")
}

// A wait ends by its own timer.
func TestATimerGoesOff(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", `{"upgrade":{"type":"Full","kubernetesVersion":"1.29.9"},"strategy":{"stages":[
		{"name":"one","memberSelector":{"byLabel":"kubernetes-fleet.io/member-name=berlin"},"afterStageWaitInSeconds":1},
		{"name":"two","memberSelector":{"byLabel":"kubernetes-fleet.io/member-name=oslo"}}]}}`)
	h.start("r1")
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Running: berlin Completed, oslo Running")
	status, _, _ := h.runs.Get("r1")
	oslo, _ := stage.MemberStatus(&status, "oslo")
	require.False(t, oslo.Status.StartTime.Before(&status.Stages[0].Wait.Deadline))
}
