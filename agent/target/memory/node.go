package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/agent/target"
	"flotilla/core/api"
)

// node is one node, and the machine behind it.
type node struct {
	target.Node
	number  int64 // order of creation
	uid     types.UID
	created time.Time
	labels  map[string]string
	notes   map[string]string // annotations
	// own taints were given or written; taints has those of its condition, too.
	own, taints   []corev1.Taint
	finalizers    []string
	unschedulable bool
	deleting      time.Time // zero while nobody deleted it
	out           bool      // as disrupted says; outSince is the newest node when that began
	outSince      int64
	draining      bool // an upgrade makes it anew
	// launched by LaunchNode, starting until its machine is up, lost when the machine is gone.
	launched, starting, lost bool
	up                       bool // what its condition Ready says
	upSince                  time.Time

	room, free amounts
	pods       map[*pod]struct{}
	look       *corev1.Node // as it was last shown
}

// disrupted reports a node that is on its way out.
func (n *node) disrupted() bool {
	return !n.deleting.IsZero() || slices.ContainsFunc(n.own, func(t corev1.Taint) bool { return t.Key == api.TaintDisrupted })
}

func (n *node) managed() bool { return n.labels[api.LabelNodePool] != "" }

// initialized reports a node that pods are put on before others.
func (n *node) initialized() bool { return !n.managed() || n.labels[api.LabelInitialized] == "true" }

// newNode makes a node of what was given, with the labels that every node has.
func (m *Member) newNode(given target.Node) *node {
	given.Capacity = given.Capacity.DeepCopy()
	if given.Allocatable = given.Allocatable.DeepCopy(); given.Allocatable == nil {
		given.Allocatable = given.Capacity.DeepCopy()
	}
	m.counts.Joined++
	n := &node{
		Node: given, number: m.counts.Joined, uid: types.UID(fmt.Sprintf("%s-node-%x-%08d", m.name, m.began, m.counts.Joined)), created: m.clock.Now(),
		notes: maps.Clone(given.Annotations), own: slices.Clone(given.Taints), pods: map[*pod]struct{}{},
	}
	n.labels = map[string]string{
		corev1.LabelHostname: given.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}
	for key, value := range map[string]string{
		corev1.LabelTopologyZone: given.Zone, corev1.LabelInstanceTypeStable: given.InstanceType,
		api.LabelNodePool: given.NodePool, api.LabelCapacityType: given.CapacityType,
	} {
		if value != "" {
			n.labels[key] = value
		}
	}
	maps.Copy(n.labels, given.Labels)
	n.room = amountsOf(room(given.Allocatable))
	n.free = amountsOf(room(given.Allocatable))
	n.upSince = n.created
	return n
}

// addNode adds a node that is there from the start: one of a NodePool is registered and initialized.
func (m *Member) addNode(given target.Node) {
	m.join(&given)
	n := m.newNode(given)
	if n.managed() {
		n.labels[api.LabelRegistered], n.labels[api.LabelInitialized] = "true", "true"
	}
	m.machines[given.Name] = &machine{Launch: Launch{Name: given.Name, NodePool: given.NodePool, InstanceType: given.InstanceType}}
	m.enter(n)
}

// enter makes a node one of the member's.
func (m *Member) enter(n *node) {
	at, _ := slices.BinarySearchFunc(m.nodes, n.Name, func(a *node, name string) int { return strings.Compare(a.Name, name) })
	m.nodes = slices.Insert(m.nodes, at, n)
	n.up = true
	m.judge(n)
}

// judge brings the condition Ready of a node and the taints that follow from it up to date.
func (m *Member) judge(n *node) {
	up := !n.NotReady && !n.draining && !n.starting && !n.lost && !slices.Contains(m.faults.NotReady, n.Name)
	if up != n.up {
		n.up, n.upSince = up, m.clock.Now()
	}
	n.taints = slices.Clone(n.own)
	taint := func(key string, effects ...corev1.TaintEffect) {
		for _, effect := range effects {
			n.taints = append(n.taints, corev1.Taint{Key: key, Effect: effect})
		}
	}
	switch {
	case n.lost:
		taint(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
	case !n.up:
		taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)
	}
	if n.unschedulable {
		taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	}
	if out := n.disrupted(); out != n.out {
		n.out, n.outSince = out, m.counts.Joined
	}
	n.look, m.schedule.order = nil, nil
	m.keep.stale()
}

// leave takes a node away; its pods are gone with it.
func (m *Member) leave(n *node) {
	m.nodes = slices.DeleteFunc(m.nodes, func(other *node) bool { return other == n })
	m.schedule.order = nil
	m.keep.stale()
	m.lose(n.pods)
}

// nodeNamed finds a node, nil when there is none.
func (m *Member) nodeNamed(name string) *node {
	at, ok := slices.BinarySearchFunc(m.nodes, name, func(a *node, name string) int { return cmp.Compare(a.Name, name) })
	if !ok {
		return nil
	}
	return m.nodes[at]
}

// requested is what the pods on a node request.
func (n *node) requested() corev1.ResourceList {
	used := n.room
	used.more = maps.Clone(n.room.more)
	used.add(&n.free, -1)
	maps.DeleteFunc(used.more, func(_ string, amount int64) bool { return amount == 0 })
	return used.list()
}
