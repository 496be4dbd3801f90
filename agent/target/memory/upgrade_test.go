package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/agent/target/memory/provision"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/tests/elsewhen"
)

const newer = "AKSUbuntu-2204gen2containerd-202401.17.1"

var slow = provision.Pace{ControlPlane: 10 * time.Minute, NodePool: 6 * time.Minute, Images: []string{"other-1.2.3", newer}}

// twoPools is a member with nodes a and b in np1, c in np2, and an empty pool np3.
func twoPools(t *testing.T) (*Member, *manualClock) {
	t.Helper()
	clock := &manualClock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	given := nodes("a", "b", "c")
	for i, pool := range []string{"np1", "np1", "np2"} {
		given[i].Pool = pool
	}
	m := New(Options{Name: "berlin", Clock: clock, Nodes: given, Pools: []api.NodePoolFacts{
		{Name: "np1"}, {Name: "np2", KubernetesVersion: "v1.35.1", FromSnapshot: true}, {Name: "np3", OSType: "Windows", Mode: "System"},
	}})
	return m, clock
}

func fullUpgrade(attempt int) api.UpgradeOperation {
	return api.UpgradeOperation{
		ID: fmt.Sprintf("u1/berlin/%d", attempt), Run: "r", Attempt: attempt, Type: api.UpgradeFull, ControlPlaneVersion: "1.37.1",
		NodePools: []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.37.1", To: newer}, {Pool: "np2", ToVersion: "1.37.1", Newest: true, DropSnapshot: true}, {Pool: "np3", ToVersion: "1.37.1"}},
	}
}

// look is what one sees of a member: control plane, each pool, each node.
func look(t *testing.T, m *Member) string {
	t.Helper()
	i, err := m.Inventory(t.Context())
	require.NoError(t, err)
	all, err := m.Nodes(t.Context())
	require.NoError(t, err)
	text := i.ControlPlaneVersion
	for _, p := range i.NodePools {
		text += " " + p.Name + "=" + p.KubernetesVersion
	}
	for _, n := range all {
		text += " " + n.Name + "=" + n.Kubelet
		if n.NotReady {
			text += "!"
		}
	}
	return text
}

func TestUpgradeByTheMinute(t *testing.T) {
	m, clock := twoPools(t)
	require.NoError(t, m.BeginUpgrade(fullUpgrade(1), slow))
	require.ErrorContains(t, m.BeginUpgrade(fullUpgrade(2), slow), "operation u1/berlin/1 is in progress")
	for _, step := range []struct {
		minutes int
		percent int
		message string
		want    string
	}{
		{0, 0, "control plane 1.36.3 to 1.37.1", "v1.36.3 np1=v1.36.3 np2=v1.35.1 np3=v1.36.3 a=v1.36.3 b=v1.36.3 c=v1.35.1"},
		{9, 0, "control plane 1.36.3 to 1.37.1", "v1.36.3 np1=v1.36.3 np2=v1.35.1 np3=v1.36.3 a=v1.36.3 b=v1.36.3 c=v1.35.1"},
		{10, 20, "node pool np1, node 1 of 2", "v1.37.1 np1=v1.36.3 np2=v1.35.1 np3=v1.36.3 a=v1.36.3! b=v1.36.3 c=v1.35.1"},
		{13, 40, "node pool np1, node 2 of 2", "v1.37.1 np1=v1.36.3 np2=v1.35.1 np3=v1.36.3 a=v1.37.1 b=v1.36.3! c=v1.35.1"},
		{16, 60, "node pool np2, node 1 of 1", "v1.37.1 np1=v1.37.1 np2=v1.35.1 np3=v1.36.3 a=v1.37.1 b=v1.37.1 c=v1.35.1!"},
		{22, 80, "node pool np3, which has no nodes", "v1.37.1 np1=v1.37.1 np2=v1.37.1 np3=v1.36.3 a=v1.37.1 b=v1.37.1 c=v1.37.1"},
		{28, 100, "", "v1.37.1 np1=v1.37.1 np2=v1.37.1 np3=v1.37.1 a=v1.37.1 b=v1.37.1 c=v1.37.1"},
	} {
		clock.Advance(time.Date(2026, 11, 20, 12, step.minutes, 0, 0, time.UTC).Sub(clock.Now()))
		s, ok := m.UpgradeState("u1/berlin/1")
		require.True(t, ok)
		require.Equal(t, step.percent, s.Percent, "after %d min", step.minutes)
		require.Equal(t, step.message, s.Message)
		require.Equal(t, step.percent == 100, s.Ended)
		require.Equal(t, step.want, look(t, m), "after %d min", step.minutes)
	}
	s, _ := m.UpgradeState("u1/berlin/1")
	require.Equal(t, []string{"np1", "np2", "np3"}, s.Pools)
	i, err := m.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, []api.NodePoolFacts{
		{Name: "np1", Mode: "System", OSType: "Linux", ImageFamily: "AKSUbuntu-2204gen2containerd", NodeImageVersion: newer, KubernetesVersion: "v1.37.1"},
		{Name: "np2", Mode: "User", OSType: "Linux", ImageFamily: "AKSUbuntu-2204gen2containerd", NodeImageVersion: newer, KubernetesVersion: "v1.37.1"},
		{Name: "np3", Mode: "System", OSType: "Windows", ImageFamily: "AKSUbuntu-2204gen2containerd", NodeImageVersion: DefaultImage, KubernetesVersion: "v1.37.1"},
	}, i.NodePools)
	require.Equal(t, newer, nodeImage(t, m, "a"))
	require.ErrorContains(t, m.BeginUpgrade(fullUpgrade(1), slow), "carried out already")
	require.Equal(t, []string{"u1/berlin/1"}, m.UpgradesBegun())
	_, ok := m.UpgradeState("u1/berlin/2")
	require.False(t, ok)
}

func nodeImage(t *testing.T, m *Member, name string) string {
	t.Helper()
	all, err := m.Nodes(t.Context())
	require.NoError(t, err)
	for _, n := range all {
		if n.Name == name {
			return n.Image
		}
	}
	return ""
}

// Pods leave a node that is made anew and come back when there is room.
func TestPodsLeaveANodeThatIsMadeAnew(t *testing.T) {
	clock := &manualClock{now: time.Unix(0, 0)}
	m := New(Options{Name: "berlin", Clock: clock, Nodes: nodes("a")})
	create(t, m, shop)
	live := create(t, m, deployment)
	expectReady(t, m, live, apply.Available, "")
	op := api.UpgradeOperation{ID: "1", Type: api.UpgradeNodeImageOnly, NodePools: []api.PoolUpgrade{{Pool: DefaultPool, To: newer}}, DisableUnattendedUpgrades: true}
	require.NoError(t, m.BeginUpgrade(op, slow))
	expectReady(t, m, live, apply.NotYet, "0 of 2 available: pods wait for room: 1 nodes, insufficient nodes")
	require.Equal(t, "0", requested(t, m, "a", "cpu"))
	clock.Advance(slow.NodePool)
	expectReady(t, m, live, apply.Available, "")
	s, _ := m.UpgradeState("1")
	require.True(t, s.Ended)
	require.Equal(t, "unattended upgrades of the nodes are switched off", s.Message)
}

func TestUpgradesThatFailOrHang(t *testing.T) {
	for name, c := range map[string]struct {
		faults []string
		fault  string
		pools  []string
		hangs  string
	}{
		"any":             {faults: []string{"fail-upgrade=any"}, fault: "control plane 1.36.3 to 1.37.1: failed on request"},
		"type":            {faults: []string{"fail-upgrade=Full@1"}, fault: "control plane 1.36.3 to 1.37.1: failed on request"},
		"control plane":   {faults: []string{"fail-upgrade=controlPlane"}, fault: "control plane 1.36.3 to 1.37.1: failed on request"},
		"pool":            {faults: []string{"fail-upgrade=np2"}, fault: "node pool np2, node 1 of 1: failed on request", pools: []string{"np1"}},
		"another attempt": {faults: []string{"fail-upgrade=any@2", "fail-upgrade=NodeImageOnly"}, pools: []string{"np1", "np2", "np3"}},
		"hangs":           {faults: []string{"hang-upgrade=np1@1"}, hangs: "node pool np1, node 1 of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			m, clock := twoPools(t)
			f, err := faults.Parse(c.faults)
			require.NoError(t, err)
			m.SetFaults(f)
			require.NoError(t, m.BeginUpgrade(fullUpgrade(1), slow))
			anHour(clock)
			s, _ := m.UpgradeState("u1/berlin/1")
			require.Equal(t, c.hangs == "", s.Ended)
			if c.hangs != "" {
				require.Equal(t, c.hangs, s.Message)
				m.SetFaults(faults.Faults{})
				anHour(clock)
				s, _ = m.UpgradeState("u1/berlin/1")
				require.True(t, s.Ended)
				return
			}
			require.Equal(t, c.fault, s.Fault)
			require.Equal(t, c.pools, s.Pools)
			require.NotContains(t, look(t, m), "!", "no node is left without its pods")
		})
	}
}

// anHour goes by in minutes, so that timers that timers start are due in time.
func anHour(clock *manualClock) {
	for range 60 {
		clock.Advance(time.Minute)
	}
}

func TestProvidersRefuse(t *testing.T) {
	for want, change := range map[string]func(*api.UpgradeOperation){
		"cannot be moved to 1.36.1: Ahead":                          func(op *api.UpgradeOperation) { op.ControlPlaneVersion = "1.36.1" },
		"cannot be moved to 1.39.0: RefusedMinorGap":                func(op *api.UpgradeOperation) { op.ControlPlaneVersion = "1.39.0" },
		`"soon" is no version`:                                      func(op *api.UpgradeOperation) { op.ControlPlaneVersion = "soon" },
		`there is no node pool "np9"; the member has np1, np2, np3`: func(op *api.UpgradeOperation) { op.NodePools[0].Pool = "np9" },
		"its kubelets would be newer than control plane 1.36.3":     func(op *api.UpgradeOperation) { op.ControlPlaneVersion = "" },
	} {
		m, _ := twoPools(t)
		op := fullUpgrade(1)
		change(&op)
		require.ErrorContains(t, m.BeginUpgrade(op, slow), want)
		require.Empty(t, m.UpgradesBegun())
	}
	m, _ := twoPools(t)
	m.SetFaults(faults.Faults{Busy: "by-hand"})
	require.ErrorContains(t, m.BeginUpgrade(fullUpgrade(1), slow), "operation by-hand of somebody else")
}

func TestBudgets(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now), Nodes: nodes("a")})
	create(t, m, shop)
	create(t, m, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop}, spec: {replicas: 2,
template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`)
	for name, spec := range map[string]string{
		"all":     "minAvailable: 2, ",
		"one":     "maxUnavailable: 1, ",
		"half":    "minAvailable: 50%, ",
		"percent": "maxUnavailable: 10%, ",
		"free":    "",
	} {
		create(t, m, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: "+name+", namespace: shop}, spec: {"+spec+"selector: {matchLabels: {app: web}}}}")
	}
	create(t, m, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: nobody, namespace: default}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}")
	allowed := func() map[string]int {
		found, err := m.Budgets(t.Context())
		require.NoError(t, err)
		out := map[string]int{}
		for _, b := range found {
			require.Equal(t, b.Namespace == "shop", b.Expected == 2, b)
			out[b.Name] = b.Allowed
		}
		return out
	}
	require.Equal(t, map[string]int{"all": 0, "one": 1, "half": 1, "percent": 1, "free": 2, "nobody": 0}, allowed())
	live, err := m.Get(t.Context(), api.ObjectRef{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Namespace: "shop", Name: "one"})
	require.NoError(t, err)
	counted, _, err := unstructured.NestedInt64(live.Object, "status", "disruptionsAllowed")
	require.NoError(t, err)
	require.Equal(t, int64(1), counted)
	m.SetFaults(faults.Faults{Stuck: []string{"Deployment"}})
	require.Equal(t, map[string]int{"all": 0, "one": 0, "half": 0, "percent": 0, "free": 0, "nobody": 0}, allowed())
	m.SetFaults(faults.Faults{Down: true})
	_, err = m.Budgets(t.Context())
	require.ErrorContains(t, err, "does not answer")
}

func TestMembersThatArePoweredOff(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now), Nodes: []target.Node{{Name: "n"}}})
	m.SetFaults(faults.Faults{Off: true, NotReady: []string{"n"}})
	require.ErrorContains(t, m.Ready(t.Context()), "does not answer")
	i, err := m.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.PowerStopped, i.PowerState)
}

func TestUpgradeFaultsAsText(t *testing.T) {
	words := []string{"off", "not-ready=n1", "busy=by-hand", "fail-upgrade=Full@2", "fail-upgrade=np1", "hang-upgrade=any"}
	f, err := faults.Parse(words)
	require.NoError(t, err)
	require.Equal(t, faults.Faults{
		Off: true, NotReady: []string{"n1"}, Busy: "by-hand",
		FailUpgrade: []faults.Upgrade{{What: "Full", Attempt: 2}, {What: "np1"}}, HangUpgrade: []faults.Upgrade{{What: "any"}},
	}, f)
	again, err := faults.Parse(strings.Fields(f.String()))
	require.NoError(t, err)
	require.Equal(t, f, again)
	for _, word := range []string{"off=now", "busy", "fail-upgrade=@1", "fail-upgrade=np1@0", "hang-upgrade=np1@x", "hang-upgrade"} {
		_, err := faults.Parse([]string{word})
		require.ErrorContains(t, err, word)
	}
}
