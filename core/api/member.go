package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberCluster is the user's side of a member: identity, labels, taints, what happens when it
// leaves. Shape from KubeFleet, cluster.kubernetes-fleet.io/v1 and v1beta1, status included so that
// an export of a KubeFleet hub can be planned against offline.
type MemberCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   MemberClusterSpec    `json:"spec,omitzero"`
	Status *MemberClusterStatus `json:"status,omitempty"`
}

// MemberClusterSpec is what the user says about a member.
type MemberClusterSpec struct {
	// Identity is accepted for KubeFleet's sake and not used: agents are known by their NATS user.
	Identity *SubjectReference `json:"identity,omitempty"`
	// HeartbeatPeriodSeconds is accepted and not used: the agent's own configuration decides.
	HeartbeatPeriodSeconds int32          `json:"heartbeatPeriodSeconds,omitempty"`
	Taints                 []Taint        `json:"taints,omitempty"`
	DeleteOptions          *DeleteOptions `json:"deleteOptions,omitempty"`
}

// SubjectReference is an RBAC subject.
type SubjectReference struct {
	Kind      string `json:"kind,omitempty"`
	APIGroup  string `json:"apiGroup,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// What happens to placed objects when their member leaves the fleet (D9).
const (
	WhenLeavingRetain = "Retain"
	WhenLeavingDelete = "Delete"
)

// DeleteOptions says how a member leaves.
type DeleteOptions struct {
	ValidationMode string `json:"validationMode,omitempty"`
	WhenLeaving    string `json:"whenLeaving,omitempty"`
}

// MemberClusterStatus is what KubeFleet's hub exports and what our api shows of a MemberRecord.
type MemberClusterStatus struct {
	Conditions    []metav1.Condition       `json:"conditions,omitempty"`
	Properties    map[string]PropertyValue `json:"properties,omitempty"`
	ResourceUsage *ResourceUsage           `json:"resourceUsage,omitempty"`
	AgentStatus   []AgentStatus            `json:"agentStatus,omitempty"`
	Namespaces    map[string]string        `json:"namespaces,omitempty"`

	// The rest is ours and absent in KubeFleet's exports. Labels are the effective ones, Offered
	// those of the agent that the spec does not allow, Placed counts placements on the member.
	State             MemberState       `json:"state,omitempty"`
	Message           string            `json:"message,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	OfferedLabels     map[string]string `json:"offeredLabels,omitempty"`
	AgentVersion      string            `json:"agentVersion,omitempty"`
	KubernetesVersion string            `json:"kubernetesVersion,omitempty"`
	Nodes             int               `json:"nodes,omitempty"`
	Placed            int               `json:"placed,omitempty"`
	Unlisted          []string          `json:"unlisted,omitempty"`
	// Forbidden is what the member's API server did not permit the agent of late, "list secrets in namespace shop".
	Forbidden []string `json:"forbidden,omitempty"`
	// Credentials are those of its agent, nil where others made them.
	Credentials *AgentCredentials `json:"credentials,omitempty"`
	// Inventory is what upgrades depend on, as the agent last reported it.
	Inventory *MemberInventory `json:"inventory,omitempty"`
	// Drain is set while the member is drained.
	Drain *MemberDrain `json:"drain,omitempty"`
}

// PropertyValue is one property as observed.
type PropertyValue struct {
	Value           string      `json:"value"`
	ObservationTime metav1.Time `json:"observationTime,omitzero"`
}

// ResourceUsage holds quantities by resource name.
type ResourceUsage struct {
	Capacity        map[string]string `json:"capacity,omitempty"`
	Allocatable     map[string]string `json:"allocatable,omitempty"`
	Available       map[string]string `json:"available,omitempty"`
	ObservationTime metav1.Time       `json:"observationTime,omitzero"`
}

// AgentTypeMember is the agent type whose status decides eligibility.
const AgentTypeMember = "MemberAgent"

// Conditions of a MemberCluster's status: the first two of its MemberAgent, the others of itself.
const (
	ConditionJoined              = "Joined"
	ConditionHealthy             = "Healthy"
	ConditionNamespacesCollected = "NamespaceCollectionSucceeded"
	ConditionCredentialsValid    = "CredentialsValid"
)

// AgentStatus is what one agent of a member last said.
type AgentStatus struct {
	Type                  string             `json:"type"`
	Conditions            []metav1.Condition `json:"conditions,omitempty"`
	LastReceivedHeartbeat metav1.Time        `json:"lastReceivedHeartbeat,omitzero"`
}

// MemberState is the one word that says how a member does.
type MemberState string

// The member states.
const (
	MemberJoining  MemberState = "Joining"  // heartbeats, but nobody admitted it, or admitted and not heard of yet
	MemberReady    MemberState = "Ready"    // heartbeats and healthy
	MemberNotReady MemberState = "NotReady" // heartbeats and says that it is unhealthy
	MemberUnknown  MemberState = "Unknown"  // no heartbeat for longer than the member timeout
	MemberLeaving  MemberState = "Leaving"  // deletion asked for, withdrawals not confirmed yet
)

// MemberRecord is the record member.<name>, written by the registrar alone: what the hub has
// learned of a member. It is written when something in it changes, properties at most every 15 s,
// lastSeen with whatever else changed or when the state turns.
type MemberRecord struct {
	Header
	Name  string      `json:"name"`
	UID   string      `json:"uid,omitempty"` // of the MemberCluster; empty while nobody admitted the member
	State MemberState `json:"state"`
	// Since is when State became what it is.
	Since metav1.Time `json:"since"`
	// Reason and Message explain State, "NoHeartbeat", "no heartbeat for 6m0s".
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Healthy is what the agent says of its member, "True", "False" or "Unknown"; HealthySince is
	// its last transition.
	Healthy      string      `json:"healthy,omitempty"`
	HealthySince metav1.Time `json:"healthySince,omitzero"`
	LastSeen     metav1.Time `json:"lastSeen,omitzero"`
	// Labels are the effective ones: of the agent, where its MemberCluster allows the key, then of
	// the MemberCluster, which win.
	Labels map[string]string `json:"labels,omitempty"`
	// OfferedLabels are those of the agent that its MemberCluster does not allow.
	OfferedLabels map[string]string `json:"offeredLabels,omitempty"`
	// Properties by canonical name, resource properties included.
	Properties map[string]string `json:"properties,omitempty"`
	// Namespaces of the member when its agent collects them, else nil.
	Namespaces        []string `json:"namespaces,omitempty"`
	AgentVersion      string   `json:"agentVersion,omitempty"`
	AgentLevel        int      `json:"agentLevel,omitempty"`
	KubernetesVersion string   `json:"kubernetesVersion,omitempty"`
	Nodes             int      `json:"nodes,omitempty"`
	// Holds is the order of the newest placement command the agent says it holds.
	Holds Order `json:"holds,omitzero"`
	// Unlisted are placements that run on the member and that no command mentions.
	Unlisted []string `json:"unlisted,omitempty"`
	// Renewal is why the agent cannot renew its credentials, empty while it can.
	Renewal string `json:"renewal,omitempty"`
	// Forbidden is what the member's API server did not permit the agent of late.
	Forbidden []string `json:"forbidden,omitempty"`
	// Misnamed is what the agent offers under names that are none, `label "*"`, and what is left out of all above; of
	// much the beginning.
	Misnamed []string `json:"misnamed,omitempty"`
	// Excess says how much the agent offers, where more than counts; nil otherwise.
	Excess *Offers `json:"excess,omitempty"`
}

// Offers counts what an agent offers.
type Offers struct {
	Labels     int `json:"labels,omitempty"`
	Properties int `json:"properties,omitempty"`
}

// Member is one member as the core sees it: the user's side and the hub's side in one value.
type Member struct {
	Name       string
	UID        string
	Labels     map[string]string
	Taints     []Taint
	Properties map[string]string // by canonical name; values as observed, quantities or not
	// HasAgent is false when no agent ever reported.
	HasAgent bool
	// LastHeartbeat is when the hub last heard of the agent.
	LastHeartbeat time.Time
	// Joined and Healthy are "True", "False", "Unknown", or "" when the condition is absent.
	Joined  string
	Healthy string
	// HealthChanged is the last transition of Healthy.
	HealthChanged time.Time
	// Leaving is set once deletion was asked for.
	Leaving bool
	// NamespacesKnown says that Namespaces was collected; NamespaceCondition that the collection
	// reported at all.
	NamespaceCondition bool
	NamespacesKnown    bool
	Namespaces         []string
	// Agent says which of Labels the agent decides.
	Agent AgentLabels
}
