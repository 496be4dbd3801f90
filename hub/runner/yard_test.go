package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/door"
	"flotilla/hub/runner"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// clock is fake time that only moves when a test moves it.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	looks int
}

func newClock(at string) *clock {
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	return &clock{now: now}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return c.now
}

// pass waits until the runner has looked at its runs often enough for whatever is due to have happened.
func (c *clock) pass(t *testing.T) {
	t.Helper()
	looks := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.looks
	}
	enough := looks() + 20
	bustest.Eventually(t, func() error {
		if now := looks(); now < enough {
			return fmt.Errorf("the runner looked %d times, wanted %d", now, enough)
		}
		return nil
	})
}

func (c *clock) set(t *testing.T, at string) {
	t.Helper()
	now, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.True(t, now.After(c.now), "time goes forward")
	c.now = now
}

// anna is who asks.
var anna = api.Caller{Name: "anna", Role: api.RoleAdmin}

// yard is a leader's store with a runner on it; the test plays door, registrar and agents.
type yard struct {
	t       testing.TB
	server  *bustest.Server
	store   *store.Store
	runs    *store.Table[api.UpdateRunStatus]
	locks   *store.Locks
	agents  map[string]*member.Conn
	options runner.Options
	room    *runner.Runner
	stop    func()
}

func newYard(t testing.TB, o runner.Options, members ...string) *yard {
	t.Helper()
	server := bustest.Start(t)
	y := &yard{t: t, server: server, store: server.Lead(t), agents: map[string]*member.Conn{}, options: o}
	y.runs = store.TableOf[api.UpdateRunStatus](y.store.State, subjects.Runs)
	y.locks = store.LocksOf(y.store.State.As(subjects.Runner))
	for _, m := range members {
		y.member(m, "u-"+m, nil)
		y.inventory(m, "1.29.2")
	}
	y.run()
	return y
}

// run starts a runner, until stop or the end of the test.
func (y *yard) run() {
	y.options.Log, y.options.Entry = y.store.Conn.Log, door.NewRuns(y.store.State)
	ctx, cancel := context.WithCancel(context.WithoutCancel(y.t.Context()))
	room := runner.New(y.store, y.options)
	y.room = room
	var running sync.WaitGroup
	running.Go(func() {
		if err := room.Run(ctx); err != nil {
			y.t.Errorf("runner: %v", err)
		}
	})
	y.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	y.t.Cleanup(y.stop)
}

// put writes a record whatever its revision; nil deletes it.
func (y *yard) put(key string, value any) {
	y.t.Helper()
	bustest.Eventually(y.t, func() error {
		_, err := y.store.Writer.Write(bustest.Context(y.t), store.Op{Key: key, Value: value, Revision: y.store.State.Revision(key)})
		return err
	})
}

func (y *yard) member(name, uid string, labels map[string]string) {
	y.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	require.NoError(y.t, err)
	y.put(subjects.MemberSpecs.Key(name), api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: name}, UID: uid, Body: body})
	y.record(name, uid, api.MemberReady, time.Time{})
}

func (y *yard) record(name, uid string, state api.MemberState, lastSeen time.Time) {
	y.t.Helper()
	y.put(subjects.Members.Key(name), api.MemberRecord{Name: name, UID: uid, State: state, LastSeen: metav1.NewTime(lastSeen)})
}

func (y *yard) agent(name string) *member.Conn {
	if y.agents[name] == nil {
		y.agents[name] = y.server.Agent(y.t, name)
	}
	return y.agents[name]
}

// inventory lets an agent report that everything on its member is at a version, and waits until the
// hub heard of it.
func (y *yard) inventory(member, version string) {
	y.t.Helper()
	y.report(member, api.MemberInventory{
		ControlPlaneVersion: version, NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: version}},
	})
}

func (y *yard) report(member string, i api.MemberInventory) {
	y.t.Helper()
	before, _ := y.store.Inventories.Get(member)
	require.NoError(y.t, y.agent(member).PutInventory(bustest.Context(y.t), i))
	bustest.Eventually(y.t, func() error {
		if entry, _ := y.store.Inventories.Get(member); entry.Sequence <= before.Sequence {
			return fmt.Errorf("the hub has not heard of the inventory of %s", member)
		}
		return nil
	})
}

// spec writes the spec of an object as the door does.
func (y *yard) spec(family subjects.Family, kind, name string, generation int64, spec string) {
	y.t.Helper()
	y.put(family.Key(name), api.Spec{
		Header: api.NewHeader(api.KindSpec), Object: api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: kind, Name: name},
		UID: "uid-" + name, Generation: generation, Body: json.RawMessage(`{"metadata":{},"spec":` + spec + `}`),
	})
}

func (y *yard) updateRun(name, spec string) {
	y.t.Helper()
	y.spec(subjects.RunSpecs, api.KindUpdateRun, name, 1, spec)
}

// toNew is the spec of a run that brings all members to 1.29.9, some of them at once.
func toNew(atOnce int) string {
	return fmt.Sprintf(`{"upgrade":{"type":"Full","kubernetesVersion":"1.29.9"},"strategy":{"stages":[{"name":"all",
		"memberSelector":{"byLabel":""},"maxConcurrency":"%d"}]}}`, atOnce)
}

// ask sends an operation to the runner, as the door's service would.
func (y *yard) ask(verb string, request api.RunRequest) (*api.RunResponse, error) {
	y.t.Helper()
	body, err := json.Marshal(request)
	require.NoError(y.t, err)
	answer, err := y.room.Verbs()[verb](bustest.Context(y.t), anna, body)
	if err != nil {
		return nil, err
	}
	return answer.(*api.RunResponse), nil
}

func (y *yard) start(run string) {
	y.t.Helper()
	_, err := y.ask(api.VerbRunStart, api.RunRequest{Run: run, Request: "start-" + run})
	require.NoError(y.t, err)
}

// startAgain starts a run once more.
func (y *yard) startAgain(run string) {
	y.t.Helper()
	_, err := y.ask(api.VerbRunStart, api.RunRequest{Run: run, Request: "again-" + run})
	require.NoError(y.t, err)
}

// beat lets a member's agent be heard, and waits until the hub heard it.
func (y *yard) beat(member string) {
	y.t.Helper()
	require.NoError(y.t, y.agent(member).PutHeartbeat(bustest.Context(y.t), api.Heartbeat{Boot: "b", Healthy: true}))
	bustest.Eventually(y.t, func() error {
		if _, found := y.store.Heartbeats.Get(member); !found {
			return fmt.Errorf("nothing is heard of %s", member)
		}
		return nil
	})
}

// conclude lets a member's agent report how its operation went, and what runs on it then.
func (y *yard) conclude(run, member, outcome string) {
	y.t.Helper()
	operation := y.operation(run, member)
	if outcome == api.OutcomeSucceeded {
		y.inventory(member, "1.29.9")
	}
	y.result(run, member, operation, outcome, "")
}

func (y *yard) operation(run, member string) string {
	y.t.Helper()
	status, _, _ := y.runs.Get(run)
	m, found := stage.MemberStatus(&status, member)
	require.True(y.t, found, "%s is in run %s", member, run)
	return m.OperationID
}

func (y *yard) result(run, member, operation, outcome, message string) {
	y.t.Helper()
	require.NoError(y.t, y.agent(member).PutResult(bustest.Context(y.t), subjects.CommandUpgrade, run, api.UpgradeResult{
		Header: api.NewHeader(api.KindUpgradeResult), Member: member, Run: run, Operation: operation,
		Outcome: outcome, Message: message, At: metav1.NewTime(elsewhen.Now()),
	}))
}

// eventually waits until a run reads as wanted: "Running: berlin Completed, oslo Running".
func (y *yard) eventually(run, want string) api.UpdateRunStatus {
	y.t.Helper()
	var found api.UpdateRunStatus
	bustest.Eventually(y.t, func() error {
		status, _, ok := y.runs.Get(run)
		if got := text(&status, ok); got != want {
			return fmt.Errorf("run %s is %q, wanted %q", run, got, want)
		}
		found = status
		return nil
	})
	return found
}

func text(status *api.UpdateRunStatus, ok bool) string {
	if !ok {
		return "none"
	}
	if status.Status.Error != nil && len(status.Stages) == 0 {
		return status.Status.Error.Code
	}
	var members []string
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			for _, m := range status.Stages[i].Groups[j].Members {
				members = append(members, strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Name, m.Status.State, m.Reason)))
			}
		}
	}
	return string(status.Status.State) + ": " + strings.Join(members, ", ")
}

// held waits until exactly these operations hold locks.
func (y *yard) held(want ...string) {
	y.t.Helper()
	bustest.Eventually(y.t, func() error {
		found := []string{}
		for _, lock := range y.locks.All() {
			found = append(found, lock.Value.Holder)
		}
		if strings.Join(found, " ") != strings.Join(want, " ") {
			return fmt.Errorf("locks are held by %v, wanted %v", found, want)
		}
		return nil
	})
}

// told waits until the audit stream has an event about an object that holds all words.
func (y *yard) told(object string, words ...string) {
	y.t.Helper()
	client := y.server.Inspector(y.t)
	bustest.Eventually(y.t, func() error {
		events, err := streams.ReadAudit(bustest.Context(y.t), client, streams.AuditQuery{Object: object})
		var all []string
		for _, e := range events {
			line := e.Reason + ": " + e.Message + " by " + e.By
			missing := false
			for _, word := range words {
				missing = missing || !strings.Contains(line, word)
			}
			if !missing {
				return nil
			}
			all = append(all, line)
		}
		return fmt.Errorf("no event of %s tells %q (%w):\n%s", object, words, err, strings.Join(all, "\n"))
	})
}

// echoing lets every state that the record of a run comes to be in be told by who sees it, reason Seen.
func (y *yard) echoing() {
	y.runs.OnChange(func(run string) {
		status, _, found := y.runs.Get(run)
		y.store.Audit.Record(api.Audit{Object: "run/" + run, Reason: "Seen", Message: text(&status, found)})
	})
}

// toldBefore waits until an event of a run tells what another room saw, and checks that the stream has
// what led to it before.
func (y *yard) toldBefore(run, seen string, causes ...string) {
	y.t.Helper()
	lines := bustest.EventsUntil(y.t, y.store.Conn, "run/"+run, "Seen: "+seen)
	before := lines[:len(lines)-1]
	for _, cause := range causes {
		at := slices.IndexFunc(before, func(line string) bool { return strings.Contains(line, cause) })
		require.GreaterOrEqual(y.t, at, 0, "%q is told before %q is seen:\n%s", cause, seen, strings.Join(lines, "\n"))
		before = before[at+1:]
	}
}
