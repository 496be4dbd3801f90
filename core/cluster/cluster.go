package cluster

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// Cluster is the state of one member, parsed. It is filled by Set and Remove as events arrive and
// read by NewIndex; it must not change while an index of it is in use.
type Cluster struct {
	Resources Resources
	Nodes     map[string]*Node
	Pending   []*Pod
	Daemons   []*Pod
	Budgets   []PodBudget
	Spaces    map[string]map[string]string
	PodCount  int
	// Placing says that only pending pods look for room, as they do at a scheduler: see Fit.
	Placing bool
	// since counts the nodes that came since resources were numbered.
	since int
}

// NewCluster returns a member without nodes.
func NewCluster() *Cluster { return &Cluster{Resources: newResources(), Nodes: map[string]*Node{}} }

// Len is the number of nodes, Pods that of pods on them.
func (c *Cluster) Len() int { return len(c.Nodes) }

// Pods is the number of pods on nodes.
func (c *Cluster) Pods() int { return c.PodCount }

// Set puts a node with its pods in place of what was known of it. The cluster keeps n.
func (c *Cluster) Set(n *api.NodeState) {
	if old := c.Nodes[n.Name]; old != nil {
		c.PodCount -= len(old.Pods)
	}
	c.Nodes[n.Name] = c.NewNode(n)
	c.PodCount += len(n.Pods)
	if c.since++; c.Resources.Full && c.since > len(c.Nodes) {
		c.renumber()
	}
}

// renumber numbers the resources anew that are named now.
func (c *Cluster) renumber() {
	c.Resources, c.since = newResources(), 0
	for name, n := range c.Nodes {
		c.Nodes[name] = c.NewNode(n.State)
	}
	for _, pods := range [][]*Pod{c.Pending, c.Daemons} {
		for i := range pods {
			pods[i] = c.NewPod(pods[i].State)
		}
	}
}

// Remove forgets a node.
func (c *Cluster) Remove(name string) {
	if old := c.Nodes[name]; old != nil {
		c.PodCount -= len(old.Pods)
		delete(c.Nodes, name)
	}
}

// Node returns what was Set under a name.
func (c *Cluster) Node(name string) (*api.NodeState, bool) {
	n, ok := c.Nodes[name]
	if !ok {
		return nil, false
	}
	return n.State, true
}

// Pooled lists the nodes of pools, as they were Set.
func (c *Cluster) Pooled() []*api.NodeState {
	var out []*api.NodeState
	for _, n := range c.Nodes {
		if n.Pool != "" {
			out = append(out, n.State)
		}
	}
	return out
}

// Names lists the nodes, sorted.
func (c *Cluster) Names() []string {
	out := make([]string, 0, len(c.Nodes))
	for name := range c.Nodes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// SetInventory puts what a member has beside its nodes in place of what was known of it.
func (c *Cluster) SetInventory(inv *api.NodeInventory) {
	c.Pending, c.Daemons, c.Budgets = nil, nil, nil
	c.Spaces = inv.Namespaces
	for i := range inv.Pending {
		c.Pending = append(c.Pending, c.NewPod(&inv.Pending[i]))
	}
	for i := range inv.DaemonSets {
		c.Daemons = append(c.Daemons, c.NewPod(&inv.DaemonSets[i].Pod))
	}
	for i := range inv.Budgets {
		c.Budgets = append(c.Budgets, newPodBudget(&inv.Budgets[i]))
	}
	slices.SortFunc(c.Budgets, func(a, b PodBudget) int { return cmp.Compare(a.Name, b.Name) })
}

// Node is one node, parsed.
type Node struct {
	State       *api.NodeState
	Labels      map[string]string
	Hostname    string
	Pool        string
	Allocatable Vector
	Capacity    Vector
	Pods        []Pod
}

// NewNode parses a node, which is not put into the cluster.
func (c *Cluster) NewNode(s *api.NodeState) *Node {
	n := &Node{State: s, Labels: CanonicalLabels(s.Labels), Pool: s.Labels[api.LabelNodePool]}
	n.Hostname = cmp.Or(s.Labels["kubernetes.io/hostname"], s.Name)
	n.Allocatable, n.Capacity = c.Resources.vec(s.Allocatable), c.Resources.vec(s.Capacity)
	n.Pods = make([]Pod, len(s.Pods))
	for i := range s.Pods {
		c.fillPod(&n.Pods[i], &s.Pods[i])
	}
	return n
}

// CanonicalLabels are labels under their names of today.
func CanonicalLabels(in map[string]string) map[string]string {
	for old := range capacity.Aliases {
		if _, ok := in[old]; ok {
			out := make(map[string]string, len(in))
			for k, v := range in {
				out[capacity.CanonicalLabel(k)] = v
			}
			return out
		}
	}
	return in
}

// PodBudget is a PodDisruptionBudget, parsed.
type PodBudget struct {
	Name     string // namespace/name
	Space    string
	selector labels.Selector
	Allowed  int
	rule     string // "minAvailable 1", empty when it has none
	// Full says that it can never let go of a pod.
	Full        bool
	alwaysAllow bool
}

func newPodBudget(b *api.PodBudget) PodBudget {
	text := func(v interface{ String() string }) string { return v.String() }
	out := PodBudget{
		Name: b.Namespace + "/" + b.Name, Space: b.Namespace, selector: SelectorOf(b.Selector),
		Allowed: int(b.Allowed), alwaysAllow: b.AlwaysAllow,
	}
	if m := b.MaxUnavailable; m != nil {
		out.rule = "maxUnavailable " + text(m)
		out.Full = strings.TrimSuffix(text(m), "%") == "0"
	}
	if m := b.MinAvailable; m != nil {
		out.rule = "minAvailable " + text(m)
		out.Full = out.Full || text(m) == "100%"
	}
	return out
}

// Holds reports whether the budget counts for a pod that it covers: not for an unready one under
// AlwaysAllow.
func (b *PodBudget) Holds(p *Pod) bool { return !b.alwaysAllow || !p.State.NotReady }

// Covers reports whether the budget selects a pod.
func (b *PodBudget) Covers(p *Pod) bool {
	return b.Space == p.State.Namespace && b.selector.Matches(labels.Set(p.State.Labels))
}

// Weight is how many requirements are held against a pod to know whether the budget covers it, and one more; sixteen values
// take as long as a requirement.
func (b *PodBudget) Weight() int {
	requirements, _ := b.selector.Requirements()
	weight := 1 + len(requirements)
	for i := range requirements {
		weight += requirements[i].Values().Len() / 16
	}
	return weight
}

// Receive puts a pod on a node, which stays as it is in other clusters that have it.
func (c *Cluster) Receive(name string, p *Pod) {
	n := *c.Nodes[name]
	n.Pods = append(slices.Clip(n.Pods), *p)
	c.Nodes[name] = &n
}

// RuleText is the rule in parentheses, after a space; empty when there is none.
func (b *PodBudget) RuleText() string {
	if b.rule == "" {
		return ""
	}
	return " (" + b.rule + ")"
}
