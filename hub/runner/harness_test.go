package runner_test

import (
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
	"flotilla/bus/holds"
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

// harness is a leader's store with a runner on it; the test plays door, registrar and agents.
type harness struct {
	t       testing.TB
	server  *bustest.Server
	store   *store.Store
	runs    *store.Table[api.UpdateRunStatus]
	locks   *holds.Locks
	agents  map[string]*member.Conn
	options runner.Options
	room    *runner.Runner
	stop    func()
}

func newHarness(t testing.TB, o runner.Options, members ...string) *harness {
	t.Helper()
	server := bustest.Start(t)
	h := &harness{t: t, server: server, store: server.Lead(t), agents: map[string]*member.Conn{}, options: o}
	h.runs = store.TableOf[api.UpdateRunStatus](h.store.State, subjects.Runs)
	h.locks = holds.LocksOf(h.store.State.As(subjects.Runner))
	for _, m := range members {
		h.member(m, "u-"+m, nil)
		h.inventory(m, "1.29.2")
	}
	h.run()
	return h
}

// run starts a runner, until stop or the end of the test.
func (h *harness) run() {
	h.options.Log, h.options.Entry = h.store.Conn.Log, door.NewRuns(h.store.State)
	room := runner.New(h.store, h.options)
	h.room = room
	h.stop = bustest.Room(h.t, room)
}

// put writes a record whatever its revision; nil deletes it.
func (h *harness) put(key string, value any) {
	h.t.Helper()
	bustest.Overwrite(h.t, h.store, key, value)
}

func (h *harness) member(name, uid string, labels map[string]string) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	require.NoError(h.t, err)
	h.put(subjects.MemberSpecs.Key(name), api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: name}, UID: uid, Body: body})
	h.record(name, uid, api.MemberReady, time.Time{})
}

func (h *harness) record(name, uid string, state api.MemberState, lastSeen time.Time) {
	h.t.Helper()
	h.put(subjects.Members.Key(name), api.MemberRecord{Name: name, UID: uid, State: state, LastSeen: metav1.NewTime(lastSeen)})
}

func (h *harness) agent(name string) *member.Conn {
	if h.agents[name] == nil {
		h.agents[name] = h.server.Agent(h.t, name)
	}
	return h.agents[name]
}

// inventory lets an agent report that everything on its member is at a version, and waits until the
// hub heard of it.
func (h *harness) inventory(member, version string) {
	h.t.Helper()
	h.report(member, api.MemberInventory{
		ControlPlaneVersion: version, NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: version}},
	})
}

func (h *harness) report(member string, i api.MemberInventory) {
	h.t.Helper()
	before, _ := h.store.Inventories.Get(member)
	require.NoError(h.t, h.agent(member).PutInventory(bustest.Context(h.t), i))
	bustest.Eventually(h.t, func() error {
		if entry, _ := h.store.Inventories.Get(member); entry.Sequence <= before.Sequence {
			return fmt.Errorf("the hub has not heard of the inventory of %s", member)
		}
		return nil
	})
}

// spec writes the spec of an object as the door does.
func (h *harness) spec(family subjects.Family, kind, name string, generation int64, spec string) {
	h.t.Helper()
	h.put(family.Key(name), api.Spec{
		Header: api.NewHeader(api.KindSpec), Object: api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: kind, Name: name},
		UID: "uid-" + name, Generation: generation, Body: json.RawMessage(`{"metadata":{},"spec":` + spec + `}`),
	})
}

func (h *harness) updateRun(name, spec string) {
	h.t.Helper()
	h.spec(subjects.RunSpecs, api.KindUpdateRun, name, 1, spec)
}

// toNew is the spec of a run that brings all members to 1.29.9, some of them at once.
func toNew(atOnce int) string {
	return fmt.Sprintf(`{"upgrade":{"type":"Full","kubernetesVersion":"1.29.9"},"strategy":{"stages":[{"name":"all",
		"memberSelector":{"byLabel":""},"maxConcurrency":"%d"}]}}`, atOnce)
}

// ask sends an operation to the runner, as the door's service would.
func (h *harness) ask(verb string, request api.RunRequest) (*api.RunResponse, error) {
	h.t.Helper()
	body, err := json.Marshal(request)
	require.NoError(h.t, err)
	by := anna
	by.Verb = verb
	answer, err := h.room.Verbs()[verb](bustest.Context(h.t), by, body)
	if err != nil {
		return nil, err
	}
	return answer.(*api.RunResponse), nil
}

func (h *harness) start(run string) {
	h.t.Helper()
	_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: run, Request: "start-" + run})
	require.NoError(h.t, err)
}

// startAgain starts a run once more.
func (h *harness) startAgain(run string) {
	h.t.Helper()
	_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: run, Request: "again-" + run})
	require.NoError(h.t, err)
}

// beat lets a member's agent be heard, and waits until the hub heard it.
func (h *harness) beat(member string) {
	h.t.Helper()
	require.NoError(h.t, h.agent(member).PutHeartbeat(bustest.Context(h.t), api.Heartbeat{Boot: "b", Healthy: true}))
	bustest.Eventually(h.t, func() error {
		if _, found := h.store.Heartbeats.Get(member); !found {
			return fmt.Errorf("nothing is heard of %s", member)
		}
		return nil
	})
}

// conclude lets a member's agent report how its operation went, and what runs on it then.
func (h *harness) conclude(run, member, outcome string) {
	h.t.Helper()
	operation := h.operation(run, member)
	if outcome == api.OutcomeSucceeded {
		h.inventory(member, "1.29.9")
	}
	h.result(run, member, operation, outcome, "")
}

func (h *harness) operation(run, member string) string {
	h.t.Helper()
	status, _, _ := h.runs.Get(run)
	m, found := stage.MemberStatus(&status, member)
	require.True(h.t, found, "%s is in run %s", member, run)
	return m.OperationID
}

func (h *harness) result(run, member, operation, outcome, message string) {
	h.t.Helper()
	require.NoError(h.t, h.agent(member).PutResult(bustest.Context(h.t), subjects.CommandUpgrade, run, api.UpgradeResult{
		Header: api.NewHeader(api.KindUpgradeResult), Member: member, Run: run, Operation: operation,
		Outcome: outcome, Message: message, At: metav1.NewTime(elsewhen.Now()),
	}))
}

// eventually waits until a run reads as wanted: "Running: berlin Completed, oslo Running".
func (h *harness) eventually(run, want string) api.UpdateRunStatus {
	h.t.Helper()
	var found api.UpdateRunStatus
	bustest.Eventually(h.t, func() error {
		status, _, ok := h.runs.Get(run)
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
func (h *harness) held(want ...string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		found := []string{}
		for _, lock := range h.locks.All() {
			found = append(found, lock.Value.Holder)
		}
		if strings.Join(found, " ") != strings.Join(want, " ") {
			return fmt.Errorf("locks are held by %v, wanted %v", found, want)
		}
		return nil
	})
}

// told waits until the audit stream has an event about an object that holds all words.
func (h *harness) told(object string, words ...string) {
	h.t.Helper()
	client := h.server.Inspector(h.t)
	bustest.Eventually(h.t, func() error {
		events, err := streams.ReadAudit(bustest.Context(h.t), client, streams.AuditQuery{Object: object})
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
func (h *harness) echoing() {
	h.runs.OnChange(func(run string) {
		status, _, found := h.runs.Get(run)
		h.store.Audit.Record(api.Audit{Object: "run/" + run, Reason: "Seen", Message: text(&status, found)})
	})
}

// toldBefore waits until an event of a run tells what another room saw, and checks that the stream has
// what led to it before.
func (h *harness) toldBefore(run, seen string, causes ...string) {
	h.t.Helper()
	lines := bustest.EventsUntil(h.t, h.store.Conn, "run/"+run, "Seen: "+seen)
	before := lines[:len(lines)-1]
	for _, cause := range causes {
		at := slices.IndexFunc(before, func(line string) bool { return strings.Contains(line, cause) })
		require.GreaterOrEqual(h.t, at, 0, "%q is told before %q is seen:\n%s", cause, seen, strings.Join(lines, "\n"))
		before = before[at+1:]
	}
}
