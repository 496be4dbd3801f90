package disruption

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/simulate/simulatetest"
)

func with(v ...api.PodVolume) func(*api.PodState) {
	return func(p *api.PodState) { p.Volumes = v }
}

func zonal(zones ...string) api.PodVolume {
	return api.PodVolume{Name: "default/data", ID: "vol-1", Driver: "disk", Terms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones}},
	}}}
}

// Pods stay where their volumes can be reached and attached.
func TestVolumes(t *testing.T) {
	to := func(x *api.NodeState, pod api.PodState) simulatetest.Member {
		return simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", pod), x}, Pools: []*api.NodePool{simulatetest.Cheap()}}
	}
	limit := func(n int, pods ...api.PodState) *api.NodeState {
		x := simulatetest.Node("x", "d8", "z-a", "", pods...)
		x.AttachLimits = map[string]int{"disk": n}
		return x
	}
	other := func(id string) api.PodVolume { return api.PodVolume{Name: id, ID: id, Driver: "disk"} }
	either := zonal("z-b")
	either.Terms = append(either.Terms, zonal("z-a").Terms...)
	drift := drifted(simulatetest.Pod("p", 1000, with(zonal("z-c"))))
	check(t, []row{
		{"reached in the same zone", to(simulatetest.Node("x", "d4", "z-a", ""), simulatetest.Pod("p", 1000, with(zonal("z-a")))), "delete [n1] by single p>x"},
		{"not reached from another", to(simulatetest.Node("x", "d4", "z-b", ""), simulatetest.Pod("p", 1000, with(zonal("z-a")))), "none"},
		{"any of its terms", to(simulatetest.Node("x", "d4", "z-a", ""), simulatetest.Pod("p", 1000, with(either))), "delete [n1] by single p>x"},
		{"a new node is made in its zone", simulatetest.Member{Nodes: []*api.NodeState{drift}, Pools: []*api.NodePool{simulatetest.Pool("old")}}, "replace [n1] by drift with old/f2[z-c] p>new-0"},
		{"room to attach", to(limit(2, simulatetest.Pod("q", 100, with(other("v2")))), simulatetest.Pod("p", 1000, with(zonal("z-a")))), "delete [n1] by single p>x"},
		{"no room to attach", to(limit(1, simulatetest.Pod("q", 100, with(other("v2")))), simulatetest.Pod("p", 1000, with(zonal("z-a")))), "none"},
		{"a volume that is attached there already", to(limit(1, simulatetest.Pod("q", 100, with(zonal("z-a")))), simulatetest.Pod("p", 1000, with(zonal("z-a")))), "delete [n1] by single p>x"},
		{"two volumes of one pod count twice", to(limit(2, simulatetest.Pod("q", 100, with(other("v2")))), simulatetest.Pod("p", 1000, with(other("v3"), other("v4")))), "none"},
		{"a claim that does not exist", to(simulatetest.Node("x", "d4", "z-a", ""), simulatetest.Pod("p", 1000, with(api.PodVolume{Name: "default/none", Missing: true}))), "none"},
	})
}

// With fewer domains than minDomains the least count is taken to be 0.
func TestMinDomains(t *testing.T) {
	zone := corev1.LabelTopologyZone
	two := simulatetest.Pool("a", simulatetest.Requiring(corev1.LabelInstanceTypeStable, "In", "d2"), simulatetest.Requiring(zone, "In", "z-a", "z-b"))
	three := simulatetest.Pool("a", simulatetest.Requiring(corev1.LabelInstanceTypeStable, "In", "d2"))
	// One pod moves from n1 in z-a; x in z-a has one of its kind, y in z-b as many as given.
	member := func(pool *api.NodePool, skew, minDomains int32, inB int) simulatetest.Member {
		y := simulatetest.Node("y", "d8", "z-b", "")
		for i := range inB {
			y.Pods = append(y.Pods, simulatetest.Pod([]string{"b0", "b1", "b2"}[i], 100, simulatetest.Labelled("web")))
		}
		y.Taints = []corev1.Taint{{Key: "full", Effect: corev1.TaintEffectNoSchedule}}
		return simulatetest.Member{
			Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 1000, simulatetest.SpreadOver(zone, skew, minDomains))), simulatetest.Node("x", "d8", "z-a", "", simulatetest.Pod("a0", 100, simulatetest.Labelled("web"))), y},
			Pools: []*api.NodePool{pool},
		}
	}
	choosy := func(f simulatetest.Member) simulatetest.Member {
		f.Nodes[0].Pods[0].Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: zonal("z-a", "z-b").Terms,
		}}}
		return f
	}
	check(t, []row{
		{"without it the least domain counts", member(two, 1, 0, 1), "delete [n1] by single p>x"},
		{"as many domains as asked", member(two, 1, 2, 1), "delete [n1] by single p>x"},
		{"fewer domains than asked: the least is 0", member(two, 1, 3, 1), "none"},
		{"fewer domains, more skew allowed", member(two, 2, 3, 1), "delete [n1] by single p>x"},
		{"a zone that types offer counts as a domain", member(three, 1, 2, 1), "none"},
		{"a zone that types offer is empty", member(three, 2, 3, 1), "delete [n1] by single p>x"},
		{"a zone that the pod avoids is no domain", choosy(member(three, 1, 2, 1)), "delete [n1] by single p>x"},
		{"nor does it make up for one that lacks", choosy(member(three, 1, 3, 1)), "none"},
	})
}

// Anti-affinity holds in both directions: the pod that stays keeps others away too.
func TestAffinitySymmetry(t *testing.T) {
	host, zone := corev1.LabelHostname, corev1.LabelTopologyZone
	to := func(x *api.NodeState, pods ...api.PodState) simulatetest.Member {
		return simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", pods...), x}, Pools: []*api.NodePool{simulatetest.Cheap()}}
	}
	loner := func(x *api.NodeState, change ...func(*api.PodState)) *api.NodeState {
		x.Pods = append(x.Pods, simulatetest.Pod("loner", 100, change...))
		return x
	}
	both := func(a, b func(*api.PodState)) func(*api.PodState) {
		return func(p *api.PodState) { a(p); b(p) }
	}
	elsewhere := func(p *api.PodState) {
		simulatetest.Apart("p", host)(p)
		p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"other"}
	}
	everywhere := func(p *api.PodState) {
		elsewhere(p)
		term := &p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		term.Namespaces, term.NamespaceSelector = nil, simulatetest.SelectingAll()
	}
	preferring := func(p *api.PodState) {
		p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: simulatetest.Selecting("p"), TopologyKey: host}},
		}}}
	}
	inZone := func(kind, z string) *api.NodeState { return simulatetest.Node("x", kind, z, "") }
	// The loner is on y, which has no room left; the pod could go to x in z-a.
	beside := func(z string, change func(*api.PodState)) simulatetest.Member {
		f := to(inZone("d4", "z-a"), simulatetest.Pod("p", 1000))
		y := loner(simulatetest.Node("y", "d2", z, ""), change)
		y.Pods[0].Requests["cpu"] = 1900
		f.Nodes = append(f.Nodes, y)
		return f
	}
	ended := func(p *api.PodState) { p.Phase = "Succeeded" }
	check(t, []row{
		{"nobody minds", to(loner(inZone("d4", "z-a")), simulatetest.Pod("p", 1000)), "delete [n1] by single p>x"},
		{"the pod there minds", to(loner(inZone("d4", "z-a"), simulatetest.Apart("p", host)), simulatetest.Pod("p", 1000)), "none"},
		{"it minds another", to(loner(inZone("d4", "z-a"), simulatetest.Apart("q", host)), simulatetest.Pod("p", 1000)), "delete [n1] by single p>x"},
		{"it minds in the whole zone", beside("z-a", simulatetest.Apart("p", zone)), "none"},
		{"it minds on its own node alone", beside("z-a", simulatetest.Apart("p", host)), "delete [n1] by single p>x"},
		{"it minds in another zone", beside("z-b", simulatetest.Apart("p", zone)), "delete [n1] by single p>x"},
		{"it minds those of another namespace", to(loner(inZone("d4", "z-a"), elsewhere), simulatetest.Pod("p", 1000)), "delete [n1] by single p>x"},
		{"it minds those of all namespaces", to(loner(inZone("d4", "z-a"), everywhere), simulatetest.Pod("p", 1000)), "none"},
		{"it has ended", to(loner(inZone("d4", "z-a"), both(simulatetest.Apart("p", host), ended)), simulatetest.Pod("p", 1000)), "delete [n1] by single p>x"},
		{"it only prefers to be alone", to(loner(inZone("d4", "z-a"), preferring), simulatetest.Pod("p", 1000)), "delete [n1] by single p>x"},
		{"two that move and mind each other", to(inZone("d4", "z-a"), simulatetest.Pod("p", 600, simulatetest.Labelled("p"), simulatetest.Apart("p", host)), simulatetest.Pod("q", 600, simulatetest.Labelled("p"))), "none"},
	})
}
