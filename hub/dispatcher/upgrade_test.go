package dispatcher_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/dispatcher"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

func (y *yard) spec(run, uid string) {
	y.t.Helper()
	body, err := json.Marshal(api.UpdateRun{Spec: api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29"}}})
	require.NoError(y.t, err)
	put(y, subjects.RunSpecs, run, api.Spec{
		Header: api.NewHeader(api.KindSpec), UID: uid, Generation: 1, Body: body,
		Object: api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: run},
	})
}

// upgrading writes the status of a run with members in a state, each at its attempt.
func (y *yard) upgrading(run, uid string, states map[string]api.UpdateState, attempt int) {
	y.t.Helper()
	var members []api.MemberUpdateStatus
	for member, state := range states {
		members = append(members, api.MemberUpdateStatus{
			Name: member, Status: api.UpdateStatus{State: state}, Attempt: attempt, OperationID: fmt.Sprintf("%s/%s/%d", uid, member, attempt),
			ToVersion: "1.29.9", NodeImages: []api.PoolUpgrade{{Pool: "p1", ToVersion: "1.29.9", Result: api.PoolPlanned}, {Pool: "p2", Result: api.PoolAtTarget}},
		})
	}
	put(y, subjects.Runs, run, api.UpdateRunStatus{
		Header: api.NewHeader(api.KindRunStatus), Run: run, UID: uid, Status: api.UpdateStatus{State: api.StateRunning},
		Policy: api.UpdatePolicy{MemberTimeout: &metav1.Duration{Duration: time.Hour}, Checks: api.ChecksWarn},
		Stages: []api.StageStatus{{Name: "s", Groups: []api.GroupStatus{{Name: "g", Members: members}}}},
	})
}

func (y *yard) upgrade(member string) (api.UpgradeCommand, streams.CommandHead, error) {
	body, head, err := y.store.Commands.Get(bustest.Context(y.t), member, subjects.CommandUpgrade)
	if err != nil {
		return api.UpgradeCommand{}, head, err
	}
	var command api.UpgradeCommand
	require.NoError(y.t, json.Unmarshal(body, &command))
	return command, head, nil
}

// awaitsUpgrade polls until a member's upgrade command is of that operation, "" for none.
func (y *yard) awaitsUpgrade(member, operation string) (got api.UpgradeCommand, head streams.CommandHead) {
	y.t.Helper()
	bustest.Eventually(y.t, func() error {
		var err error
		if got, head, err = y.upgrade(member); err != nil {
			return err
		}
		id := ""
		if got.Operation != nil {
			id = got.Operation.ID
		}
		if id != operation {
			return fmt.Errorf("operation %q", id)
		}
		return nil
	})
	return got, head
}

const (
	running   = api.StateRunning
	completed = api.StateCompleted
)

func TestAnUpgradeIsCommandedWhileItsMemberRunsAndTakenBackAfter(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.spec("r1", "u1")
	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running, "paris": api.StateNotStarted}, 1)
	command, head := y.awaitsUpgrade("berlin", "u1/berlin/1")
	require.Equal(t, api.UpgradeCommand{
		Header: api.NewHeader(api.KindUpgradeCommand), Member: "berlin", Order: head.Order,
		Operation: &api.UpgradeOperation{
			ID: "u1/berlin/1", Run: "r1", Attempt: 1, Type: api.UpgradeFull, ControlPlaneVersion: "1.29.9",
			NodePools: []api.PoolUpgrade{{Pool: "p1", ToVersion: "1.29.9", Result: api.PoolPlanned}},
			Checks:    api.ChecksWarn, TimeoutSeconds: 3600,
		},
	}, command)
	require.Equal(t, y.store.Term.Term, command.Order.Term)

	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": completed, "paris": running}, 1)
	after, _ := y.awaitsUpgrade("berlin", "")
	require.Positive(t, after.Order.Compare(command.Order))
	y.awaitsUpgrade("paris", "u1/paris/1")
	_, _, err := y.command("berlin")
	require.ErrorIs(t, err, bus.ErrNotFound, "an upgrade is no reason to send an index")

	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running, "paris": completed}, 2)
	y.awaitsUpgrade("berlin", "u1/berlin/2")
	erase[api.UpdateRunStatus](y, subjects.Runs, "r1")
	y.awaitsUpgrade("berlin", "")
}

func erase[T any](y *yard, family subjects.Family, name string) {
	y.t.Helper()
	table := store.TableOf[T](y.store.State, family)
	_, revision, found := table.Get(name)
	require.True(y.t, found)
	_, err := y.store.Writer.Write(bustest.Context(y.t), store.Delete(table.Key(name), revision))
	require.NoError(y.t, err)
}

func TestAMemberThatNeverUpgradedGetsNoCommand(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.spec("r1", "u1")
	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running, "paris": api.StatePending, "oslo": completed}, 1)
	y.awaitsUpgrade("berlin", "u1/berlin/1")
	heads, err := y.store.Commands.List(bustest.Context(t))
	require.NoError(t, err)
	require.Len(t, heads, 1)
}

func TestAStatusOfAnotherRunOfThatNameCommandsNothing(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.spec("r1", "u2")
	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running}, 1)
	y.spec("r2", "u3")
	y.upgrading("r2", "u3", map[string]api.UpdateState{"paris": running}, 1)
	y.awaitsUpgrade("paris", "u3/paris/1")
	_, _, err := y.upgrade("berlin")
	require.ErrorIs(t, err, bus.ErrNotFound)
	y.upgrading("r1", "u2", map[string]api.UpdateState{"berlin": running}, 1)
	y.awaitsUpgrade("berlin", "u2/berlin/1")
	erase[api.Spec](y, subjects.RunSpecs, "r1")
	y.awaitsUpgrade("berlin", "")
}

func TestARestartedDispatcherLeavesRunningUpgradesAlone(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.spec("r1", "u1")
	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running, "paris": running, "oslo": running}, 1)
	_, before := y.awaitsUpgrade("berlin", "u1/berlin/1")
	y.awaitsUpgrade("paris", "u1/paris/1")
	y.awaitsUpgrade("oslo", "u1/oslo/1")
	y.stop()

	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running, "paris": completed, "lyon": running, "oslo": api.StateFailed}, 1)
	y.run(dispatcher.Options{})
	y.awaitsUpgrade("paris", "")
	y.awaitsUpgrade("lyon", "u1/lyon/1")
	y.awaitsUpgrade("oslo", "")
	_, after, err := y.upgrade("berlin")
	require.NoError(t, err)
	require.Equal(t, before, after, "the same command is not sent again")
}

func TestANewTermCommandsOnTopOfADeposedOne(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.spec("r1", "u1")
	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running}, 1)
	old, _ := y.awaitsUpgrade("berlin", "u1/berlin/1")

	deposed := y.store
	y.store = y.server.Lead(t)
	y.runOn(y.store, dispatcher.Options{})
	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running}, 2)
	command, _ := y.awaitsUpgrade("berlin", "u1/berlin/2")
	require.Positive(t, command.Order.Compare(old.Order))

	table := store.TableOf[api.UpdateRunStatus](deposed.State, subjects.Runs)
	_, revision, _ := table.Get("r1")
	_, err := deposed.Writer.Write(bustest.Context(t), store.Put(table.Key("r1"), api.UpdateRunStatus{Run: "r1"}, revision))
	require.Error(t, err, "a deposed hub cannot make a command by writing a status")
	// The deposed hub's dispatcher still follows the records: both want the same, so neither writes again.
	_, settled := y.awaitsUpgrade("berlin", "u1/berlin/2")
	y.upgrading("r2", "u9", map[string]api.UpdateState{}, 1)
	y.spec("r3", "u3")
	y.upgrading("r3", "u3", map[string]api.UpdateState{"paris": running}, 1)
	y.awaitsUpgrade("paris", "u3/paris/1")
	_, after, err := y.upgrade("berlin")
	require.NoError(t, err)
	require.Equal(t, settled, after)
}

func TestUpgradesAreSentAtMostOnceAnInterval(t *testing.T) {
	y := newYard(t)
	const interval = 300 * time.Millisecond
	y.run(dispatcher.Options{Interval: interval})
	y.spec("r1", "u1")
	start := elsewhen.Now()
	for attempt := 1; attempt <= 20; attempt++ {
		y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running}, attempt)
	}
	_, head := y.awaitsUpgrade("berlin", "u1/berlin/20")
	require.LessOrEqual(t, head.Order.Generation, uint64(elsewhen.Since(start)/interval)+2)
}

func TestUpgradesWaitForAnAgentThatCanReadThem(t *testing.T) {
	y := newYard(t)
	record := api.MemberRecord{Header: api.NewHeader(api.KindMemberRecord), Name: "berlin", AgentLevel: 1}
	put(y, subjects.Members, "berlin", record)
	y.run(dispatcher.Options{Level: 2})
	y.spec("r1", "u1")
	y.upgrading("r1", "u1", map[string]api.UpdateState{"berlin": running}, 1)
	y.told("berlin", "LevelTooLow")
	_, _, err := y.upgrade("berlin")
	require.ErrorIs(t, err, bus.ErrNotFound)
	record.AgentLevel = 2
	put(y, subjects.Members, "berlin", record)
	y.awaitsUpgrade("berlin", "u1/berlin/1")
}
