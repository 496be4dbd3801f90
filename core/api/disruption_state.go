package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kinds of the messages about nodes.
const (
	KindNodeEvent     = "NodeEvent"
	KindNodeInventory = "NodeInventory"
)

// Amounts are resources by name: cpu in millicores, memory and ephemeral-storage in bytes, anything
// else in units.
type Amounts map[string]int64

// NodeEvent is the whole state of one node with its pods, on event.<member>.node.<node>, written by
// that agent at most every 5 s. Gone says that the node left.
type NodeEvent struct {
	Header
	Member string `json:"member"`
	// Sequence counts the events of one boot of the agent for this node.
	Boot     string      `json:"boot"`
	Sequence uint64      `json:"sequence"`
	At       metav1.Time `json:"at"`
	Node     NodeState   `json:"node"`
	Gone     bool        `json:"gone,omitempty"`
}

// NodeInventory is what a member has beside its nodes, on event.<member>.nodes, at connect and
// hourly and whenever it changes: the nodes there must be, pods without a node, and what restricts
// moving pods. It follows the events that it counts; where it counts one that is yet to come, the hub
// waits for that.
type NodeInventory struct {
	Header
	Member string `json:"member"`
	// Sequence counts the inventories of one boot of the agent; it orders those of one second.
	Boot     string      `json:"boot"`
	Sequence uint64      `json:"sequence,omitempty"`
	At       metav1.Time `json:"at"`
	// Nodes maps the name of every node to the sequence of its newest event.
	Nodes map[string]uint64 `json:"nodes"`
	// Pending are the pods without a node, and those that came to a node which is not told yet.
	Pending    []PodState       `json:"pending,omitempty"`
	Budgets    []PodBudget      `json:"podDisruptionBudgets,omitempty"`
	DaemonSets []DaemonSetState `json:"daemonSets,omitempty"`
	// Namespaces maps names to labels, for affinity terms that select namespaces.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
	// Withheld says why all but Nodes is left out, empty when it is not: then nothing can be decided.
	Withheld string `json:"withheld,omitempty"`
}

// NodeState is one node of a member.
type NodeState struct {
	Name string `json:"name"`
	// Withheld says why all but the node's name, uid and pool is left out, empty when it is not: then
	// nothing can be decided on the member.
	Withheld    string            `json:"withheld,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"` // those that Flotilla reads
	Taints      []corev1.Taint    `json:"taints,omitempty"`
	Capacity    Amounts           `json:"capacity,omitempty"`
	Allocatable Amounts           `json:"allocatable,omitempty"`
	Created     metav1.Time       `json:"created,omitzero"`
	// Managed says that Flotilla or Karpenter made the node; others are never disrupted.
	Managed     bool        `json:"managed,omitempty"`
	Ready       bool        `json:"ready,omitempty"`
	Initialized bool        `json:"initialized,omitempty"`
	Since       metav1.Time `json:"initializedSince,omitzero"`
	// Deleting says that the node, or the claim it was made for, is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// Taken says why Karpenter takes the node away by itself, TakenExpired or another, empty while it does not.
	Taken string `json:"taken,omitempty"`
	// InstanceTerminating says that the provider is taking the machine away.
	InstanceTerminating bool        `json:"instanceTerminating,omitempty"`
	LastPodEvent        metav1.Time `json:"lastPodEvent,omitzero"`
	// NominatedUntil is how long a pod is expected to land here.
	NominatedUntil metav1.Time `json:"nominatedUntil,omitzero"`
	// ExpireAfter and TerminationGracePeriod are those the node was made with.
	ExpireAfter            string `json:"expireAfter,omitempty"`
	TerminationGracePeriod string `json:"terminationGracePeriod,omitempty"`
	// ProviderDrift is the reason of the condition Drifted of the node's NodeClaim while that is True, empty
	// otherwise; DriftedSince is since when it is.
	ProviderDrift string      `json:"providerDrift,omitempty"`
	DriftedSince  metav1.Time `json:"driftedSince,omitzero"`
	// Origin is what the node was made from, nil when nobody knows more than Labels say.
	Origin *NodeOrigin `json:"origin,omitempty"`
	// AttachLimits is how many volumes of each CSI driver can be attached.
	AttachLimits map[string]int `json:"attachLimits,omitempty"`
	Pods         []PodState     `json:"pods,omitempty"`
}

// NodeOrigin is what a node was made from: drift is told by that, whatever became of its labels since (N19).
type NodeOrigin struct {
	// Labels are those of its NodeClaim, or those that it had when it was first seen up; nil when they are
	// still those of the node.
	Labels map[string]string `json:"labels,omitempty"`
	// Whole says that nothing else was asked of the machine, as of one with a NodeClaim or one that Flotilla
	// launched: a label that is not there was not wanted. Of other nodes it is unknown.
	Whole bool `json:"whole,omitempty"`
}

// PodState is one pod, reduced to what decisions about nodes read.
type PodState struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Owner is the kind of the controller, "ReplicaSet", "DaemonSet", "Node" for a mirror pod, or
	// empty; OwnerName its name.
	Owner       string            `json:"owner,omitempty"`
	OwnerName   string            `json:"ownerName,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"` // those that Flotilla reads
	// Requests are the effective ones: init containers, sidecars and overhead included.
	Requests     Amounts                           `json:"requests,omitempty"`
	NodeSelector map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity     *corev1.Affinity                  `json:"affinity,omitempty"`
	Tolerations  []corev1.Toleration               `json:"tolerations,omitempty"`
	Spread       []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Ports        []HostPort                        `json:"hostPorts,omitempty"`
	Volumes      []PodVolume                       `json:"volumes,omitempty"`
	Priority     int32                             `json:"priority,omitempty"`
	// Critical says that the priority class is one of system-cluster-critical and
	// system-node-critical.
	Critical    bool        `json:"critical,omitempty"`
	Phase       string      `json:"phase,omitempty"`
	NotReady    bool        `json:"notReady,omitempty"`
	Created     metav1.Time `json:"created,omitzero"`
	Started     metav1.Time `json:"started,omitzero"`
	Terminating bool        `json:"terminating,omitempty"`
	// GoneBy is when a terminating pod is due to be gone.
	GoneBy metav1.Time `json:"goneBy,omitzero"`
	// GraceSeconds is spec.terminationGracePeriodSeconds, 30 when nil.
	GraceSeconds *int64 `json:"graceSeconds,omitempty"`
}

// HostPort is a port of the node that a pod takes.
type HostPort struct {
	IP       string `json:"ip,omitempty"`
	Port     int32  `json:"port"`
	Protocol string `json:"protocol,omitempty"`
}

// PodVolume is a volume that a pod's node must reach.
type PodVolume struct {
	// Name is the claim, for messages; ID the volume, by which attachments are counted once.
	Name   string `json:"name"`
	ID     string `json:"id,omitempty"`
	Driver string `json:"driver,omitempty"`
	// Terms are the node affinity of the volume or the topologies of its storage class, any of
	// which suffices.
	Terms []corev1.NodeSelectorTerm `json:"terms,omitempty"`
	// Missing says that the claim does not exist.
	Missing bool `json:"missing,omitempty"`
}

// PodBudget is a PodDisruptionBudget with what its status says.
type PodBudget struct {
	Namespace      string                `json:"namespace"`
	Name           string                `json:"name"`
	Selector       *metav1.LabelSelector `json:"selector,omitempty"`
	MinAvailable   *intstr.IntOrString   `json:"minAvailable,omitempty"`
	MaxUnavailable *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	Allowed        int32                 `json:"disruptionsAllowed"`
	// AlwaysAllow is unhealthyPodEvictionPolicy AlwaysAllow.
	AlwaysAllow bool `json:"alwaysAllow,omitempty"`
}

// DaemonSetState is a DaemonSet, as the pod that it puts on nodes.
type DaemonSetState struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Pod       PodState `json:"pod"`
}
