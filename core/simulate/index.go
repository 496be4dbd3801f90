package simulate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// Index is a cluster laid out for one decision.
type Index struct {
	State  *State
	cols   int
	Pools  []*capacity.Pool // in the order in which new nodes are tried
	ByPool map[string]*capacity.Pool
	Nodes  []*ExistingNode // by name
	ByName map[string]*ExistingNode
	// Order are the nodes that can take pods: initialized ones first, then by name.
	Order  []*ExistingNode
	blocks []block
	waiting
	groupIndex
	begun begun
	extra map[string]bool // labels that only instance types give
	// preferTaints says that some pool has a taint PreferNoSchedule.
	preferTaints bool
	Journal      journal
	Cover        BudgetCover
}

// begun is what nodes begin with, as far as somebody asked for it.
type begun struct {
	fresh   map[*capacity.Pool]*freshNode     // new nodes
	daemons map[*cluster.Pod][]capacity.Needs // what DaemonSets demand of nodes, by term
}

// ExistingNode is a node in an index.
type ExistingNode struct {
	*cluster.Node
	Pool     *capacity.Pool
	taints   []corev1.Taint
	Deleting bool
	gone     bool // for the length of a simulation
	Settling bool // still within its pool's consolidateAfter
	// unshared says that a pod on it keeps others away nobody knows how: no pod is put beside it.
	unshared bool
	Free     []int64
	ports    hostPorts
	volumes  map[string]map[string]bool // IDs by driver
	Movable  []*Moving
	moving   []bool // by pod, whether it is among Movable
	// taken counts the pods that the current simulation put here.
	taken int
}

// Moving is a pod that needs a place.
type Moving struct {
	*cluster.Pod
	Links *links
	From  *ExistingNode // nil for a pending pod
	Pin   *ExistingNode // where it was promised a place, nil for anywhere
}

// Links are a pod's relations to groups.
type links struct {
	Variant *Variant
	counted []*group // groups that count it
	Avoids  []*group // pods of others that keep it away
	keeps   []*group // its own required anti-affinities, as others see them
}

// block bounds what any node of a stretch of the order has free.
type block struct {
	from, to int
	most     []int64
}

const blockSize = 32

// PlainLinks are those of pods that are related to none.
var PlainLinks = &links{Variant: &Variant{}}

// NewIndex lays a state out. The state must not change while the index is used.
func NewIndex(s *State) *Index { return layOut(s, newWork(s.Ended)) }

// Beside lays another state out, for the same decision.
func (x *Index) Beside(s *State) *Index { return layOut(s, x.Work) }

func layOut(s *State, w *Work) *Index {
	x := &Index{
		State: s, cols: len(s.Cluster.Resources.Index), Pools: capacity.SortPools(s.Pools), ByPool: map[string]*capacity.Pool{},
		ByName: make(map[string]*ExistingNode, len(s.Cluster.Nodes)), groupIndex: groupIndex{byID: map[string]*group{}, shapes: newShapes(), effort: effort{Work: w}},
		begun: begun{map[*capacity.Pool]*freshNode{}, map[*cluster.Pod][]capacity.Needs{}}, extra: map[string]bool{},
	}
	for _, p := range x.Pools {
		x.ByPool[p.Name] = p
		x.preferTaints = x.preferTaints || slices.ContainsFunc(p.Taints, prefersNone)
		for _, m := range p.Types {
			for i := range m.Needs {
				if !capacity.WellKnown[m.Needs[i].Key] {
					x.extra[m.Needs[i].Key] = true
				}
			}
		}
	}
	x.Cover = CoverBudgets(s.Cluster.Budgets)
	x.addNodes()
	if x.Stopped() {
		return x
	}
	x.addWaiting()
	x.addGroups()
	x.orderNodes()
	return x
}

func prefersNone(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }

func (x *Index) addNodes() {
	names := x.State.Cluster.Names()
	flat := make([]int64, len(names)*x.cols)
	all := make([]ExistingNode, len(names))
	pods := 0
	for _, n := range x.State.Cluster.Nodes {
		pods += len(n.Pods)
	}
	moved, moving := make([]Moving, 0, pods), make([]bool, pods)
	x.Nodes = make([]*ExistingNode, len(names))
	for i, name := range names {
		n := &all[i]
		n.Node, n.Free = x.State.Cluster.Nodes[name], flat[i*x.cols:(i+1)*x.cols:(i+1)*x.cols]
		s := n.State
		n.Pool = x.ByPool[n.Node.Pool]
		x.Nodes[i], x.ByName[name] = n, n
		n.Deleting = s.Deleting || s.InstanceTerminating || x.State.Busy[name] // also where the rest is given up: budgets count it
		if x.Spend(aNode + aPod*len(n.Pods)); x.Stopped() {
			continue
		}
		n.taints = x.effectiveTaints(n)
		x.preferTaints = x.preferTaints || x.State.Cluster.Placing && slices.ContainsFunc(n.taints, prefersNone)
		n.Settling = n.Pool != nil && s.Managed && s.Initialized && n.Pool.Settling(x.State.Now.Sub(QuietSince(s)))
		x.fill(n)
		n.unshared = keepsUnknown(n.Pods)
		start := len(moved)
		n.moving, moving = moving[:len(n.Pods)], moving[len(n.Pods):]
		for j := range n.Pods {
			if p := &n.Pods[j]; p.Movable && !x.State.Cluster.Placing && x.CanMove(p) {
				moved = append(moved, Moving{Pod: p, Links: PlainLinks, From: n})
				n.moving[j] = true
			}
		}
		n.Movable = make([]*Moving, len(moved)-start)
		for j := range n.Movable {
			n.Movable[j] = &moved[start+j]
		}
		slices.SortFunc(n.Movable, PlacedFirst)
	}
}

// keepsUnknown reports whether one of the pods keeps others away by terms that are not followed.
func keepsUnknown(pods []cluster.Pod) bool {
	for i := range pods {
		if p := &pods[i]; p.Tangled && p.Active && len(keptAway(p)) > 0 {
			return true
		}
	}
	return false
}

// QuietSince is the moment from which consolidateAfter counts.
func QuietSince(s *api.NodeState) time.Time {
	if !s.LastPodEvent.IsZero() {
		return s.LastPodEvent.Time
	}
	return s.Since.Time
}

// ephemeral reports a taint that goes once the node is up.
func ephemeral(t *corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady:
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	case corev1.TaintNodeUnreachable, "karpenter.sh/unregistered":
		return true
	case "node.cloudprovider.kubernetes.io/uninitialized":
		return true
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/")
}

// effectiveTaints are those that count: of a node that is not up yet, not the ones that will go.
func (x *Index) effectiveTaints(n *ExistingNode) []corev1.Taint {
	if n.State.Initialized || !n.State.Managed || x.State.Cluster.Placing {
		return n.State.Taints
	}
	var out []corev1.Taint
	for i := range n.State.Taints {
		t := &n.State.Taints[i]
		starting := n.Pool != nil && slices.ContainsFunc(n.Pool.Spec.Spec.Template.Spec.StartupTaints, func(s api.NodeTaint) bool { return s.Key == t.Key && s.Effect == string(t.Effect) })
		if !ephemeral(t) && !starting {
			out = append(out, *t)
		}
	}
	return out
}

// fill computes what a node has free: what is allocatable, less its pods and less the daemons that
// are still to come.
func (x *Index) fill(n *ExistingNode) {
	n.Allocatable.AddTo(n.Free, 1)
	var present []int64
	if len(x.State.Cluster.Daemons) > 0 {
		present = make([]int64, x.cols)
	}
	for i := range n.Pods {
		p := &n.Pods[i]
		if Ended(p.State) {
			continue
		}
		p.Requests.AddTo(n.Free, -1)
		if p.Daemon && present != nil {
			p.Requests.AddTo(present, 1)
		}
		n.ports = n.ports.with(p.State.Ports)
		for j := range p.State.Volumes {
			n.attach(&p.State.Volumes[j])
		}
	}
	if present == nil {
		return
	}
	due := make([]int64, x.cols)
	for _, d := range x.State.Cluster.Daemons {
		x.Spend(daemonCost(d, n.taints))
		if cluster.Repelled(d.State.Tolerations, n.taints) == nil && x.daemonFits(d, func(t capacity.Needs) bool { return t.Admits(n.Labels, n.Hostname) }) {
			d.Requests.AddTo(due, 1)
		}
	}
	for i := range due {
		n.Free[i] -= max(0, due[i]-present[i])
	}
}

// Ended reports whether a pod has run to its end.
func Ended(s *api.PodState) bool {
	return s.Phase == string(corev1.PodSucceeded) || s.Phase == string(corev1.PodFailed)
}

// daemonCost is what it takes to find out whether a daemon comes with a node.
func daemonCost(d *cluster.Pod, taints []corev1.Taint) int {
	out := aDaemon + aTaint*len(taints)*len(d.State.Tolerations) + needsCost(0, len(d.State.NodeSelector))
	if a := d.State.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		out += aDaemon * len(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
	}
	return out
}

// daemonFits tries each of a DaemonSet's required terms, which are read once. One that demands more than is followed
// is taken to come with every node.
func (x *Index) daemonFits(d *cluster.Pod, fits func(capacity.Needs) bool) bool {
	if d.Tangled {
		return true
	}
	demands, known := x.begun.daemons[d]
	if !known {
		w := x.wantsOf(d)
		for _, t := range w.terms {
			demands = append(demands, w.selector.WithAll(t))
		}
		if len(w.terms) == 0 {
			demands = append(demands, w.selector)
		}
		x.begun.daemons[d] = demands
	}
	return slices.ContainsFunc(demands, fits)
}

// attach counts a volume among those of its node; it reports whether it was new there.
func (n *ExistingNode) attach(v *api.PodVolume) bool {
	if v.Driver == "" {
		return false
	}
	if n.volumes == nil {
		n.volumes = map[string]map[string]bool{}
	}
	ids := n.volumes[v.Driver]
	if ids == nil {
		ids = map[string]bool{}
		n.volumes[v.Driver] = ids
	}
	id := cmp.Or(v.ID, v.Name)
	if ids[id] {
		return false
	}
	ids[id] = true
	return true
}

// PlacedFirst is the order in which pods are placed: the largest first.
func PlacedFirst(a, b *Moving) int {
	if c := cmp.Or(cmp.Compare(b.Requests.Base[cluster.CPUIndex], a.Requests.Base[cluster.CPUIndex]), cmp.Compare(b.Requests.Base[cluster.MemoryIndex], a.Requests.Base[cluster.MemoryIndex])); c != 0 {
		return c
	}
	return cmp.Or(a.State.Created.Compare(b.State.Created.Time), cmp.Compare(a.UID, b.UID))
}

func (x *Index) addWaiting() {
	for _, p := range x.State.Cluster.Pending {
		if !slices.ContainsFunc(p.State.Volumes, func(v api.PodVolume) bool { return v.Missing }) && !p.Daemon && !p.Mirror && !p.Tangled && !Ended(p.State) {
			x.Waiting = append(x.Waiting, &Moving{Pod: p, Links: PlainLinks})
		}
	}
	x.pin(x.Waiting)
	for _, n := range x.Nodes {
		if n.Deleting {
			x.Waiting = append(x.Waiting, n.Movable...)
			x.pin(n.Movable)
		}
	}
	slices.SortFunc(x.Waiting, PlacedFirst)
}

// pin remembers where pods on their way were promised a place.
func (x *Index) pin(ms []*Moving) {
	for _, m := range ms {
		if n := x.ByName[x.State.Promised[m.Key]]; n != nil && !n.Deleting && !n.unshared {
			m.Pin, x.pinned = n, true
		}
	}
}

func (x *Index) orderNodes() {
	for _, n := range x.Nodes {
		if !n.Deleting && !n.unshared {
			x.Order = append(x.Order, n)
		}
	}
	up := func(n *ExistingNode) int {
		if n.State.Initialized || !n.State.Managed {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(x.Order, func(a, b *ExistingNode) int { return cmp.Compare(up(a), up(b)) })
	x.boundBlocks()
}

// boundBlocks computes what the nodes of each stretch of the order have free at most.
func (x *Index) boundBlocks() {
	for from := 0; from < len(x.Order); from += blockSize {
		b := block{from: from, to: min(from+blockSize, len(x.Order)), most: make([]int64, x.cols)}
		copy(b.most, x.Order[from].Free)
		for _, n := range x.Order[from:b.to] {
			for i, free := range n.Free {
				b.most[i] = max(b.most[i], free)
			}
		}
		x.blocks = append(x.blocks, b)
	}
}

// domain is the node's value of a topology key.
func (n *ExistingNode) domain(key string) (string, bool) {
	if key == corev1.LabelHostname {
		return n.Hostname, true
	}
	v, ok := n.Labels[key]
	return v, ok
}
