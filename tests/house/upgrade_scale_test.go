package house

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	locks "flotilla/bus/holds"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/dispatcher"
	"flotilla/hub/door"
	"flotilla/hub/runner"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// flock plays the agents of many members over one connection: it follows hints, reads commands as they
// do, takes a second for each operation and notes how often it carried one out.
type flock struct {
	t        *testing.T
	conn     *bus.Conn
	commands *streams.Commands
	running  sync.WaitGroup

	mu       sync.Mutex
	executed map[string]int
	now, top int // at once
}

func (f *flock) report(member, version string) {
	f.publish(f.conn.Fleet.Inventory(member), api.MemberInventory{
		Header: api.NewHeader(api.KindInventory), Member: member, ControlPlaneVersion: version,
		NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: version}},
	})
}

func (f *flock) publish(subject string, value any) {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = f.conn.JS.Publish(context.Background(), subject, text)
	}
	if err != nil {
		f.t.Errorf("publishing %s: %v", subject, err)
	}
}

// follow reads the command that a hint announces.
func (f *flock) follow(m *nats.Msg) {
	member, kind, ok := f.conn.Fleet.ParseHint(m.Subject)
	if !ok || kind != subjects.CommandUpgrade {
		return
	}
	f.running.Go(func() {
		body, _, err := f.commands.Get(f.t.Context(), member, kind)
		var command api.UpgradeCommand
		if err == nil {
			err = json.Unmarshal(body, &command)
		}
		if err != nil {
			f.t.Errorf("reading the command of %s: %v", member, err)
			return
		}
		if command.Operation != nil && f.begin(command.Operation.ID) {
			f.carryOut(member, command.Operation)
		}
	})
}

// begin notes that an operation is carried out; agents do so once for each id.
func (f *flock) begin(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.executed[id] > 0 {
		return false
	}
	f.executed[id]++
	f.now++
	f.top = max(f.top, f.now)
	return true
}

func (f *flock) carryOut(member string, op *api.UpgradeOperation) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	<-timer.C
	f.mu.Lock()
	f.now--
	f.mu.Unlock()
	f.report(member, op.ControlPlaneVersion)
	result, err := json.Marshal(api.UpgradeResult{
		Header: api.NewHeader(api.KindUpgradeResult), Member: member, Run: op.Run, Operation: op.ID, Outcome: api.OutcomeSucceeded,
	})
	if err != nil {
		f.t.Errorf("the result of %s: %v", member, err)
	}
	slot := subjects.ResultSlotKey(member, subjects.ResultSlot(subjects.CommandUpgrade, op.Run))
	f.publish(f.conn.Fleet.BucketSubject(subjects.Result, slot), api.ResultBatch{
		Header: api.NewHeader(api.KindResultBatch), Member: member,
		Results: []api.BatchedResult{{Kind: subjects.CommandUpgrade, Name: op.Run, Result: result}},
	})
}

// A thousand members in 20 stages of 50 groups go through a run whose upgrades take a second each: no
// member is lost, none is upgraded twice, and never more than 50 at once.
func TestAThousandMembersGoThroughARun(t *testing.T) {
	const stages, groups = 20, 50
	broker := bustest.Start(t)
	leading := broker.Lead(t)
	f := &flock{t: t, conn: broker.Hub(t), executed: map[string]int{}}
	f.commands = leading.Commands
	subscription, err := f.conn.NC.Subscribe(f.conn.Fleet.Hint("*", subjects.CommandUpgrade), f.follow)
	require.NoError(t, err)
	run := api.UpdateRunSpec{Strategy: &api.RunStrategy{}, Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29.9"}}
	var ops []store.Op
	for i := range stages {
		stage := api.UpdateStage{Name: fmt.Sprintf("s%02d", i), MaxConcurrency: "50"}
		for j := range groups {
			member, group := fmt.Sprintf("m-%02d-%02d", i, j), fmt.Sprintf("g-%02d-%02d", i, j)
			stage.Groups = append(stage.Groups, api.UpdateGroup{Name: group})
			ops = append(ops,
				store.Put(subjects.MemberSpecs.Key(member), memberSpec(t, member, group), 0),
				store.Put(subjects.Members.Key(member), api.MemberRecord{Name: member, UID: "u-" + member, State: api.MemberReady}, 0))
			f.report(member, "1.29.2")
		}
		run.Strategy.Stages = append(run.Strategy.Stages, stage)
	}
	for len(ops) > 0 {
		n := min(len(ops), 500)
		_, err := leading.Writer.Write(bustest.Context(t), ops[:n]...)
		require.NoError(t, err)
		ops = ops[n:]
	}
	bustest.Eventually(t, func() error {
		if known := len(leading.Inventories.Keys("")); known != stages*groups {
			return fmt.Errorf("%d inventories are known", known)
		}
		return nil
	})
	_, err = leading.Writer.Write(bustest.Context(t), store.Put(subjects.RunSpecs.Key("big"), runSpec(t, "big", run), 0))
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	upgrades := runner.New(leading, runner.Options{Entry: door.NewRuns(leading.State), Log: zerolog.Nop()})
	var rooms sync.WaitGroup
	for _, run := range []func(context.Context) error{upgrades.Run, dispatcher.New(leading, dispatcher.Options{Log: zerolog.Nop()}).Run} {
		rooms.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("room: %v", err)
			}
		})
	}
	defer rooms.Wait()
	defer cancel()
	began := elsewhen.Now()
	_, err = upgrades.Verbs()[api.VerbRunStart](t.Context(), api.Caller{Name: "anna", Role: api.RoleAdmin}, []byte(`{"run":"big","request":"start"}`))
	require.NoError(t, err)
	runs := store.TableOf[api.UpdateRunStatus](leading.State, subjects.Runs)
	var status api.UpdateRunStatus
	bustest.EventuallyIn(t, 3*time.Minute, func() error {
		if status, _, _ = runs.Get("big"); status.Status.State != api.StateCompleted {
			return fmt.Errorf("the run is %s, %d of %d members finished", status.Status.State, status.Finished, status.Members)
		}
		return nil
	})
	t.Logf("%d members in %s", status.Finished, elsewhen.Since(began).Round(time.Millisecond))
	require.NoError(t, subscription.Unsubscribe())
	f.running.Wait()
	require.Equal(t, stages*groups, status.Finished)
	require.Len(t, f.executed, stages*groups)
	require.LessOrEqual(t, f.top, groups)
	require.Empty(t, locks.LocksOf(leading.State.As(subjects.Runner)).All())
	read, _, found := leading.State.Raw(subjects.Runs.Key("big"))
	require.True(t, found)
	var stored api.UpdateRunStatus
	require.NoError(t, json.Unmarshal(read, &stored))
	require.Equal(t, stages*groups, stored.Finished)
}

func memberSpec(t *testing.T, name, group string) api.Spec {
	t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{api.LabelUpdateGroup: group}}})
	require.NoError(t, err)
	return api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: name}, UID: "u-" + name, Body: body}
}

func runSpec(t *testing.T, name string, spec api.UpdateRunSpec) api.Spec {
	t.Helper()
	body, err := json.Marshal(api.UpdateRun{Spec: spec})
	require.NoError(t, err)
	return api.Spec{
		Object: api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: name}, UID: "uid-" + name, Generation: 1, Body: body,
	}
}
