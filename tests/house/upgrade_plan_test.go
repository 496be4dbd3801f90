package house

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/agentd"
	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
)

// fleetClock is the one time of a hub and its members, which moves when a test says so. Whoever waits
// for a moment is called at exactly that moment.
type fleetClock struct {
	mu     sync.Mutex
	now    time.Time
	asked  int
	timers map[*fleetTimer]struct{}
}

type fleetTimer struct {
	at time.Time
	f  func()
}

func (c *fleetClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// ask is Now, counted.
func (c *fleetClock) ask() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.now
}

// AfterFunc calls f when its moment has come; at once, and not in the caller, when it has already.
func (c *fleetClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d <= 0 {
		go f()
		return func() bool { return false }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &fleetTimer{at: c.now.Add(d), f: f}
	c.timers[timer] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.timers[timer]
		delete(c.timers, timer)
		return waits
	}
}

// moveTo lets everything happen that is due up to a moment, in its order.
func (c *fleetClock) moveTo(to time.Time) {
	for {
		c.mu.Lock()
		var first *fleetTimer
		for timer := range c.timers {
			if !timer.at.After(to) && (first == nil || timer.at.Before(first.at)) {
				first = timer
			}
		}
		if first == nil {
			c.now = to
			c.mu.Unlock()
			return
		}
		delete(c.timers, first)
		c.now = first.at
		c.mu.Unlock()
		first.f()
	}
}

// lookedAt waits until the hub has looked at its runs since.
func (c *fleetClock) lookedAt(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	before := c.asked
	c.mu.Unlock()
	bustest.EventuallyIn(t, patience, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.asked < before+5 {
			return errors.New("the runner does not look")
		}
		return nil
	})
}

// paced starts a member whose upgrades take five minutes of the clock, in an update group.
func (h *house) paced(t *testing.T, clock *fleetClock, name, version, group string) {
	t.Helper()
	h.members[name] = memory.New(memory.Options{
		Name: name, KubernetesVersion: "v" + version, Nodes: nodes(t), Clock: clock,
		Pools: []api.NodePoolFacts{{Name: "nodepool1", Mode: "System", KubernetesVersion: "v" + version}},
	})
	t.Cleanup(h.members[name].Close)
	config := configs.DefaultAgent()
	config.Member, config.Bus, config.DataDir = name, configs.Bus{URL: h.url}, filepath.Join(h.dir, "agents", name)
	config.HeartbeatInterval = configs.Duration(time.Second)
	config.Upgrade.Memory.ControlPlane, config.Upgrade.Memory.NodePool = configs.Duration(3*time.Minute), configs.Duration(2*time.Minute)
	agent, err := agentd.New(agentd.Options{
		Config: config, Token: h.token(t, name), Target: h.members[name], PollEvery: 2 * time.Second, Log: zerolog.Nop(), Now: clock.Now,
	})
	require.NoError(t, err)
	require.NoError(t, agent.Start(context.WithoutCancel(t.Context())))
	h.agents[name] = agent
	h.apply(t, fmt.Sprintf("apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: %s, labels: {flotilla.io/update-group: %s}}\n", name, group))
}

// happening is one change of state as plan and audit stream both tell it.
type happening struct{ at, scope, name, state, reason string }

func (h happening) String() string {
	return fmt.Sprint(h.at, " ", h.scope, " ", h.name, " ", h.state, " ", h.reason)
}

func sorted(all []happening) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].String()
	}
	slices.Sort(out)
	return out
}

var transition = regexp.MustCompile(`^(run|stage|group|member|gate|wait)(?: (\S+))? (\w+) -> (\w+)`)

// happened reads what the audit stream tells of a run.
func (h *house) happened(t *testing.T, run string) []happening {
	t.Helper()
	var answer api.EventsResponse
	require.NoError(t, h.request(t, api.VerbEvents, api.EventsRequest{Object: "run/" + run, Limit: 1000}, &answer))
	var out []happening
	for _, e := range answer.Events {
		m := transition.FindStringSubmatch(e.Message)
		if m == nil {
			continue
		}
		found := happening{at: e.At.UTC().Format(time.RFC3339), scope: m[1], name: m[2], state: m[4]}
		if explained := []string{"Pending", "Skipped", "Failed"}; slices.Contains(explained, m[4]) && e.Reason != m[4] {
			found.reason = e.Reason
		}
		out = append(out, found)
	}
	return out
}

// planned asks the hub for the course of a run at a moment of the clock.
func (h *house) planned(t *testing.T, document string, now time.Time, assume, approve time.Duration) upgrade.RunPlan {
	t.Helper()
	documents, err := configs.Parse("run", []byte(document))
	require.NoError(t, err)
	at := metav1.NewTime(now)
	request := api.PlanRequest{Now: &at, Assume: &metav1.Duration{Duration: assume}, ApproveAfter: &metav1.Duration{Duration: approve}}
	request.Documents = append(request.Documents, documents[0].JSON)
	var answer struct {
		Report upgrade.Report `json:"report"`
	}
	var raw json.RawMessage
	require.NoError(t, h.request(t, api.VerbPlan, request, &raw))
	require.NoError(t, json.Unmarshal(raw, &answer.Report))
	require.Len(t, answer.Report.Runs, 1, string(raw))
	return answer.Report.Runs[0]
}

const springRun = `apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: spring}
spec:
  upgrade: {type: Full, kubernetesVersion: 1.29.9}
  strategy:
    stages:
    - name: canary
      groups: [{name: canary}]
      afterStageWaitInSeconds: 300
      afterGates: [{type: Approval}]
    - name: prod
      groups: [{name: east}, {name: west}]
`

// What plan foretells is what happens: every change of state of run, stages, groups, members, gates and
// waits, at its second, and nothing else. Hub and members share one clock; before each foretold moment
// the house is looked at a second earlier, when nothing may have happened yet.
func TestARunGoesAsPlanned(t *testing.T) {
	clock := &fleetClock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), timers: map[*fleetTimer]struct{}{}}
	h, broker := newTermHouse(t)
	lead(t, broker, rooms{now: clock.Now, runs: clock.ask})
	groups := map[string]string{"c1": "canary", "a1": "east", "a2": "east", "b1": "west", "b2": "west", "b3": "west"}
	for name, group := range groups {
		version := "1.29.2"
		if name == "b3" {
			version = "1.29.9"
		}
		h.paced(t, clock, name, version, group)
	}
	for name := range groups {
		h.memberIs(t, name, func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
		h.inventoried(t, name)
	}
	h.apply(t, `apiVersion: flotilla.io/v1alpha1
kind: MemberMaintenance
metadata: {name: b2}
spec:
  aksManagedAutoUpgradeSchedule: {schedule: {daily: {intervalDays: 1}}, durationHours: 4, startTime: "12:40", startDate: "2026-01-01"}
`)
	plan := h.planned(t, springRun, clock.Now(), 5*time.Minute, 7*time.Minute)
	require.Equal(t, "Completed", plan.State)
	require.Equal(t, "2026-11-20T12:45:00Z", plan.ExpectedEnd.UTC().Format(time.RFC3339))
	require.Empty(t, plan.WaitsFor)

	h.apply(t, springRun)
	h.runIs(t, "spring", "NotStarted: c1 NotStarted, a1 NotStarted, a2 NotStarted, b1 NotStarted, b2 NotStarted, b3 NotStarted")
	h.operate(t, api.VerbRunStart, "spring")
	h.goesAs(t, clock, "spring", plan.Events)
	status := h.runIs(t, "spring", "Completed: c1 Completed, a1 Completed, a2 Completed, b1 Completed, b2 Completed, b3 Skipped")
	for i := range plan.Members {
		m, found := stage.MemberStatus(&status, plan.Members[i].Name)
		require.True(t, found)
		require.Equal(t, plan.Members[i].To == "", m.Attempt == 0, m.Name)
		if m.Attempt > 0 {
			require.Equal(t, plan.Members[i].Start.UTC(), m.Status.StartTime.UTC(), m.Name)
			require.Equal(t, plan.Members[i].End.UTC(), m.Status.CompletedTime.UTC(), m.Name)
		}
	}
}

// goesAs lets time pass from one foretold moment to the next.
func (h *house) goesAs(t *testing.T, clock *fleetClock, run string, foretold []upgrade.PlanEvent) {
	t.Helper()
	require.NotEmpty(t, foretold)
	var soFar []happening
	for i := 0; i < len(foretold); {
		at := foretold[i].At.Time
		if before := at.Add(-time.Second); before.After(clock.Now()) {
			clock.moveTo(before)
			clock.lookedAt(t)
			require.Equal(t, sorted(soFar), sorted(h.happened(t, run)), "at %s", before)
		}
		clock.moveTo(at)
		for ; i < len(foretold) && foretold[i].At.Time.Equal(at); i++ {
			e := &foretold[i]
			soFar = append(soFar, happening{at.UTC().Format(time.RFC3339), e.Scope, e.Name, string(e.State), e.Reason})
			if e.Scope == stage.ScopeGate && e.State == api.StateCompleted {
				h.approve(t, run, e.Name)
			}
		}
		h.until(t, run, soFar)
	}
}

func (h *house) approve(t *testing.T, run, gate string) {
	t.Helper()
	var answer api.RunResponse
	require.NoError(t, h.request(t, api.VerbRunApprove, api.RunRequest{Run: run, Gate: gate}, &answer))
}

// until waits until just this has happened, and every member that runs has begun.
func (h *house) until(t *testing.T, run string, want []happening) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		if got := sorted(h.happened(t, run)); !slices.Equal(got, sorted(want)) {
			return fmt.Errorf("happened %q, foretold %q", got, sorted(want))
		}
		status, err := h.runStatus(t, run)
		if err != nil {
			return err
		}
		for name, member := range h.members {
			if m, _ := stage.MemberStatus(&status, name); len(member.UpgradesBegun()) != m.Attempt {
				return fmt.Errorf("%s has not begun", name)
			}
		}
		return nil
	})
}
