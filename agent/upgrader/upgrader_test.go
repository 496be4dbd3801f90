package upgrader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/agent/target"
	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/agent/target/memory/provision"
	"flotilla/agent/upgrader/memory"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

func TestFullUpgrade(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	h.start(m, t.TempDir())
	before := h.expectInventory(func(api.MemberInventory) bool { return true })
	require.Equal(t, "1.36.3", before.ControlPlaneVersion)
	require.Equal(t, "weu", before.Region)
	require.Equal(t, "berlin-00000004", before.ClusterResourceID, "the uid of kube-system")
	require.Equal(t, []api.NodePoolFacts{
		{Name: "np1", Mode: "System", OSType: "Linux", ImageFamily: "AKSUbuntu-2204gen2containerd", NodeImageVersion: "AKSUbuntu-2204gen2containerd-202401.09.0", KubernetesVersion: "1.36.3"},
		{Name: "np2", Mode: "User", OSType: "Linux", ImageFamily: "AKSAzureLinux-V2gen2", NodeImageVersion: "AKSAzureLinux-V2gen2-202502.26.0", KubernetesVersion: "1.36.3", FromSnapshot: true},
	}, before.NodePools)

	op := full(1)
	h.command(op)
	r := h.outcome(op, api.OutcomeSucceeded)
	require.Equal(t, []string{"np1", "np2"}, r.Pools)
	after, err := h.inventory()
	require.NoError(t, err, "the inventory comes before the result")
	require.Equal(t, "1.37.1", after.ControlPlaneVersion)
	require.Equal(t, "AKSUbuntu-2204gen2containerd-202401.17.1", after.NodePools[0].NodeImageVersion)
	require.Equal(t, "1.37.1", after.NodePools[1].KubernetesVersion)
	require.Empty(t, after.CurrentOperation)
	nodes, err := m.Nodes(t.Context())
	require.NoError(t, err)
	for _, n := range nodes {
		require.Equal(t, "v1.37.1", n.Kubelet, n.Name)
		require.False(t, n.NotReady, n.Name)
	}

	h.command(op)
	again := full(2)
	h.command(again)
	r = h.outcome(again, api.OutcomeSucceeded)
	require.Contains(t, r.Message, "nothing was done")
	require.Equal(t, []string{"u1/berlin/1"}, m.UpgradesBegun())
}

func setFaults(t *testing.T, m *targetmemory.Member, words ...string) {
	t.Helper()
	f, err := faults.Parse(words)
	require.NoError(t, err)
	m.SetFaults(f)
}

func TestFailureAndTheNextAttempt(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	setFaults(t, m, "fail-upgrade=np2@1")
	h.start(m, t.TempDir())
	first, second := full(1), full(2)
	h.command(first)
	r := h.outcome(first, api.OutcomeFailed)
	require.Equal(t, api.ReasonUpgradeFailed, r.Reason)
	require.Equal(t, []string{"np1"}, r.Pools)
	require.Contains(t, r.Message, "node pool np2, node 1 of 2: failed on request")
	i, err := h.inventory()
	require.NoError(t, err)
	require.Equal(t, "1.37.1", i.ControlPlaneVersion)
	require.Equal(t, "1.36.3", i.NodePools[1].KubernetesVersion)
	h.command(second)
	h.outcome(second, api.OutcomeSucceeded)
	require.Equal(t, []string{first.ID, second.ID}, m.UpgradesBegun())
}

func TestProgressIsToldAndAnotherOperationWaits(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	setFaults(t, m, "hang-upgrade=np1")
	h.start(m, t.TempDir())
	first, second := full(1), full(2)
	h.command(first)
	r := h.expect("r", func(r api.UpgradeResult) bool { return r.Percent > 0 })
	require.Equal(t, api.OutcomeRunning, r.Outcome)
	require.Equal(t, "node pool np1, node 1 of 2", r.Message)
	h.expectInventory(func(i api.MemberInventory) bool { return i.CurrentOperation == first.ID })

	h.command(second)
	r = h.expect("r", func(r api.UpgradeResult) bool { return r.Operation == second.ID })
	require.Equal(t, "waits for operation u1/berlin/1 to end", r.Message)
	setFaults(t, m)
	r = h.outcome(second, api.OutcomeSucceeded)
	require.Contains(t, r.Message, "nothing was done")
	require.Equal(t, []string{first.ID}, m.UpgradesBegun())
}

func TestARunningOperationIsLeftToFinish(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	setFaults(t, m, "hang-upgrade=np1")
	h.start(m, t.TempDir())
	op := full(1)
	h.command(op)
	h.expect("r", func(r api.UpgradeResult) bool { return r.Percent > 0 })
	h.command(nil)
	setFaults(t, m)
	h.outcome(op, api.OutcomeSucceeded)
}

// hesitant is a member whose API server says that it is ready when it is let.
type hesitant struct {
	*targetmemory.Member
	asked, let chan struct{}
}

func (m *hesitant) Ready(ctx context.Context) error {
	m.asked <- struct{}{}
	select {
	case <-m.let:
		return m.Member.Ready(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The member is held by an operation from when it was accepted, and one that is taken back while the
// member is looked at is not begun.
func TestAnOperationIsTakenBackBeforeItsStart(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]*api.UpgradeOperation{"nothing": nil, "another": full(2)} {
		t.Run(name, func(t *testing.T) {
			h, m := newHub(t), newMember(t)
			slow := &hesitant{Member: m, asked: make(chan struct{}, 10), let: make(chan struct{})}
			h.start(m, t.TempDir(), func(o *Options) { o.Target = slow })
			op := full(1)
			h.command(op)
			<-slow.asked
			h.expectInventory(func(i api.MemberInventory) bool { return i.CurrentOperation == op.ID })
			h.command(next)
			if next == nil {
				h.expectInventory(func(i api.MemberInventory) bool { return i.CurrentOperation == "" })
				close(slow.let)
				require.Contains(t, h.outcome(op, api.OutcomeBlocked).Message, "the hub took the operation back before it was started")
				require.Empty(t, m.UpgradesBegun())
				return
			}
			h.expectInventory(func(i api.MemberInventory) bool { return i.CurrentOperation == next.ID })
			close(slow.let)
			h.outcome(next, api.OutcomeSucceeded)
			require.Equal(t, []string{next.ID}, m.UpgradesBegun())
		})
	}
}

const workload = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 2,
selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`

func plant(t *testing.T, m *targetmemory.Member, text string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	var object unstructured.Unstructured
	require.NoError(t, object.UnmarshalJSON(raw))
	m.Plant(&object)
}

func TestChecksBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults  []string
		prepare func(*testing.T, *targetmemory.Member)
		op      func(*api.UpgradeOperation)
		want    string
	}{
		"API server": {faults: []string{"down"}, want: "the API server is not ready: the API server of member berlin does not answer"},
		"nodes":      {faults: []string{"not-ready=a1"}, want: "3 of 4 nodes are ready, 90 % are required; not ready: a1"},
		"budgets": {prepare: func(t *testing.T, m *targetmemory.Member) {
			plant(t, m, workload)
			plant(t, m, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}`)
			plant(t, m, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: none, namespace: default}, spec: {minAvailable: 2, selector: {matchLabels: {app: none}}}}`)
		}, want: "pod disruption budgets would hold up the nodes: default/web allows 0 disruptions, 2 of 2 pods are healthy"},
		"kubelets too old": {prepare: func(t *testing.T, m *targetmemory.Member) {
			m.AddNode(target.Node{Name: "old", Kubelet: "v1.33.9+k3s1"})
		}, want: "kubelets are more than 3 minors older than control plane 1.37.1: old at 1.33.9; upgrade their node pools first"},
		"kubelets too new": {prepare: func(t *testing.T, m *targetmemory.Member) {
			m.AddNode(target.Node{Name: "new", Kubelet: "v1.38.0"})
		}, want: "kubelets are newer than API server 1.36.3: new at 1.38.0"},
		"somebody else": {faults: []string{"busy=by-hand"}, op: func(op *api.UpgradeOperation) { op.Checks = api.ChecksIgnore }, want: "operation by-hand is in progress on the member"},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := newHub(t), newMember(t)
			setFaults(t, m, c.faults...)
			if c.prepare != nil {
				c.prepare(t, m)
			}
			h.start(m, t.TempDir())
			op := full(1)
			if c.op != nil {
				c.op(op)
			}
			h.command(op)
			r := h.outcome(op, api.OutcomeBlocked)
			require.Contains(t, r.Message, c.want)
			require.Empty(t, m.UpgradesBegun(), "nothing was changed")
		})
	}
}

// On a cluster that cannot be taken for the member nothing is begun, whatever checks are left out.
func TestNothingIsBegunOnAnothersCluster(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	h.start(m, t.TempDir(), func(o *Options) { o.Ours = func(context.Context) error { return errors.New("it is member oslo") } })
	op := full(1)
	op.Checks = api.ChecksIgnore
	h.command(op)
	require.Equal(t, "it is member oslo", h.outcome(op, api.OutcomeBlocked).Message)
	require.Empty(t, m.UpgradesBegun())
}

func TestChecksWarnOrAreLeftOut(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	setFaults(t, m, "not-ready=a1", "not-ready=b1")
	h.start(m, t.TempDir())
	op := full(1)
	op.Checks = api.ChecksWarn
	h.command(op)
	r := h.outcome(op, api.OutcomeSucceeded)
	require.Equal(t, 2, strings.Count(r.Message, "2 of 4 nodes are ready"), "before and after: %s", r.Message)
	op = full(2)
	op.Run, op.ControlPlaneVersion, op.NodePools, op.Checks = "q", "1.37.2", nil, api.ChecksIgnore
	h.command(op)
	require.Empty(t, h.outcome(op, api.OutcomeSucceeded).Message)
}

func TestChecksAfter(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	setFaults(t, m, "hang-upgrade=np2")
	h.start(m, t.TempDir())
	op := full(1)
	h.command(op)
	h.expect("r", func(r api.UpgradeResult) bool { return len(r.Pools) == 1 })
	setFaults(t, m, "not-ready=b1")
	r := h.outcome(op, api.OutcomeFailed)
	require.Equal(t, api.ReasonHealthCheckFailed, r.Reason)
	require.Equal(t, []string{"np1", "np2"}, r.Pools)
	require.Contains(t, r.Message, "after the upgrade: 3 of 4 nodes are ready")
}

// A member may take a while until all is well.
func TestChecksAfterWait(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	h.start(m, t.TempDir(), func(o *Options) { o.Checks.Settle = time.Minute })
	setFaults(t, m, "hang-upgrade=np2")
	op := full(1)
	h.command(op)
	h.expect("r", func(r api.UpgradeResult) bool { return len(r.Pools) == 1 })
	setFaults(t, m, "not-ready=b1")
	h.expect("r", func(r api.UpgradeResult) bool { return r.Message == "checking the member after the upgrade" })
	setFaults(t, m)
	h.outcome(op, api.OutcomeSucceeded)
}

func TestAnOperationGoesOnWhileTheAgentIsAway(t *testing.T) {
	t.Parallel()
	h, m, data := newHub(t), newMember(t), t.TempDir()
	setFaults(t, m, "hang-upgrade=np1")
	a := h.start(m, data)
	op := full(1)
	h.command(op)
	h.expect("r", func(r api.UpgradeResult) bool { return r.Percent > 0 })
	a.stop()
	setFaults(t, m)
	bustest.Eventually(t, func() error {
		if s, _ := m.UpgradeState(op.ID); !s.Ended {
			return fmt.Errorf("it is at %d %%", s.Percent)
		}
		return nil
	})
	b := h.start(m, data)
	h.outcome(op, api.OutcomeSucceeded)
	b.stop()
	h.start(m, data)
	h.command(op)
	second := full(2)
	second.Run = "q"
	h.command(second)
	h.outcome(second, api.OutcomeSucceeded)
	require.Equal(t, []string{op.ID}, m.UpgradesBegun(), "once, however often it is asked for")
}

// What the driver does not know any more is judged by the member, and not done again.
func TestLostOperations(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{api.OutcomeFailed: "v1.36.3", api.OutcomeSucceeded: "v1.37.1"} {
		t.Run(name, func(t *testing.T) {
			h, m, data := newHub(t), newMember(t), t.TempDir()
			setFaults(t, m, "hang-upgrade=np1")
			a := h.start(m, data)
			op := full(1)
			op.NodePools[0].To = ""
			h.command(op)
			h.expect("r", func(r api.UpgradeResult) bool { return r.Percent > 0 })
			a.stop()
			m.Close()

			anew := targetmemory.New(targetmemory.Options{Name: "berlin", Clock: targetmemory.Running(elsewhen.Now), KubernetesVersion: version, Pools: []api.NodePoolFacts{{Name: "np1"}, {Name: "np2"}}})
			h.start(anew, data)
			r := h.outcome(op, name)
			require.Contains(t, r.Message, "driver memory does not know what became of it")
			require.Empty(t, anew.UpgradesBegun())
			if name == api.OutcomeFailed {
				require.Contains(t, r.Message, "the control plane is at 1.36.3, not 1.37.1")
				require.Contains(t, r.Message, "start the run again")
			}
		})
	}
}

func TestCommandsThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	a := h.start(m, t.TempDir())
	op := full(1)
	h.commandAt(api.Order{Epoch: 1, Term: 5, Generation: 1}, nil)
	bustest.Eventually(t, func() error {
		a.u.ledger.mu.Lock()
		defer a.u.ledger.mu.Unlock()
		if order := a.u.ledger.commands.Order(); order.Term != 5 {
			return fmt.Errorf("order is %v", order)
		}
		return nil
	})
	h.commandAt(api.Order{Epoch: 1, Term: 4, Generation: 9}, op)
	body, sequence, err := a.u.o.Hub.Command(t.Context(), subjects.CommandUpgrade)
	require.NoError(t, err)
	a.u.take(t.Context(), body, sequence)
	_, asked := a.u.ledger.wanted()
	require.False(t, asked)
	late := full(2)
	h.commandAt(api.Order{Epoch: 1, Term: 5, Generation: 2}, late)
	h.outcome(late, api.OutcomeSucceeded)
	require.Equal(t, []string{late.ID}, m.UpgradesBegun(), "an older command is not followed")
}

func TestOperationsThatAreRefused(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	h.start(m, t.TempDir())
	for want, change := range map[string]func(*api.UpgradeOperation){
		`does not know upgrades of type "Sideways"`:             func(op *api.UpgradeOperation) { op.Type = "Sideways" },
		"names neither a control plane version nor a node pool": func(op *api.UpgradeOperation) { op.ControlPlaneVersion, op.NodePools = "", nil },
		"both need a name of up to 200 characters":              func(op *api.UpgradeOperation) { op.ID = strings.Repeat("x", 201) },
	} {
		op := full(1)
		op.ID, op.Run = "refused/"+fmt.Sprint(len(want)), "r"+fmt.Sprint(len(want))
		change(op)
		h.command(op)
		r := h.outcome(op, api.OutcomeFailed)
		require.Equal(t, api.ReasonAgentRejected, r.Reason)
		require.Contains(t, r.Message, want)
	}
	require.Empty(t, m.UpgradesBegun())
}

// A command for another member, and one that is none, are trouble that the heartbeat tells.
func TestTrouble(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	a := h.start(m, t.TempDir())
	c := api.UpgradeCommand{Header: api.NewHeader(api.KindUpgradeCommand), Member: "paris", Operation: full(1)}
	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandUpgrade, Digest: "x"}
	var err error
	h.last, err = h.store.Commands.Publish(t.Context(), head, c, 0)
	require.NoError(t, err)
	bustest.Eventually(t, func() error {
		if !strings.Contains(a.u.Trouble(), `for member "paris", expected a UpgradeCommand for berlin`) {
			return fmt.Errorf("trouble is %q", a.u.Trouble())
		}
		return nil
	})
	h.command(nil)
	bustest.Eventually(t, func() error {
		if a.u.Trouble() != "" {
			return errors.New(a.u.Trouble())
		}
		return nil
	})
	require.Empty(t, m.UpgradesBegun())
}

// chatty is a driver that reports often, and then ends as it is told.
type chatty struct {
	*memory.Driver
	reports int
}

func (d *chatty) Run(_ context.Context, _ api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	for i := range d.reports {
		report(api.UpgradeResult{Percent: i % 100, Message: strings.Repeat("x", 10_000)})
	}
	return api.UpgradeResult{Outcome: api.OutcomeFailed, Message: strings.Repeat("y", 20_000)}, true, nil
}

func TestProgressIsToldOnceASecond(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	h.start(m, t.TempDir(), func(o *Options) { o.Driver = &chatty{Driver: o.Driver.(*memory.Driver), reports: 5000} })
	op := full(1)
	h.command(op)
	r := h.outcome(op, api.OutcomeFailed)
	require.LessOrEqual(t, len(r.Message), maxMessage)
	entry, _ := h.store.Results.Get(subjects.ResultKey("berlin", subjects.CommandUpgrade, "r"))
	require.LessOrEqual(t, entry.Sequence, uint64(4))
}

func TestResultsWaitForTheHub(t *testing.T) {
	t.Parallel()
	h, m, data := newHub(t), newMember(t), t.TempDir()
	setFaults(t, m, "hang-upgrade=np1")
	h.start(m, data)
	op := full(1)
	h.command(op)
	h.expect("r", func(r api.UpgradeResult) bool { return r.Percent > 0 })
	h.server.Stop(t)
	setFaults(t, m)
	bustest.Eventually(t, func() error {
		if s, _ := m.UpgradeState(op.ID); !s.Ended {
			return errors.New("it is not over yet")
		}
		return nil
	})
	h.server.Restart(t)
	h.store = h.server.Lead(t)
	h.outcome(op, api.OutcomeSucceeded)
	h.expectInventory(func(i api.MemberInventory) bool { return i.ControlPlaneVersion == "1.37.1" })
}

// What the disk says is wanted may be of a copy from before: no operation is begun before a command was read.
func TestNothingIsBegunBeforeTheHubWasAsked(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	away := bustest.Alone(t, "berlin")
	op, data := full(1), t.TempDir()
	body, err := json.Marshal(api.UpgradeCommand{Header: api.NewHeader(api.KindUpgradeCommand), Member: "berlin", Order: api.Order{Epoch: 1, Term: 1, Generation: 1}, Operation: op})
	require.NoError(t, err)
	open := func() *Upgrader {
		u, err := New(Options{Member: "berlin", Hub: away, Target: m, Data: data, Driver: memory.New(m, provision.Pace{})})
		require.NoError(t, err)
		return u
	}
	open().take(t.Context(), body, 1)
	u := open()
	for _, heard := range [][]byte{nil, []byte("{")} {
		if heard != nil {
			u.take(t.Context(), heard, 1)
		}
		_, begins := u.next(true)
		require.False(t, begins)
	}
	u.none()
	require.Contains(t, u.Trouble(), "the agent's disk wants operation "+op.ID)
	u.take(t.Context(), body, 1)
	wanted, begins := u.next(true)
	require.True(t, begins)
	require.Equal(t, op.ID, wanted.Operation.ID)

	h.start(m, data)
	h.command(op)
	h.outcome(op, api.OutcomeSucceeded)
}

// While another agent speaks for the member this one begins no upgrade, and says why.
func TestTwinsUpgradeNothing(t *testing.T) {
	t.Parallel()
	h, m := newHub(t), newMember(t)
	other := h.server.Agent(t, "berlin")
	var own *member.Conn
	h.start(m, t.TempDir(), func(o *Options) { own = o.Hub })
	beat := func(agents ...*member.Conn) {
		for _, a := range agents {
			require.NoError(t, a.PutHeartbeat(bustest.Context(t), api.Heartbeat{Healthy: true}))
		}
	}
	for range 6 {
		beat(own, other)
	}
	op := full(1)
	h.command(op)
	h.expect(op.Run, func(r api.UpgradeResult) bool {
		return r.Outcome == api.OutcomeRunning && strings.Contains(r.Message, "waits: another agent proves itself")
	})
	beat(own, own, own, own)
	h.outcome(op, api.OutcomeSucceeded)
}
