package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// placedOn fits pods on the nodes of a fixture and returns where each goes, "" for nowhere.
func placedOn(f *fixture, order []string, pods ...api.PodState) (to []string, why []string) {
	s := f.state()
	for _, r := range Fit(FitInput{Cluster: s.Cluster, Order: order, Pods: pods}) {
		to, why = append(to, r.Node), append(why, r.Why)
	}
	return to, why
}

func TestFitFollowsTheOrderGiven(t *testing.T) {
	f := &fixture{nodes: []*api.NodeState{
		aNode("a", "d2", "z1", "", aPod("old", 1000)), aNode("b", "d4", "z1", ""), aNode("c", "d4", "z2", ""),
	}}
	to, why := placedOn(f, []string{"c", "unknown", "a"}, aPod("p1", 3000), aPod("p2", 600), aPod("p3", 600), aPod("p4", 600), aPod("p5", 9000))
	require.Equal(t, []string{"c", "c", "a", "", ""}, to)
	require.Equal(t, []string{"", "", "", "2 insufficient cpu", "2 insufficient cpu"}, why)
	to, why = placedOn(f, nil, aPod("p1", 100))
	require.Equal(t, []string{""}, to)
	require.Equal(t, []string{""}, why)
}

// Fit takes the taints of nodes at their word, where a simulation knows that some will go; a taint that
// only prefers to have no pods gives way last.
func TestFitAndTaints(t *testing.T) {
	starting := aNode("a", "d4", "z1", "general")
	starting.Initialized, starting.Taints = false, []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	soft := aNode("b", "d4", "z1", "")
	soft.Taints = []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}
	f := &fixture{nodes: []*api.NodeState{starting, soft, aNode("c", "d2", "z1", "")}}
	to, why := placedOn(f, []string{"a", "b", "c"}, aPod("p1", 1000), aPod("p2", 1000), aPod("p3", 9000))
	require.Equal(t, []string{"c", "b", ""}, to)
	require.Equal(t, "3 insufficient cpu", why[2])
	_, why = placedOn(f, []string{"a"}, aPod("p", 100))
	require.Equal(t, "1 untolerated taint "+corev1.TaintNodeNotReady, why[0])
}

// Pods that run where they are count, whether or not they could move, and no pod but those given moves.
func TestFitCountsThePodsThatRun(t *testing.T) {
	guarded := func(p *api.PodState) {
		p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	}
	f := &fixture{
		nodes: []*api.NodeState{
			aNode("a", "d4", "z1", "", aPod("w1", 100, labelled("web"), guarded)), aNode("b", "d4", "z1", "", aPod("w2", 100, labelled("web"))),
			aNode("c", "d4", "z2", "", aPod("alone", 100, apart("web", corev1.LabelHostname))), aNode("d", "d4", "z2", ""),
		},
		pending: []api.PodState{aPod("waiting", 3800)},
	}
	f.nodes[0].Deleting, f.nodes[1].Deleting = true, true
	to, _ := placedOn(f, []string{"a", "b", "c", "d"},
		aPod("p1", 100, labelled("web"), apart("web", corev1.LabelHostname)), aPod("p2", 100, labelled("web"), apart("web", corev1.LabelHostname)), aPod("p3", 100))
	require.Equal(t, []string{"d", "", "a"}, to, "one of its own already, one that wants to be alone, then room")
	spread := func(p *api.PodState) {
		p.Spread = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting("web")}}
	}
	f.nodes[2].Pods, f.nodes[0].Deleting, f.nodes[1].Deleting = nil, false, false
	to, _ = placedOn(f, []string{"a", "b", "c", "d"}, aPod("s1", 100, labelled("web"), spread), aPod("s2", 100, labelled("web"), spread), aPod("s3", 100, labelled("web"), spread))
	require.Equal(t, []string{"c", "c", "a"}, to)
}

func TestFitNamesWhatIsInTheWay(t *testing.T) {
	port := func(p *api.PodState) { p.Ports = []api.HostPort{{Port: 80}} }
	disk := func(id string) func(*api.PodState) {
		return func(p *api.PodState) { p.Volumes = []api.PodVolume{{Name: id, Driver: "disk"}} }
	}
	full := aNode("full", "d4", "z1", "", aPod("p", 100, port), aPod("v", 100, disk("v1")), aPod("alone", 100, apart("web", corev1.LabelHostname)))
	full.AttachLimits, full.Allocatable["pods"] = map[string]int{"disk": 1}, 4
	f := &fixture{nodes: []*api.NodeState{full}}
	for want, pod := range map[string]api.PodState{
		"1 host ports taken":                              aPod("x", 100, port),
		"1 no more volumes attachable":                    aPod("x", 100, disk("v2")),
		"1 node selector or affinity not matched":         aPod("x", 100, func(p *api.PodState) { p.NodeSelector = map[string]string{"disk": "ssd"} }),
		"1 pod affinity or topology spread not satisfied": aPod("x", 100, labelled("web")),
		"1 insufficient memory":                           aPod("x", 100, func(p *api.PodState) { p.Requests["memory"] = 1 << 50 }),
		"1 insufficient gpu":                              aPod("x", 100, func(p *api.PodState) { p.Requests["gpu"] = 1 }),
		"a volume claim that does not exist":              aPod("x", 100, func(p *api.PodState) { p.Volumes = []api.PodVolume{{Name: "none", Missing: true}} }),
		"":                                                aPod("x", 100, disk("v1")),
	} {
		_, why := placedOn(f, []string{"full"}, pod)
		require.Equal(t, []string{want}, why)
	}
	_, why := placedOn(f, []string{"full"}, aPod("x", 1), aPod("y", 1))
	require.Equal(t, []string{"", "1 too many pods"}, why)
}

// Fit leaves its input as it was.
func TestFitChangesNothing(t *testing.T) {
	f := &fixture{nodes: []*api.NodeState{aNode("a", "d2", "z1", "")}, pending: []api.PodState{aPod("w", 100)}}
	s := f.state()
	in := FitInput{Cluster: s.Cluster, Order: []string{"a"}, Pods: []api.PodState{aPod("p", 1500)}}
	for range 3 {
		require.Equal(t, []Fitted{{Node: "a"}}, Fit(in))
	}
	require.Len(t, s.Cluster.Pending, 1)
}
