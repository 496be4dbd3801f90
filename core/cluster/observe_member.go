package cluster

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"flotilla/core/api"
)

// Listing is what a member's API server holds at one moment, as far as decisions about nodes read it.
type Listing struct {
	Nodes      []*corev1.Node
	Pods       []*corev1.Pod
	Budgets    []*policyv1.PodDisruptionBudget
	DaemonSets []*appsv1.DaemonSet
	Namespaces []*corev1.Namespace
	Claims     []*corev1.PersistentVolumeClaim
	Volumes    []*corev1.PersistentVolume
	Classes    []*storagev1.StorageClass
	CSINodes   []*storagev1.CSINode
	NodeClaims []*api.NodeClaim
	// ClaimsUnknown says that Claims could not be listed: volumes then restrict nothing. Otherwise a
	// claim that is not listed does not exist.
	ClaimsUnknown bool
}

// Observed is a listing, reduced to what decisions read.
type Observed struct {
	// Nodes with their pods, sorted by name.
	Nodes []api.NodeState
	// Inventory is what there is beside them, each list sorted by namespace and name. Its head and Nodes
	// are the agent's to fill.
	Inventory api.NodeInventory
	// Strays counts pods that say they are on a node that is not listed, by that node.
	Strays map[string]int
	// Unbound are the NodeClaims whose node is not listed.
	Unbound []*api.NodeClaim
}

// Observe reduces a listing. The agent calls it for what it tells the hub, the command line for files.
// What it returns shares maps and pointers with the listing, and neither must be changed.
func Observe(l *Listing) Observed { return new(Observer).Observe(l) }

// Observe is the function Observe. What did not change since the listing before is not reduced again, and is the same
// value as then.
func (o *Observer) Observe(l *Listing) Observed {
	volumes := l.Resolve()
	var out Observed
	on := map[string][]*corev1.Pod{}
	for _, p := range l.Pods {
		switch {
		case p.Spec.NodeName != "":
			on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p)
		case Provisionable(p):
			out.Inventory.Pending = append(out.Inventory.Pending, ObservePod(p, volumes))
		}
	}
	attach := map[string]map[string]int{}
	for _, n := range l.CSINodes {
		attach[n.Name] = attachLimits(n)
	}
	claims := newNodeClaims(l.NodeClaims)
	for _, n := range l.Nodes {
		out.Nodes = append(out.Nodes, o.node(grounds{n, claims.take(n), on[n.Name], attach[n.Name]}, volumes))
		delete(on, n.Name)
	}
	o.turn()
	out.Unbound = claims.rest(l.NodeClaims)
	for name, pods := range on {
		if out.Strays == nil {
			out.Strays = map[string]int{}
		}
		out.Strays[name] = len(pods)
	}
	l.restrictions(&out.Inventory)
	out.sort()
	return out
}

// Resolve lays out what the claims of pods lead to, nil when they could not be listed.
func (l *Listing) Resolve() *Volumes {
	if l.ClaimsUnknown {
		return nil
	}
	v := &Volumes{
		Claims: map[string]*corev1.PersistentVolumeClaim{}, Volumes: map[string]*corev1.PersistentVolume{}, Classes: map[string]*storagev1.StorageClass{},
	}
	for _, c := range l.Claims {
		v.Claims[c.Namespace+"/"+c.Name] = c
	}
	for _, p := range l.Volumes {
		v.Volumes[p.Name] = p
	}
	for _, c := range l.Classes {
		v.Classes[c.Name] = c
	}
	return v
}

// restrictions puts in what restricts moving pods.
func (l *Listing) restrictions(inv *api.NodeInventory) {
	for _, b := range l.Budgets {
		inv.Budgets = append(inv.Budgets, ObserveBudget(b))
	}
	for _, s := range l.DaemonSets {
		inv.DaemonSets = append(inv.DaemonSets, observeDaemonSet(s))
	}
	for _, n := range l.Namespaces {
		if inv.Namespaces == nil {
			inv.Namespaces = map[string]map[string]string{}
		}
		inv.Namespaces[n.Name] = n.Labels
	}
}

func (o *Observed) sort() {
	slices.SortFunc(o.Nodes, func(a, b api.NodeState) int { return strings.Compare(a.Name, b.Name) })
	named := func(space, name, otherSpace, otherName string) int {
		return cmp.Or(strings.Compare(space, otherSpace), strings.Compare(name, otherName))
	}
	slices.SortFunc(o.Inventory.Pending, func(a, b api.PodState) int { return named(a.Namespace, a.Name, b.Namespace, b.Name) })
	slices.SortFunc(o.Inventory.Budgets, func(a, b api.PodBudget) int { return named(a.Namespace, a.Name, b.Namespace, b.Name) })
	slices.SortFunc(o.Inventory.DaemonSets, func(a, b api.DaemonSetState) int { return named(a.Namespace, a.Name, b.Namespace, b.Name) })
}

// observeDaemonSet reduces a DaemonSet to the pod that it puts on nodes.
func observeDaemonSet(s *appsv1.DaemonSet) api.DaemonSetState {
	pod := &corev1.Pod{ObjectMeta: s.Spec.Template.ObjectMeta, Spec: s.Spec.Template.Spec}
	pod.Namespace, pod.Name = s.Namespace, s.Name
	state := ObservePod(pod, nil)
	state.Owner, state.OwnerName = ownerDaemonSet, s.Name
	return api.DaemonSetState{Namespace: s.Namespace, Name: s.Name, Pod: state}
}

// attachLimits are how many volumes of each CSI driver a node can have attached.
func attachLimits(n *storagev1.CSINode) map[string]int {
	limits := map[string]int{}
	for _, d := range n.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limits[d.Name] = int(*d.Allocatable.Count)
		}
	}
	return limits
}
