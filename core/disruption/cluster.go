package disruption

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
)

// Cluster is the state of one member, parsed. It is filled by Set and Remove as events arrive and
// read by NewIndex; it must not change while an index of it is in use.
type Cluster struct {
	resources resources
	nodes     map[string]*node
	pending   []*pod
	daemons   []*pod
	budgets   []podBudget
	spaces    map[string]map[string]string
	podCount  int
	// placing says that only pending pods look for room, as they do at a scheduler: see Fit.
	placing bool
}

// NewCluster returns a member without nodes.
func NewCluster() *Cluster { return &Cluster{resources: newResources(), nodes: map[string]*node{}} }

// Len is the number of nodes, Pods that of pods on them.
func (c *Cluster) Len() int { return len(c.nodes) }

// Pods is the number of pods on nodes.
func (c *Cluster) Pods() int { return c.podCount }

// Set puts a node with its pods in place of what was known of it. The cluster keeps n.
func (c *Cluster) Set(n *api.NodeState) {
	if old := c.nodes[n.Name]; old != nil {
		c.podCount -= len(old.pods)
	}
	c.nodes[n.Name] = c.newNode(n)
	c.podCount += len(n.Pods)
}

// Remove forgets a node.
func (c *Cluster) Remove(name string) {
	if old := c.nodes[name]; old != nil {
		c.podCount -= len(old.pods)
		delete(c.nodes, name)
	}
}

// Node returns what was Set under a name.
func (c *Cluster) Node(name string) (*api.NodeState, bool) {
	n, ok := c.nodes[name]
	if !ok {
		return nil, false
	}
	return n.state, true
}

// Pooled lists the nodes of pools, as they were Set.
func (c *Cluster) Pooled() []*api.NodeState {
	var out []*api.NodeState
	for _, n := range c.nodes {
		if n.pool != "" {
			out = append(out, n.state)
		}
	}
	return out
}

// Names lists the nodes, sorted.
func (c *Cluster) Names() []string {
	out := make([]string, 0, len(c.nodes))
	for name := range c.nodes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// SetInventory puts what a member has beside its nodes in place of what was known of it.
func (c *Cluster) SetInventory(inv *api.NodeInventory) {
	c.pending, c.daemons, c.budgets = nil, nil, nil
	c.spaces = inv.Namespaces
	for i := range inv.Pending {
		c.pending = append(c.pending, c.newPod(&inv.Pending[i]))
	}
	for i := range inv.DaemonSets {
		c.daemons = append(c.daemons, c.newPod(&inv.DaemonSets[i].Pod))
	}
	for i := range inv.Budgets {
		c.budgets = append(c.budgets, newPodBudget(&inv.Budgets[i]))
	}
	slices.SortFunc(c.budgets, func(a, b podBudget) int { return cmp.Compare(a.name, b.name) })
}

// node is one node, parsed.
type node struct {
	state       *api.NodeState
	labels      map[string]string
	hostname    string
	pool        string
	allocatable vec
	capacity    vec
	pods        []pod
}

func (c *Cluster) newNode(s *api.NodeState) *node {
	n := &node{state: s, labels: canonicalLabels(s.Labels), pool: s.Labels[api.LabelNodePool]}
	n.hostname = cmp.Or(s.Labels["kubernetes.io/hostname"], s.Name)
	n.allocatable, n.capacity = c.resources.vec(s.Allocatable), c.resources.vec(s.Capacity)
	n.pods = make([]pod, len(s.Pods))
	for i := range s.Pods {
		c.fillPod(&n.pods[i], &s.Pods[i])
	}
	return n
}

func canonicalLabels(in map[string]string) map[string]string {
	for old := range aliases {
		if _, ok := in[old]; ok {
			out := make(map[string]string, len(in))
			for k, v := range in {
				out[canonicalLabel(k)] = v
			}
			return out
		}
	}
	return in
}

// podBudget is a PodDisruptionBudget, parsed.
type podBudget struct {
	name     string // namespace/name
	space    string
	selector labels.Selector
	allowed  int
	rule     string // "minAvailable 1", empty when it has none
	// full says that it can never let go of a pod.
	full        bool
	alwaysAllow bool
}

func newPodBudget(b *api.PodBudget) podBudget {
	text := func(v interface{ String() string }) string { return v.String() }
	out := podBudget{
		name: b.Namespace + "/" + b.Name, space: b.Namespace, selector: selectorOf(b.Selector),
		allowed: int(b.Allowed), alwaysAllow: b.AlwaysAllow,
	}
	if m := b.MaxUnavailable; m != nil {
		out.rule = "maxUnavailable " + text(m)
		out.full = strings.TrimSuffix(text(m), "%") == "0"
	}
	if m := b.MinAvailable; m != nil {
		out.rule = "minAvailable " + text(m)
		out.full = out.full || text(m) == "100%"
	}
	return out
}

// holds reports whether the budget counts for a pod that it covers: not for an unready one under
// AlwaysAllow.
func (b *podBudget) holds(p *pod) bool { return !b.alwaysAllow || !p.state.NotReady }

func (b *podBudget) covers(p *pod) bool {
	return b.space == p.state.Namespace && b.selector.Matches(labels.Set(p.state.Labels))
}
