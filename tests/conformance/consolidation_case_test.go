package conformance

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/strict"
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

	// cordonTaints says that an unschedulable node has the taint that a cluster puts beside it, of which
	// the recording does not tell.
	cordonTaints bool
	// bare says that a pod of nobody has no owner in the state, as one has it who reads the objects of a cluster.
	bare bool
}

type recordedPool struct {
	Name                   string                   `json:"name"`
	Weight                 *int32                   `json:"weight"`
	Disruption             *api.PoolDisruption      `json:"disruption"`
	Labels                 map[string]string        `json:"labels"`
	Taints                 []api.NodeTaint          `json:"taints"`
	Requirements           []api.NodeRequirement    `json:"requirements"`
	ExpireAfter            string                   `json:"expireAfter"`
	TerminationGracePeriod string                   `json:"terminationGracePeriod"`
	Limits                 map[string]strict.Amount `json:"limits"`
	InstanceTypes          []string                 `json:"instanceTypes"`
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
	PoolHash               string            `json:"nodePoolHash"` // same, different or missing
	HashVersion            string            `json:"hashVersion"`  // that of the pool when empty
	DriftedAgo             *int              `json:"driftedSecondsAgo"`
	Labels                 map[string]string `json:"labels"`
	DropLabels             []string          `json:"dropLabels"`
	Annotations            map[string]string `json:"annotations"`
	Taints                 []corev1.Taint    `json:"taints"`
	Unschedulable          bool              `json:"unschedulable"`
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
	Decision     string                               `json:"decision"`
	Method       string                               `json:"method"`
	Reason       string                               `json:"reason"`
	Candidates   []string                             `json:"candidates"`
	Replacements []recordedReplacement                `json:"replacements"`
	Savings      float64                              `json:"savings"`
	Placements   map[string]string                    `json:"placements"`
	Eligible     map[string][]string                  `json:"eligible"`
	Budgets      map[string]map[string]capacity.Count `json:"budgets"`
	Blocked      map[string][]string                  `json:"blocked"`
	Stages       []string                             `json:"stages"`
}
