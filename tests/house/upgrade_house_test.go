package house

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/agent/agentd"
	"flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/dispatcher"
	"flotilla/hub/disruptor"
	"flotilla/hub/door"
	"flotilla/hub/enroller"
	"flotilla/hub/registrar"
	"flotilla/hub/runner"
	"flotilla/tests/elsewhen"
)

// upgradable makes a member at 1.29.2 with one node pool, whose upgrades take no time, and starts its
// agent.
func (h *house) upgradable(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		h.members[name] = memory.New(memory.Options{
			Clock: memory.Running(h.now), Name: name, KubernetesVersion: "v1.29.2", Nodes: nodes(t),
			Pools: []api.NodePoolFacts{{Name: "node", Mode: "System", KubernetesVersion: "v1.29.2"}},
		})
		t.Cleanup(h.members[name].Close)
		h.startAgent(t, name)
	}
	for _, name := range names {
		h.memberIs(t, name, func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
		h.inventoried(t, name)
	}
}

// inventoried waits until the hub knows what runs on a member: a run over it would not wait for that.
func (h *house) inventoried(t *testing.T, name string) {
	t.Helper()
	inspector, err := bus.ConnectClient(bustest.Context(t), bus.Options{
		URL: h.url, Creds: cmp.Or(h.inspects, filepath.Join(h.dir, "hub", "inspector.creds")), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	defer inspector.Close()
	bustest.EventuallyIn(t, patience, func() error {
		stream, err := inspector.JS.Stream(t.Context(), h.client.Fleet.Stream("EVENTS"))
		if err != nil {
			return err
		}
		_, err = stream.GetLastMsgForSubject(t.Context(), h.client.Fleet.Inventory(name))
		return err
	})
}

// updateRun applies a run that brings all members to 1.29.9, so many at once.
func (h *house) updateRun(t *testing.T, name string, atOnce int) {
	t.Helper()
	h.apply(t, fmt.Sprintf(`apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: %s}
spec:
  upgrade: {type: Full, kubernetesVersion: 1.29.9}
  strategy: {stages: [{name: all, maxConcurrency: "%d", memberSelector: {byLabel: ""}}]}
`, name, atOnce))
}

func (h *house) operate(t *testing.T, verb, run string) api.RunResponse {
	t.Helper()
	var answer api.RunResponse
	require.NoError(t, h.request(t, verb, api.RunRequest{Request: string(uuid.NewUUID()), Run: run}, &answer))
	return answer
}

func (h *house) runStatus(t *testing.T, name string) (api.UpdateRunStatus, error) {
	t.Helper()
	var run api.UpdateRun
	if err := h.request(t, api.VerbGet, api.GetRequest{Kind: api.KindUpdateRun, Name: name}, &run); err != nil {
		return api.UpdateRunStatus{}, err
	}
	if run.Status == nil {
		return api.UpdateRunStatus{}, fmt.Errorf("run %s has no status yet", name)
	}
	return *run.Status, nil
}

// runIs waits until a run and its members are in these states: "Running: berlin Completed, oslo Running".
func (h *house) runIs(t *testing.T, name, want string) api.UpdateRunStatus {
	t.Helper()
	var found api.UpdateRunStatus
	bustest.EventuallyIn(t, patience, func() error {
		status, err := h.runStatus(t, name)
		if err != nil {
			return err
		}
		if got := runText(&status); got != want {
			return fmt.Errorf("run %s is %q, wanted %q", name, got, want)
		}
		found = status
		return nil
	})
	return found
}

func runText(status *api.UpdateRunStatus) string {
	var members []string
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			for _, m := range status.Stages[i].Groups[j].Members {
				members = append(members, m.Name+" "+string(m.Status.State))
			}
		}
	}
	return string(status.Status.State) + ": " + strings.Join(members, ", ")
}

// begun waits until a member was asked for so many upgrades.
func (h *house) begun(t *testing.T, name string, count int) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		if ids := h.members[name].UpgradesBegun(); len(ids) != count {
			return fmt.Errorf("upgrades %v were begun on %s, wanted %d", ids, name, count)
		}
		return nil
	})
}

// requireOneEach holds every member's own record of upgrades against the promise: one for each attempt
// that the run tells of.
func (h *house) requireOneEach(t *testing.T, status *api.UpdateRunStatus) {
	t.Helper()
	for name, member := range h.members {
		m, found := stage.MemberStatus(status, name)
		require.True(t, found)
		require.Equal(t, 1, m.Attempt, name)
		require.Equal(t, []string{m.OperationID}, member.UpgradesBegun(), "upgrades begun on %s", name)
	}
}

// hang lets upgrades of members stand still until resume.
func (h *house) hang(names ...string) {
	for _, name := range names {
		h.members[name].SetFaults(faults.Faults{HangUpgrade: []faults.Upgrade{{What: "any"}}})
	}
}

func (h *house) resume(names ...string) {
	for _, name := range names {
		h.members[name].SetFaults(faults.Faults{})
	}
}

// rooms says which rooms a term has, and what time it is for them.
type rooms struct {
	withoutDispatcher, withoutRunner bool
	// now is the clock of the hub, that of the tests when nil; runs is that of update runs, the hub's when nil.
	now, runs func() time.Time
	// nodes are the options of node disruption, nil for none of it.
	nodes *disruptor.Options
}

// term is one term of leadership whose rooms a test picks, so that it can end between two writes.
type term struct {
	store *store.Store
	crash func()
}

// newTermHouse is a house whose hub is whatever terms a test leads.
func newTermHouse(t *testing.T) (*house, *bustest.Server) {
	t.Helper()
	broker := bustest.Start(t, func(o *server.Options) { o.Fleet = "default" })
	h := &house{now: elsewhen.Now, dir: t.TempDir(), url: broker.URL(), inspects: broker.InspectorCreds(), members: map[string]*memory.Member{}, agents: map[string]*agentd.Agent{}}
	client, err := bus.ConnectClient(bustest.Context(t), bus.Options{
		URL: broker.URL(), Creds: broker.OperatorCreds(), Name: "test", Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	h.client = client
	t.Cleanup(func() {
		for name := range h.agents {
			h.stopAgent(t, name)
		}
	})
	return h, broker
}

// lead begins a term and returns when it leads; it ends with crash, or with the test.
func lead(t *testing.T, broker *bustest.Server, with rooms) *term {
	t.Helper()
	o := broker.TCP()
	if with.now != nil {
		o.Now = with.now
	}
	conn, err := bus.ConnectHub(bustest.Context(t), o)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	led := make(chan *store.Store, 1)
	var running sync.WaitGroup
	running.Go(func() {
		err := store.Lead(ctx, conn, "hub-"+string(uuid.NewUUID())[:8], store.LeadOptions{Poll: 50 * time.Millisecond, Secrets: bustest.ReadKeys}, func(ctx context.Context, s *store.Store) error {
			led <- s
			return act(ctx, s, broker, with)
		})
		if err != nil {
			t.Errorf("leading: %v", err)
		}
	})
	out := &term{crash: sync.OnceFunc(func() { cancel(); running.Wait() })}
	t.Cleanup(out.crash)
	select {
	case out.store = <-led:
	case <-bustest.Context(t).Done():
		require.FailNow(t, "nobody came to lead")
	}
	return out
}

func act(ctx context.Context, s *store.Store, broker *bustest.Server, with rooms) error {
	log := zerolog.Nop()
	upgrades := runner.New(s, runner.Options{Entry: door.NewRuns(s.State), Now: with.runs, Poll: 20 * time.Millisecond, Log: log})
	verbs := upgrades.Verbs()
	run := []func(context.Context) error{
		registrar.New(s, registrar.Options{Log: log}).Run,
	}
	if with.nodes != nil {
		disruptions := disruptor.New(s, *with.nodes)
		maps.Copy(verbs, disruptions.Verbs())
		run = append(run, disruptions.Run)
	}
	enrolments := enroller.New(s, enroller.Options{Issuer: broker.Issuer(), URL: broker.URL(), Log: log})
	maps.Copy(verbs, enrolments.Verbs())
	run = append(run, enrolments.Run, door.New(s, door.Options{Log: log, More: verbs}).Run)
	if !with.withoutRunner {
		run = append(run, upgrades.Run)
	}
	if !with.withoutDispatcher {
		run = append(run, dispatcher.New(s, dispatcher.Options{Log: log}).Run)
	}
	errs := make([]error, len(run))
	var running sync.WaitGroup
	for i := range run {
		running.Go(func() { errs[i] = run[i](ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}
