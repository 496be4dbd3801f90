package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/simulate/simulatetest"
)

// placedOn fits pods on the nodes of a fixture and returns where each goes, "" for nowhere.
func placedOn(f *simulatetest.Member, order []string, pods ...api.PodState) (to []string, why []string) {
	s := f.State()
	for _, r := range simulatetest.Fit(simulatetest.FitInput{Cluster: s.Cluster, Order: order, Pods: pods}) {
		to, why = append(to, r.Node), append(why, r.Why)
	}
	return to, why
}

func TestFitFollowsTheOrderGiven(t *testing.T) {
	f := &simulatetest.Member{Nodes: []*api.NodeState{
		simulatetest.Node("a", "d2", "z1", "", simulatetest.Pod("old", 1000)), simulatetest.Node("b", "d4", "z1", ""), simulatetest.Node("c", "d4", "z2", ""),
	}}
	to, why := placedOn(f, []string{"c", "unknown", "a"}, simulatetest.Pod("p1", 3000), simulatetest.Pod("p2", 600), simulatetest.Pod("p3", 600), simulatetest.Pod("p4", 600), simulatetest.Pod("p5", 9000))
	require.Equal(t, []string{"c", "c", "a", "", ""}, to)
	require.Equal(t, []string{"", "", "", "2 insufficient cpu", "2 insufficient cpu"}, why)
	to, why = placedOn(f, nil, simulatetest.Pod("p1", 100))
	require.Equal(t, []string{""}, to)
	require.Equal(t, []string{""}, why)
}

// Fit takes the taints of nodes at their word, where a simulation knows that some will go; a taint that
// only prefers to have no pods gives way last.
func TestFitAndTaints(t *testing.T) {
	starting := simulatetest.Node("a", "d4", "z1", "general")
	starting.Initialized, starting.Taints = false, []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	soft := simulatetest.Node("b", "d4", "z1", "")
	soft.Taints = []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}
	f := &simulatetest.Member{Nodes: []*api.NodeState{starting, soft, simulatetest.Node("c", "d2", "z1", "")}}
	to, why := placedOn(f, []string{"a", "b", "c"}, simulatetest.Pod("p1", 1000), simulatetest.Pod("p2", 1000), simulatetest.Pod("p3", 9000))
	require.Equal(t, []string{"c", "b", ""}, to)
	require.Equal(t, "3 insufficient cpu", why[2])
	_, why = placedOn(f, []string{"a"}, simulatetest.Pod("p", 100))
	require.Equal(t, "1 untolerated taint "+corev1.TaintNodeNotReady, why[0])
}

// Pods that run where they are count, whether or not they could move, and no pod but those given moves.
func TestFitCountsThePodsThatRun(t *testing.T) {
	guarded := func(p *api.PodState) {
		p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	}
	f := &simulatetest.Member{
		Nodes: []*api.NodeState{
			simulatetest.Node("a", "d4", "z1", "", simulatetest.Pod("w1", 100, simulatetest.Labelled("web"), guarded)), simulatetest.Node("b", "d4", "z1", "", simulatetest.Pod("w2", 100, simulatetest.Labelled("web"))),
			simulatetest.Node("c", "d4", "z2", "", simulatetest.Pod("alone", 100, simulatetest.Apart("web", corev1.LabelHostname))), simulatetest.Node("d", "d4", "z2", ""),
		},
		Pending: []api.PodState{simulatetest.Pod("waiting", 3800)},
	}
	f.Nodes[0].Deleting, f.Nodes[1].Deleting = true, true
	to, _ := placedOn(f, []string{"a", "b", "c", "d"},
		simulatetest.Pod("p1", 100, simulatetest.Labelled("web"), simulatetest.Apart("web", corev1.LabelHostname)), simulatetest.Pod("p2", 100, simulatetest.Labelled("web"), simulatetest.Apart("web", corev1.LabelHostname)), simulatetest.Pod("p3", 100))
	require.Equal(t, []string{"d", "", "a"}, to, "one of its own already, one that wants to be alone, then room")
	spread := func(p *api.PodState) {
		p.Spread = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: simulatetest.Selecting("web")}}
	}
	f.Nodes[2].Pods, f.Nodes[0].Deleting, f.Nodes[1].Deleting = nil, false, false
	to, _ = placedOn(f, []string{"a", "b", "c", "d"}, simulatetest.Pod("s1", 100, simulatetest.Labelled("web"), spread), simulatetest.Pod("s2", 100, simulatetest.Labelled("web"), spread), simulatetest.Pod("s3", 100, simulatetest.Labelled("web"), spread))
	require.Equal(t, []string{"c", "c", "a"}, to)
}

func TestFitNamesWhatIsInTheWay(t *testing.T) {
	port := func(p *api.PodState) { p.Ports = []api.HostPort{{Port: 80}} }
	disk := func(id string) func(*api.PodState) {
		return func(p *api.PodState) { p.Volumes = []api.PodVolume{{Name: id, Driver: "disk"}} }
	}
	full := simulatetest.Node("full", "d4", "z1", "", simulatetest.Pod("p", 100, port), simulatetest.Pod("v", 100, disk("v1")), simulatetest.Pod("alone", 100, simulatetest.Apart("web", corev1.LabelHostname)))
	full.AttachLimits, full.Allocatable["pods"] = map[string]int{"disk": 1}, 4
	f := &simulatetest.Member{Nodes: []*api.NodeState{full}}
	for want, pod := range map[string]api.PodState{
		"1 host ports taken":                              simulatetest.Pod("x", 100, port),
		"1 no more volumes attachable":                    simulatetest.Pod("x", 100, disk("v2")),
		"1 node selector or affinity not matched":         simulatetest.Pod("x", 100, func(p *api.PodState) { p.NodeSelector = map[string]string{"disk": "ssd"} }),
		"1 pod affinity or topology spread not satisfied": simulatetest.Pod("x", 100, simulatetest.Labelled("web")),
		"1 insufficient memory":                           simulatetest.Pod("x", 100, func(p *api.PodState) { p.Requests["memory"] = 1 << 50 }),
		"1 insufficient gpu":                              simulatetest.Pod("x", 100, func(p *api.PodState) { p.Requests["gpu"] = 1 }),
		"a volume claim that does not exist":              simulatetest.Pod("x", 100, func(p *api.PodState) { p.Volumes = []api.PodVolume{{Name: "none", Missing: true}} }),
		"":                                                simulatetest.Pod("x", 100, disk("v1")),
	} {
		_, why := placedOn(f, []string{"full"}, pod)
		require.Equal(t, []string{want}, why)
	}
	_, why := placedOn(f, []string{"full"}, simulatetest.Pod("x", 1), simulatetest.Pod("y", 1))
	require.Equal(t, []string{"", "1 too many pods"}, why)
}

// Fit leaves its input as it was.
func TestFitChangesNothing(t *testing.T) {
	f := &simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("a", "d2", "z1", "")}, Pending: []api.PodState{simulatetest.Pod("w", 100)}}
	s := f.State()
	in := simulatetest.FitInput{Cluster: s.Cluster, Order: []string{"a"}, Pods: []api.PodState{simulatetest.Pod("p", 1500)}}
	for range 3 {
		require.Equal(t, []simulatetest.Fitted{{Node: "a"}}, simulatetest.Fit(in))
	}
	require.Len(t, s.Cluster.Pending, 1)
}
