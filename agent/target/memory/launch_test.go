package memory

import (
	"testing"
	"time"

	"flotilla/agent/target/memory/faults"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/core/api"
)

func launch(name string) Launch {
	return Launch{
		Name: name, NodePool: "general", InstanceType: "d4", Zone: "z1", CapacityType: "spot", Price: 0.25,
		Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3900m"), corev1.ResourceMemory: resource.MustParse("15Gi"), corev1.ResourcePods: resource.MustParse("30")},
		Labels:      map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"}, Finalizers: []string{api.FinalizerTermination},
		Taints:        []corev1.Taint{{Key: "own", Effect: corev1.TaintEffectNoSchedule}},
		StartupTaints: []corev1.Taint{{Key: "start", Effect: corev1.TaintEffectNoExecute}},
		LaunchTime:    30 * time.Second, ReadyAfter: 20 * time.Second,
	}
}

func taints(n *corev1.Node) []string {
	var out []string
	for _, t := range n.Spec.Taints {
		out = append(out, t.Key+":"+string(t.Effect))
	}
	return out
}

func TestLaunchedNodes(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a")})
	create(t, m, app("DaemonSet", "log", 1, "100m", "tolerations: [{operator: Exists}], "))
	node, err := m.LaunchNode(launch("n1"))
	require.NoError(t, err)
	require.Equal(t, "n1", node)
	clock.Advance(29 * time.Second)
	require.Nil(t, nodeNamed(t, m, "n1"))
	require.Equal(t, []string{"a", "n1"}, m.Machines())
	_, err = m.LaunchNode(launch("n1"))
	require.NoError(t, err, "again is no error")
	clock.Advance(time.Second)

	n := nodeNamed(t, m, "n1")
	require.Equal(t, []string{TaintUnregistered + ":NoExecute", "own:NoSchedule", "start:NoExecute", corev1.TaintNodeNotReady + ":NoSchedule"}, taints(n))
	require.Equal(t, corev1.ConditionFalse, n.Status.Conditions[0].Status)
	require.Equal(t, testNow.Add(30*time.Second), n.CreationTimestamp.UTC())
	require.Equal(t, []string{api.FinalizerTermination}, n.Finalizers)
	require.Equal(t, map[string]string{
		corev1.LabelHostname: "n1", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelTopologyZone: "z1",
		corev1.LabelInstanceTypeStable: "d4", api.LabelNodePool: "general", api.LabelCapacityType: "spot", "team": "a",
	}, n.Labels, "whoever launched it registers it")
	require.Equal(t, map[string]string{"note": "b"}, n.Annotations)
	require.Equal(t, "3900m", n.Status.Allocatable.Cpu().String())
	require.EqualValues(t, 30, n.Status.Allocatable.Pods().Value())
	require.EqualValues(t, 110, n.Status.Capacity.Pods().Value())
	require.Equal(t, "v1.36.3", n.Status.NodeInfo.KubeletVersion)
	require.Equal(t, "log=a log=n1", where(t, m))

	clock.Advance(20 * time.Second)
	n = nodeNamed(t, m, "n1")
	require.Equal(t, []string{TaintUnregistered + ":NoExecute", "own:NoSchedule"}, taints(n))
	require.Equal(t, corev1.ConditionTrue, n.Status.Conditions[0].Status)
	require.Equal(t, testNow.Add(50*time.Second), n.Status.Conditions[0].LastTransitionTime.UTC())
	all, err := m.Nodes(t.Context())
	require.NoError(t, err)
	require.InEpsilon(t, 0.25, all[1].Price, 1e-9)
	require.False(t, all[1].NotReady)
	require.Equal(t, "100m", requested(t, m, "n1", corev1.ResourceCPU))
	i, err := m.Inventory(t.Context())
	require.NoError(t, err)
	require.Len(t, i.NodePools, 1, "what Flotilla launches is no pool of the provider")
}

func TestLaunchesAtOnceAndRefused(t *testing.T) {
	m, _ := world(t, Options{Nodes: nodes("a")})
	l := launch("n1")
	l.LaunchTime, l.ReadyAfter = 0, 0
	_, err := m.LaunchNode(l)
	require.NoError(t, err)
	require.Equal(t, corev1.ConditionTrue, nodeNamed(t, m, "n1").Status.Conditions[0].Status)
	_, err = m.LaunchNode(Launch{})
	require.ErrorContains(t, err, "it needs a name")
	require.True(t, m.LoseMachine("n1"))
	_, err = m.LaunchNode(l)
	require.ErrorContains(t, err, "the node of a machine that is gone still has this name")
	require.True(t, m.RemoveNode("n1"))
	_, err = m.LaunchNode(l)
	require.NoError(t, err)
}

func TestMachinesAreTerminated(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a", "b")})
	create(t, m, app("Deployment", "web", 1, "1", ""))
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) { n.Finalizers = []string{"f"} }))
	web := podNamed(t, m, "web")
	require.False(t, m.TerminateMachine("a", 10*time.Second))
	clock.Advance(5 * time.Second)
	require.False(t, m.TerminateMachine("a", 10*time.Second), "asking again does not begin anew")
	require.Equal(t, corev1.ConditionTrue, nodeNamed(t, m, "a").Status.Conditions[0].Status)
	clock.Advance(5 * time.Second)
	require.True(t, m.TerminateMachine("a", time.Hour))
	require.True(t, m.TerminateMachine("never", 0))
	require.False(t, m.HasMachine("a"))
	a := nodeNamed(t, m, "a")
	require.Equal(t, corev1.ConditionUnknown, a.Status.Conditions[0].Status)
	require.Equal(t, []string{corev1.TaintNodeUnreachable + ":NoSchedule", corev1.TaintNodeUnreachable + ":NoExecute"}, taints(a))
	require.Equal(t, corev1.ConditionFalse, conditionOf(podNamed(t, m, "web"), corev1.PodReady).Status)
	require.NoError(t, m.Evict(t.Context(), refOf(web)))
	clock.Advance(time.Hour)
	require.Equal(t, "web!=a", where(t, m), "no kubelet says that it is gone")
	require.NoError(t, m.DeleteNode(t.Context(), "a", ""))
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) { n.Finalizers = nil }))
	require.Equal(t, "web=b", where(t, m))
	require.True(t, m.TerminateMachine("b", 0))
	require.False(t, m.LoseMachine("b"))

	_, err := m.LaunchNode(launch("n1"))
	require.NoError(t, err)
	clock.Advance(30 * time.Second)
	require.True(t, m.TerminateMachine("n1", 0))
	clock.Advance(time.Hour)
	require.Contains(t, taints(nodeNamed(t, m, "n1")), "start:NoExecute", "nothing starts on a machine that is gone")
}

func TestLaunchFaults(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a")})
	faults := func(words ...string) {
		f, err := faults.Parse(words)
		require.NoError(t, err)
		m.SetFaults(f)
	}
	try := func(name, pool, instanceType string) error {
		l := launch(name)
		l.NodePool, l.InstanceType = pool, instanceType
		_, err := m.LaunchNode(l)
		return err
	}
	faults("fail-launch=general@2", "fail-launch=huge", "fail-launch=any@5")
	require.NoError(t, try("n1", "general", "d4"))
	require.NoError(t, try("n2", "other", "d4"))
	require.ErrorContains(t, try("n3", "general", "d4"), "launching node n3 on member berlin: no capacity of type d4, on request (fail-launch=general@2)")
	require.ErrorContains(t, try("n4", "other", "huge"), "fail-launch=huge")
	require.ErrorContains(t, try("n3", "general", "d4"), "fail-launch=any@5")
	require.NoError(t, try("n3", "general", "d4"), "the next try of the same name")
	require.Equal(t, []string{"a", "n1", "n2", "n3"}, m.Machines())

	faults("hang-launch=general", "never-ready=d4@2")
	clock.Advance(time.Hour)
	require.Nil(t, nodeNamed(t, m, "n1"))
	clock.Advance(time.Hour)
	require.Equal(t, corev1.ConditionFalse, nodeNamed(t, m, "n2").Status.Conditions[0].Status)
	faults("never-ready=general")
	require.NotNil(t, nodeNamed(t, m, "n1"), "it goes on")
	require.Equal(t, corev1.ConditionTrue, nodeNamed(t, m, "n2").Status.Conditions[0].Status)
	clock.Advance(time.Hour)
	require.Equal(t, corev1.ConditionFalse, nodeNamed(t, m, "n1").Status.Conditions[0].Status)
	require.True(t, m.TerminateMachine("n1", 0))
	faults()
	require.Equal(t, corev1.ConditionUnknown, nodeNamed(t, m, "n1").Status.Conditions[0].Status, "its machine is gone")

	faults("lost=n2", "lost=unknown")
	require.False(t, m.HasMachine("n2"))
	faults()
	require.Equal(t, corev1.ConditionUnknown, nodeNamed(t, m, "n2").Status.Conditions[0].Status)
	require.NoError(t, try("n9", "general", "d4"))
	require.True(t, m.TerminateMachine("n9", 0))
	clock.Advance(time.Hour)
	require.Nil(t, nodeNamed(t, m, "n9"), "terminated before it showed")
}

func TestLaunchFaultsAsText(t *testing.T) {
	words := []string{"lost=n1", "fail-launch=general@2", "fail-launch=any", "hang-launch=d4", "never-ready=any@1"}
	f, err := faults.Parse(words)
	require.NoError(t, err)
	require.Equal(t, faults.Faults{
		Lost: []string{"n1"}, FailLaunch: []faults.Launch{{What: "general", Nth: 2}, {What: "any"}},
		HangLaunch: []faults.Launch{{What: "d4"}}, NeverReady: []faults.Launch{{What: "any", Nth: 1}},
	}, f)
	require.Equal(t, "lost=n1 fail-launch=general@2 fail-launch=any hang-launch=d4 never-ready=any@1", f.String())
	for _, word := range []string{"lost", "fail-launch=@1", "hang-launch=np1@0", "never-ready=d4@x", "never-ready"} {
		_, err := faults.Parse([]string{word})
		require.ErrorContains(t, err, word)
	}
}
