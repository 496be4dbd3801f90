package disruption

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// Index is a cluster laid out for one decision.
type Index struct {
	state  *State
	cols   int
	pools  []*Pool // in the order in which new nodes are tried
	byPool map[string]*Pool
	nodes  []*inode // by name
	byName map[string]*inode
	// order are the nodes that can take pods: initialized ones first, then by name.
	order  []*inode
	blocks []block
	// waiting need a place in every simulation: pending pods and those of deleting nodes.
	waiting []*moving
	groups  []*group
	byID    map[string]*group
	lookup  groupLookup
	links   map[*pod]*links
	fresh   map[*Pool]*freshNode
	extra   map[string]bool // labels that only instance types give
	// preferTaints says that some pool has a taint PreferNoSchedule.
	preferTaints bool
	journal      journal
	cover        budgetCover
	// pinned says that some of waiting have a pin.
	pinned bool
	// homes are the places of pods that wait and have one, once they were looked for.
	homes  map[*moving]*inode
	housed bool
}

// inode is a node in an index.
type inode struct {
	*node
	pool     *Pool
	taints   []corev1.Taint
	deleting bool
	gone     bool // for the length of a simulation
	settling bool // still within its pool's consolidateAfter
	free     []int64
	ports    []api.HostPort
	volumes  map[string]map[string]bool // IDs by driver
	movable  []*moving
	// taken counts the pods that the current simulation put here.
	taken int
}

// moving is a pod that needs a place.
type moving struct {
	*pod
	links *links
	from  *inode // nil for a pending pod
	pin   *inode // where it was promised a place, nil for anywhere
}

// links are a pod's relations to groups.
type links struct {
	variant *variant
	counted []*group // groups that count it
	avoids  []*group // pods of others that keep it away
	keeps   []*group // its own required anti-affinities, as others see them
}

// block bounds what any node of a stretch of the order has free.
type block struct {
	from, to int
	most     []int64
}

const blockSize = 32

var plainLinks = &links{variant: &variant{}}

// NewIndex lays a state out. The state must not change while the index is used.
func NewIndex(s *State) *Index {
	x := &Index{
		state: s, cols: len(s.Cluster.resources.index), pools: sortPools(s.Pools), byPool: map[string]*Pool{},
		byName: make(map[string]*inode, len(s.Cluster.nodes)), byID: map[string]*group{}, links: map[*pod]*links{},
		fresh: map[*Pool]*freshNode{}, extra: map[string]bool{},
	}
	for _, p := range x.pools {
		x.byPool[p.name] = p
		x.preferTaints = x.preferTaints || slices.ContainsFunc(p.taints, prefersNone)
		for _, m := range p.types {
			for i := range m.needs {
				if !wellKnown[m.needs[i].key] {
					x.extra[m.needs[i].key] = true
				}
			}
		}
	}
	x.cover = coverBudgets(s.Cluster.budgets)
	x.addNodes()
	x.addWaiting()
	x.addGroups()
	x.orderNodes()
	return x
}

func prefersNone(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }

func (x *Index) addNodes() {
	names := x.state.Cluster.Names()
	flat := make([]int64, len(names)*x.cols)
	all := make([]inode, len(names))
	moved := make([]moving, 0, x.state.Cluster.podCount)
	x.nodes = make([]*inode, len(names))
	for i, name := range names {
		n := &all[i]
		n.node, n.free = x.state.Cluster.nodes[name], flat[i*x.cols:(i+1)*x.cols:(i+1)*x.cols]
		s := n.state
		n.pool = x.byPool[n.node.pool]
		n.deleting = s.Deleting || s.InstanceTerminating || x.state.Busy[name]
		n.taints = x.effectiveTaints(n)
		x.preferTaints = x.preferTaints || x.state.Cluster.placing && slices.ContainsFunc(n.taints, prefersNone)
		if p := n.pool; p != nil && s.Managed && !p.disabled && s.Initialized {
			n.settling = x.state.Now.Sub(quietSince(s)) < p.after
		}
		x.fill(n)
		start := len(moved)
		for j := range n.pods {
			if p := &n.pods[j]; p.movable && !x.state.Cluster.placing && x.canMove(p) {
				moved = append(moved, moving{pod: p, links: plainLinks, from: n})
			}
		}
		n.movable = make([]*moving, len(moved)-start)
		for j := range n.movable {
			n.movable[j] = &moved[start+j]
		}
		slices.SortFunc(n.movable, placedFirst)
		x.nodes[i], x.byName[name] = n, n
	}
}

// quietSince is the moment from which consolidateAfter counts (section 5).
func quietSince(s *api.NodeState) time.Time {
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
func (x *Index) effectiveTaints(n *inode) []corev1.Taint {
	if n.state.Initialized || !n.state.Managed || x.state.Cluster.placing {
		return n.state.Taints
	}
	var out []corev1.Taint
	for i := range n.state.Taints {
		t := &n.state.Taints[i]
		starting := n.pool != nil && slices.ContainsFunc(n.pool.spec.Spec.Template.Spec.StartupTaints, func(s api.NodeTaint) bool { return s.Key == t.Key && s.Effect == string(t.Effect) })
		if !ephemeral(t) && !starting {
			out = append(out, *t)
		}
	}
	return out
}

// fill computes what a node has free: what is allocatable, less its pods and less the daemons that
// are still to come.
func (x *Index) fill(n *inode) {
	n.allocatable.addTo(n.free, 1)
	var present []int64
	if len(x.state.Cluster.daemons) > 0 {
		present = make([]int64, x.cols)
	}
	for i := range n.pods {
		p := &n.pods[i]
		if ended(p.state) {
			continue
		}
		p.req.addTo(n.free, -1)
		if p.daemon && present != nil {
			p.req.addTo(present, 1)
		}
		n.ports = append(n.ports, p.state.Ports...)
		for j := range p.state.Volumes {
			n.attach(&p.state.Volumes[j])
		}
	}
	if present == nil {
		return
	}
	due := make([]int64, x.cols)
	for _, d := range x.state.Cluster.daemons {
		if repelled(d.state.Tolerations, n.taints) == nil && x.daemonFits(d, func(t needs) bool { return t.admits(n.labels, n.hostname) }) {
			d.req.addTo(due, 1)
		}
	}
	for i := range due {
		n.free[i] -= max(0, due[i]-present[i])
	}
}

func ended(s *api.PodState) bool {
	return s.Phase == string(corev1.PodSucceeded) || s.Phase == string(corev1.PodFailed)
}

// daemonFits tries each of a DaemonSet's required terms.
func (x *Index) daemonFits(d *pod, fits func(needs) bool) bool {
	w := x.wantsOf(d)
	if len(w.terms) == 0 {
		return fits(w.selector)
	}
	return slices.ContainsFunc(w.terms, func(t needs) bool { return fits(w.selector.withAll(t)) })
}

// attach counts a volume among those of its node; it reports whether it was new there.
func (n *inode) attach(v *api.PodVolume) bool {
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

// placedFirst is the order in which pods are placed: the largest first (section 7).
func placedFirst(a, b *moving) int {
	if c := cmp.Or(cmp.Compare(b.req.base[cpuIndex], a.req.base[cpuIndex]), cmp.Compare(b.req.base[memoryIndex], a.req.base[memoryIndex])); c != 0 {
		return c
	}
	return cmp.Or(a.state.Created.Compare(b.state.Created.Time), cmp.Compare(a.uid, b.uid))
}

func (x *Index) addWaiting() {
	for _, p := range x.state.Cluster.pending {
		if !slices.ContainsFunc(p.state.Volumes, func(v api.PodVolume) bool { return v.Missing }) && !p.daemon && !p.mirror && !ended(p.state) {
			x.waiting = append(x.waiting, &moving{pod: p, links: plainLinks})
		}
	}
	x.pin(x.waiting)
	for _, n := range x.nodes {
		if n.deleting {
			x.waiting = append(x.waiting, n.movable...)
			x.pin(n.movable)
		}
	}
	slices.SortFunc(x.waiting, placedFirst)
}

// pin remembers where pods on their way were promised a place.
func (x *Index) pin(ms []*moving) {
	for _, m := range ms {
		if n := x.byName[x.state.Promised[m.key]]; n != nil && !n.deleting {
			m.pin, x.pinned = n, true
		}
	}
}

func (x *Index) orderNodes() {
	for _, n := range x.nodes {
		if !n.deleting {
			x.order = append(x.order, n)
		}
	}
	up := func(n *inode) int {
		if n.state.Initialized || !n.state.Managed {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(x.order, func(a, b *inode) int { return cmp.Compare(up(a), up(b)) })
	x.boundBlocks()
}

// boundBlocks computes what the nodes of each stretch of the order have free at most.
func (x *Index) boundBlocks() {
	for from := 0; from < len(x.order); from += blockSize {
		b := block{from: from, to: min(from+blockSize, len(x.order)), most: make([]int64, x.cols)}
		copy(b.most, x.order[from].free)
		for _, n := range x.order[from:b.to] {
			for i, free := range n.free {
				b.most[i] = max(b.most[i], free)
			}
		}
		x.blocks = append(x.blocks, b)
	}
}

// domain is the node's value of a topology key.
func (n *inode) domain(key string) (string, bool) {
	if key == corev1.LabelHostname {
		return n.hostname, true
	}
	v, ok := n.labels[key]
	return v, ok
}
