package conformance

import (
	"cmp"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// consolidationCase is one line of the recording, see conformance/README of the recording.
type consolidationCase struct {
	ID                string             `json:"id"`
	Note              string             `json:"note"`
	Now               time.Time          `json:"now"`
	SpotToSpot        bool               `json:"spotToSpotConsolidation"`
	IgnorePreferences bool               `json:"ignorePreferences"`
	InstanceTypes     []api.InstanceType `json:"instanceTypes"`
	NodePools         []recordedPool     `json:"nodePools"`
	Nodes             []recordedNode     `json:"nodes"`
	Pods              []recordedPod      `json:"pods"`
	PDBs              []recordedPDB      `json:"pdbs"`
	DaemonSets        []recordedPod      `json:"daemonSets"`
	Want              consolidationWant  `json:"want"`
}

type recordedPool struct {
	Name                   string                `json:"name"`
	Weight                 *int32                `json:"weight"`
	Disruption             *api.PoolDisruption   `json:"disruption"`
	Labels                 map[string]string     `json:"labels"`
	Taints                 []api.NodeTaint       `json:"taints"`
	Requirements           []api.NodeRequirement `json:"requirements"`
	ExpireAfter            string                `json:"expireAfter"`
	TerminationGracePeriod string                `json:"terminationGracePeriod"`
	Limits                 map[string]api.Amount `json:"limits"`
	InstanceTypes          []string              `json:"instanceTypes"`
}

type recordedNode struct {
	Name                   string            `json:"name"`
	NodePool               string            `json:"nodePool"`
	InstanceType           string            `json:"instanceType"`
	Zone                   string            `json:"zone"`
	CapacityType           string            `json:"capacityType"`
	Age                    int               `json:"ageSeconds"`
	InitializedAgo         *int              `json:"initializedSecondsAgo"`
	LastPodEventAgo        *int              `json:"lastPodEventSecondsAgo"`
	Ready                  *bool             `json:"ready"`
	Initialized            *bool             `json:"initialized"`
	Deleting               bool              `json:"deleting"`
	Marked                 bool              `json:"markedForDeletion"`
	Nominated              bool              `json:"nominated"`
	Unmanaged              bool              `json:"unmanaged"`
	DriftReason            string            `json:"driftReason"`
	PoolHash               string            `json:"nodePoolHash"`
	DriftedAgo             *int              `json:"driftedSecondsAgo"`
	Labels                 map[string]string `json:"labels"`
	DropLabels             []string          `json:"dropLabels"`
	Annotations            map[string]string `json:"annotations"`
	Taints                 []corev1.Taint    `json:"taints"`
	ExpireAfter            string            `json:"expireAfter"`
	TerminationGracePeriod string            `json:"terminationGracePeriod"`
}

type recordedPod struct {
	Name         string                            `json:"name"`
	Namespace    string                            `json:"namespace"`
	Node         string                            `json:"node"`
	CPU          string                            `json:"cpu"`
	Memory       string                            `json:"memory"`
	Labels       map[string]string                 `json:"labels"`
	Annotations  map[string]string                 `json:"annotations"`
	DoNotDisrupt string                            `json:"doNotDisrupt"`
	NodeSelector map[string]string                 `json:"nodeSelector"`
	Tolerations  []corev1.Toleration               `json:"tolerations"`
	Affinity     *corev1.Affinity                  `json:"affinity"`
	Spread       []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
	Owner        string                            `json:"owner"`
	Priority     int32                             `json:"priority"`
	DeletionCost string                            `json:"deletionCost"`
	Phase        string                            `json:"phase"`
	Terminating  bool                              `json:"terminating"`
	NotReady     bool                              `json:"notReady"`
	HostPorts    []int32                           `json:"hostPorts"`
	StartedAgo   *int                              `json:"startedSecondsAgo"`
}

type recordedPDB struct {
	Name           string              `json:"name"`
	Namespace      string              `json:"namespace"`
	MatchLabels    map[string]string   `json:"matchLabels"`
	MinAvailable   *intstr.IntOrString `json:"minAvailable"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
	Allowed        int32               `json:"disruptionsAllowed"`
	Unhealthy      string              `json:"unhealthyPodEvictionPolicy"`
}

type recordedReplacement struct {
	NodePool      string   `json:"nodePool"`
	InstanceTypes []string `json:"instanceTypes"`
	CapacityTypes []string `json:"capacityTypes,omitempty"`
	Zones         []string `json:"zones,omitempty"`
}

type consolidationWant struct {
	Decision     string                    `json:"decision"`
	Method       string                    `json:"method"`
	Reason       string                    `json:"reason"`
	Candidates   []string                  `json:"candidates"`
	Replacements []recordedReplacement     `json:"replacements"`
	Savings      float64                   `json:"savings"`
	Placements   map[string]string         `json:"placements"`
	Eligible     map[string][]string       `json:"eligible"`
	Budgets      map[string]map[string]int `json:"budgets"`
	Blocked      map[string][]string       `json:"blocked"`
	Stages       []string                  `json:"stages"`
}

func (c *consolidationCase) ago(seconds *int, otherwise int) metav1.Time {
	if seconds != nil {
		otherwise = *seconds
	}
	return metav1.NewTime(c.Now.Add(-time.Duration(otherwise) * time.Second))
}

// state builds the core's input from the recorded one.
func (c *consolidationCase) state(rules disruption.Rules) *disruption.State {
	rules.SpotToSpot, rules.IgnorePreferences = c.SpotToSpot, c.IgnorePreferences
	catalog := disruption.NewCatalog(&api.InstanceCatalog{Spec: api.InstanceCatalogSpec{Types: c.InstanceTypes}})
	s := &disruption.State{Cluster: disruption.NewCluster(), Now: c.Now, Rules: rules, DriftedSince: map[string]time.Time{}}
	hashes := map[string]string{}
	for i := range c.NodePools {
		p := c.NodePools[i].pool()
		hashes[p.Name] = disruption.PoolHash(p)
		s.Pools = append(s.Pools, disruption.NewPool(p, catalog, disruption.PoolOptions{InstanceTypes: c.NodePools[i].InstanceTypes}))
	}
	s.Cluster.SetInventory(c.inventory())
	for i := range c.Nodes {
		n := &c.Nodes[i]
		s.Cluster.Set(c.node(n, hashes[n.NodePool]))
		if n.DriftedAgo != nil {
			s.DriftedSince[n.Name] = c.ago(n.DriftedAgo, 0).Time
		}
	}
	return s
}

func (r *recordedPool) pool() *api.NodePool {
	p := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}
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

func (c *consolidationCase) node(n *recordedNode, hash string) *api.NodeState {
	s := &api.NodeState{
		Name: n.Name, Managed: !n.Unmanaged, Ready: n.Ready == nil || *n.Ready, Initialized: n.Initialized == nil || *n.Initialized,
		Created: c.ago(&n.Age, 0), Since: c.ago(n.InitializedAgo, n.Age), Deleting: n.Deleting || n.Marked, Taints: n.Taints,
		ProviderDrift: n.DriftReason, ExpireAfter: n.ExpireAfter, TerminationGracePeriod: n.TerminationGracePeriod,
		Annotations: map[string]string{}, Labels: map[string]string{
			corev1.LabelHostname: n.Name, corev1.LabelInstanceTypeStable: n.InstanceType, corev1.LabelTopologyZone: n.Zone,
			api.LabelCapacityType: n.CapacityType, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		},
	}
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
	if n.PoolHash != "missing" {
		if n.PoolHash == "different" {
			hash = "different"
		}
		s.Annotations[api.AnnotationPoolHash], s.Annotations[api.AnnotationPoolHashLevel] = hash, disruption.PoolHashLevel
	}
	maps.Copy(s.Annotations, n.Annotations)
	s.Capacity, s.Allocatable = c.amounts(n.InstanceType)
	for i := range c.Pods {
		if c.Pods[i].Node == n.Name {
			s.Pods = append(s.Pods, c.pod(&c.Pods[i]))
		}
	}
	return s
}

// amounts are what a node of a type has; one of a type that is gone has those of a d4.
func (c *consolidationCase) amounts(name string) (capacity, allocatable api.Amounts) {
	capacity = api.Amounts{"cpu": 4000, "memory": 16 << 30, "pods": 110}
	for _, t := range c.InstanceTypes {
		if t.Name == name {
			capacity = api.Amounts{"cpu": quantity("cpu", string(t.CPU)), "memory": quantity("memory", string(t.Memory)), "pods": 110}
		}
	}
	return capacity, api.Amounts{"cpu": capacity["cpu"] - 100, "memory": capacity["memory"] - 10<<20, "pods": capacity["pods"]}
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
	if p.StartedAgo != nil {
		s.Started = c.ago(p.StartedAgo, 0)
	}
	return s
}
