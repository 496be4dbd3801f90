package conformance

import (
	"cmp"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

func (c *consolidationCase) ago(seconds *int, otherwise int) metav1.Time {
	if seconds != nil {
		otherwise = *seconds
	}
	return metav1.NewTime(c.Now.Add(-time.Duration(otherwise) * time.Second))
}

// Hash and version that Karpenter wrote on every pool.
const (
	poolHash        = "1"
	poolHashVersion = "v3"
)

// state builds the core's input from the recorded one.
func (c *consolidationCase) state(rules capacity.Rules) *simulate.State {
	rules.SpotToSpot, rules.IgnorePreferences = c.SpotToSpot, c.IgnorePreferences
	catalog := capacity.NewCatalog(&api.InstanceCatalog{Spec: api.InstanceCatalogSpec{Complete: true, Types: c.InstanceTypes}})
	s := &simulate.State{Cluster: cluster.NewCluster(), Now: c.Now, Rules: rules, DriftedSince: map[string]time.Time{}}
	for i := range c.NodePools {
		s.Pools = append(s.Pools, capacity.NewPool(c.NodePools[i].pool(), catalog, capacity.PoolOptions{InstanceTypes: c.NodePools[i].InstanceTypes}))
	}
	s.Cluster.SetInventory(c.inventory())
	for i := range c.Nodes {
		n := &c.Nodes[i]
		s.Cluster.Set(c.node(n))
		if n.DriftedAgo != nil {
			s.DriftedSince[n.Name] = c.ago(n.DriftedAgo, 0).Time
		}
	}
	return s
}

func (r *recordedPool) pool() *api.NodePool {
	p := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: r.Name, Annotations: map[string]string{
		api.AnnotationPoolHash: poolHash, api.AnnotationPoolHashLevel: poolHashVersion,
	}}}
	p.Spec = api.NodePoolSpec{Disruption: r.Disruption, Weight: r.Weight, Limits: r.Limits}
	p.Spec.Template.Metadata.Labels = r.Labels
	p.Spec.Template.Spec = api.NodePoolTemplateSpec{
		Requirements: r.Requirements, Taints: r.Taints, ExpireAfter: r.ExpireAfter, TerminationGracePeriod: r.TerminationGracePeriod,
	}
	return p
}

func (c *consolidationCase) inventory() *api.NodeInventory {
	inv := &api.NodeInventory{}
	for i := range c.Pods {
		if c.Pods[i].Node == "" {
			inv.Pending = append(inv.Pending, c.pod(&c.Pods[i]))
		}
	}
	for i := range c.DaemonSets {
		d := c.DaemonSets[i]
		d.Owner = "DaemonSet"
		inv.DaemonSets = append(inv.DaemonSets, api.DaemonSetState{Namespace: "default", Name: d.Name, Pod: c.pod(&d)})
	}
	for _, p := range c.PDBs {
		inv.Budgets = append(inv.Budgets, api.PodBudget{
			Namespace: cmp.Or(p.Namespace, "default"), Name: p.Name, Selector: &metav1.LabelSelector{MatchLabels: p.MatchLabels},
			MinAvailable: p.MinAvailable, MaxUnavailable: p.MaxUnavailable, Allowed: p.Allowed, AlwaysAllow: p.Unhealthy == "AlwaysAllow",
		})
	}
	return inv
}

func (c *consolidationCase) node(n *recordedNode) *api.NodeState {
	s := &api.NodeState{
		Name: n.Name, Managed: !n.Unmanaged, Ready: n.Ready == nil || *n.Ready, Initialized: n.Initialized == nil || *n.Initialized,
		Created: c.ago(&n.Age, 0), Since: c.ago(n.InitializedAgo, n.Age), Deleting: n.Deleting || n.Marked, Taints: n.Taints,
		ProviderDrift: n.DriftReason, ExpireAfter: n.ExpireAfter, TerminationGracePeriod: n.TerminationGracePeriod,
		Annotations: map[string]string{}, Labels: map[string]string{
			corev1.LabelHostname: n.Name, corev1.LabelInstanceTypeStable: n.InstanceType, corev1.LabelTopologyZone: n.Zone,
			api.LabelCapacityType: n.CapacityType,
		},
	}
	machine := c.machine(n.InstanceType)
	maps.Copy(s.Labels, machine.Labels)
	s.Labels[corev1.LabelArchStable], s.Labels[corev1.LabelOSStable] = cmp.Or(machine.Arch, "amd64"), cmp.Or(machine.OS, "linux")
	s.Capacity, s.Allocatable = amounts(&machine)
	if n.LastPodEventAgo != nil {
		s.LastPodEvent = c.ago(n.LastPodEventAgo, 0)
	}
	if n.Nominated {
		s.NominatedUntil = metav1.NewTime(c.Now.Add(20 * time.Second))
	}
	if !n.Unmanaged {
		s.Labels[api.LabelNodePool] = n.NodePool
	}
	maps.Copy(s.Labels, n.Labels)
	for _, k := range n.DropLabels {
		delete(s.Labels, k)
	}
	if s.Managed {
		s.Origin = &api.NodeOrigin{Whole: true} // a NodeClaim with the labels of its node
	}
	maps.Copy(s.Annotations, n.stamps())
	maps.Copy(s.Annotations, n.Annotations)
	if n.Unschedulable && c.cordonTaints {
		s.Taints = append(s.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	for i := range c.Pods {
		if c.Pods[i].Node == n.Name {
			s.Pods = append(s.Pods, c.pod(&c.Pods[i]))
		}
	}
	return s
}

// stamps are the hashes that Karpenter writes on a node.
func (n *recordedNode) stamps() map[string]string {
	out := map[string]string{}
	switch n.PoolHash {
	case "missing":
	case "", "same":
		out[api.AnnotationPoolHash] = poolHash
	default:
		out[api.AnnotationPoolHash] = n.PoolHash
	}
	switch n.HashVersion {
	case "missing":
	case "", "same":
		out[api.AnnotationPoolHashLevel] = poolHashVersion
	default:
		out[api.AnnotationPoolHashLevel] = n.HashVersion
	}
	return out
}

// machine is the type of a node; a type that is gone was one of 4 CPUs.
func (c *consolidationCase) machine(name string) api.InstanceType {
	for _, t := range c.InstanceTypes {
		if t.Name == name {
			return t
		}
	}
	return api.InstanceType{Name: name, CPU: "4", Memory: "16Gi"}
}

// amounts are what a node of a type has, and what of it pods may take.
func amounts(t *api.InstanceType) (capacity, allocatable api.Amounts) {
	capacity = api.Amounts{"cpu": quantity("cpu", string(t.CPU)), "memory": quantity("memory", string(t.Memory)), "pods": 110}
	if t.Pods != nil {
		capacity["pods"] = int64(*t.Pods)
	}
	for name, amount := range t.Resources {
		capacity[name] = quantity(name, string(amount))
	}
	allocatable = maps.Clone(capacity)
	allocatable["cpu"] -= 100
	allocatable["memory"] -= 10 << 20
	return capacity, allocatable
}

func (c *consolidationCase) pod(p *recordedPod) api.PodState {
	s := api.PodState{
		Namespace: cmp.Or(p.Namespace, "default"), Name: p.Name, Owner: cmp.Or(p.Owner, "ReplicaSet"), Labels: p.Labels, Annotations: map[string]string{},
		Requests:     api.Amounts{"cpu": quantity("cpu", p.CPU), "memory": quantity("memory", p.Memory)},
		NodeSelector: p.NodeSelector, Affinity: p.Affinity, Tolerations: p.Tolerations, Spread: p.Spread, Priority: p.Priority,
		Phase: cmp.Or(p.Phase, "Running"), NotReady: p.NotReady, Terminating: p.Terminating,
	}
	maps.Copy(s.Annotations, p.Annotations)
	if p.DoNotDisrupt != "" {
		s.Annotations[api.AnnotationDoNotDisrupt] = p.DoNotDisrupt
	}
	if p.DeletionCost != "" {
		s.Annotations[api.AnnotationDeletionCost] = p.DeletionCost
	}
	for _, port := range p.HostPorts {
		s.Ports = append(s.Ports, api.HostPort{Port: port})
	}
	if c.bare && p.Owner == "none" {
		s.Owner = ""
	}
	if p.StartedAgo != nil {
		s.Started = c.ago(p.StartedAgo, 0)
	}
	return s
}
