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
	"flotilla/agent/target/memory/podspec"
	"flotilla/core/api"
)

// node is one node, and the machine behind it. As JSON it is what is kept of it.
type node struct {
	target.Node `json:"given"`
	nodeMeta
	nodeStatus
	// taints are its own and those of its condition.
	taints     []corev1.Taint
	room, free podspec.Amounts
	pods       map[*pod]struct{}
	look       *corev1.Node // as it was last shown
}

// nodeMeta is what was given or written.
type nodeMeta struct {
	Number        int64             `json:"number"` // order of creation
	UID           types.UID         `json:"uid"`
	Created       time.Time         `json:"created"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Own           []corev1.Taint    `json:"taints,omitempty"`
	Finalizers    []string          `json:"finalizers,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Deleting      time.Time         `json:"deleting,omitzero"` // zero while nobody deleted it
}

// nodeStatus is what became of it.
type nodeStatus struct {
	// Out says that it is on its way out, OutSince is the newest node when that began.
	Out      bool  `json:"out,omitempty"`
	OutSince int64 `json:"outSince,omitempty"`
	Draining bool  `json:"draining,omitempty"` // an upgrade makes it anew
	// Launched by LaunchNode, Starting until its machine is up, Lost when the machine is gone.
	Launched bool      `json:"launched,omitempty"`
	Starting bool      `json:"starting,omitempty"`
	Lost     bool      `json:"lost,omitempty"`
	Up       bool      `json:"up"` // what its condition Ready says
	UpSince  time.Time `json:"upSince"`
}

// disrupted reports a node that is on its way out.
func (n *node) disrupted() bool {
	return !n.Deleting.IsZero() || slices.ContainsFunc(n.Own, func(t corev1.Taint) bool { return t.Key == api.TaintDisrupted })
}

func (n *node) managed() bool { return n.Labels[api.LabelNodePool] != "" }

// initialized reports a node that pods are put on before others.
func (n *node) initialized() bool { return !n.managed() || n.Labels[api.LabelInitialized] == "true" }

// newNode makes a node of what was given, with the labels that every node has.
func (m *Member) newNode(given target.Node) *node {
	given.Capacity = given.Capacity.DeepCopy()
	if given.Allocatable = given.Allocatable.DeepCopy(); given.Allocatable == nil {
		given.Allocatable = given.Capacity.DeepCopy()
	}
	m.counts.Joined++
	n := &node{
		Node: given, nodeMeta: nodeMeta{
			Number: m.counts.Joined, UID: types.UID(fmt.Sprintf("%s-node-%x-%08d", m.name, m.began, m.counts.Joined)), Created: m.clock.Now(),
			Annotations: maps.Clone(given.Annotations), Own: slices.Clone(given.Taints),
		},
	}
	n.Labels = map[string]string{
		corev1.LabelHostname: given.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}
	for key, value := range map[string]string{
		corev1.LabelTopologyZone: given.Zone, corev1.LabelInstanceTypeStable: given.InstanceType,
		api.LabelNodePool: given.NodePool, api.LabelCapacityType: given.CapacityType,
	} {
		if value != "" {
			n.Labels[key] = value
		}
	}
	maps.Copy(n.Labels, given.Labels)
	n.open()
	n.UpSince = n.Created
	return n
}

// open makes a node ready for pods.
func (n *node) open() {
	n.room, n.free, n.pods = podspec.AmountsOf(podspec.Room(n.Allocatable)), podspec.AmountsOf(podspec.Room(n.Allocatable)), map[*pod]struct{}{}
}

// addNode adds a node that is there from the start: one of a NodePool is registered and initialized.
func (m *Member) addNode(given target.Node) {
	m.join(&given)
	n := m.newNode(given)
	if n.managed() {
		n.Labels[api.LabelRegistered], n.Labels[api.LabelInitialized] = "true", "true"
	}
	m.machines[given.Name] = &machine{Launch: Launch{Name: given.Name, NodePool: given.NodePool, InstanceType: given.InstanceType}}
	m.enter(n)
}

// enter makes a node one of the member's.
func (m *Member) enter(n *node) {
	at, _ := slices.BinarySearchFunc(m.nodes, n.Name, func(a *node, name string) int { return strings.Compare(a.Name, name) })
	m.nodes = slices.Insert(m.nodes, at, n)
	n.Up = true
	m.judge(n)
}

// judge brings the condition Ready of a node and the taints that follow from it up to date.
func (m *Member) judge(n *node) {
	up := !n.NotReady && !n.Draining && !n.Starting && !n.Lost && !slices.Contains(m.faults.NotReady, n.Name)
	if up != n.Up {
		n.Up, n.UpSince = up, m.clock.Now()
	}
	n.taints = slices.Clone(n.Own)
	taint := func(key string, effects ...corev1.TaintEffect) {
		for _, effect := range effects {
			n.taints = append(n.taints, corev1.Taint{Key: key, Effect: effect})
		}
	}
	switch {
	case n.Lost:
		taint(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
	case !n.Up:
		taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)
	}
	if n.Unschedulable {
		taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	}
	if out := n.disrupted(); out != n.Out {
		n.Out, n.OutSince = out, m.counts.Joined
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
	used.More = maps.Clone(n.room.More)
	used.Add(&n.free, -1)
	maps.DeleteFunc(used.More, func(_ string, amount int64) bool { return amount == 0 })
	return used.List()
}
