package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// Observer reduces one listing of a member after another, whose objects are those of the listing before where they did
// not change. The zero value has seen none; it is not for several goroutines.
type Observer struct{ before, now map[string]*observedNode }

// grounds are what the state of a node follows from, beside what the claims of its pods lead to.
type grounds struct {
	node   *corev1.Node
	claim  *api.NodeClaim
	pods   []*corev1.Pod
	attach map[string]int
}

type observedNode struct {
	grounds
	state api.NodeState
	// claims says that some have: what these lead to may change without them.
	claims bool
}

func (g *grounds) equal(o *grounds) bool {
	return g.node == o.node && g.claim == o.claim && slices.Equal(g.pods, o.pods) && maps.Equal(g.attach, o.attach)
}

// node is the state of a node as of now.
func (o *Observer) node(g grounds, volumes *Volumes) api.NodeState {
	before := o.before[g.node.Name]
	if before == nil || before.claims || !before.equal(&g) {
		before = observe(g, volumes, before)
	}
	if o.now == nil {
		o.now = make(map[string]*observedNode, len(o.before))
	}
	o.now[g.node.Name] = before
	return before.state
}

// turn has what was seen now be what was before; nodes that are gone are forgotten.
func (o *Observer) turn() { o.before, o.now = o.now, nil }

func observe(g grounds, volumes *Volumes, before *observedNode) *observedNode {
	var known map[*corev1.Pod]*api.PodState
	if before != nil {
		known = before.known()
	}
	out := &observedNode{grounds: g}
	out.state = observeNode(g.node, g.pods, g.attach, func(p *corev1.Pod) api.PodState {
		if state := known[p]; state != nil {
			return *state
		}
		return ObservePod(p, volumes)
	})
	if g.claim != nil {
		bind(&out.state, g.node, g.claim)
	}
	out.claims = slices.ContainsFunc(g.pods, claims)
	return out
}

// known are the states of the pods that have no claims.
func (n *observedNode) known() map[*corev1.Pod]*api.PodState {
	type name struct{ space, name string }
	byName := make(map[name]*api.PodState, len(n.pods))
	for i := range n.state.Pods {
		s := &n.state.Pods[i]
		byName[name{s.Namespace, s.Name}] = s
	}
	out := make(map[*corev1.Pod]*api.PodState, len(n.pods))
	for _, p := range n.pods {
		if !claims(p) {
			out[p] = byName[name{p.Namespace, p.Name}]
		}
	}
	return out
}

// claims says that a pod has volumes which claims lead to.
func claims(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}
