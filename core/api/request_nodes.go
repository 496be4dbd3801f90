package api

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verbs about nodes of members, answered by the disruptor. VerbPlanNodes answers a
// disruption.MemberForecast, VerbWhyNode a disruption.NodeAnswer and VerbBudgets a
// disruption.BudgetReport, all of core/disruption; the others what is below.
const (
	VerbNodes       = "nodes"
	VerbDisruptions = "disruptions"
	VerbPlanNodes   = "plan-nodes"
	VerbWhyNode     = "why-node"
	VerbBudgets     = "budgets"
	VerbDeleteNode  = "delete-node"
)

// Kinds of what VerbNodes and VerbDisruptions answer: objects to read, of flotilla.io/v1alpha1, that
// nobody stores under these names.
const (
	KindMemberNode     = "MemberNode"
	KindNodeDisruption = "NodeDisruption"
)

// PhaseWaiting is shown of a command that was chosen and is checked again before it begins; no record
// holds one.
const PhaseWaiting = "Waiting"

// NodesRequest lists nodes sorted by member and name, in pages.
type NodesRequest struct {
	Member        string `json:"member,omitempty"` // empty: all members
	Node          string `json:"node,omitempty"`   // nodes of this name alone
	LabelSelector string `json:"labelSelector,omitempty"`
	WithPods      bool   `json:"withPods,omitempty"` // answer the pods on nodes too
	Limit         int    `json:"limit,omitempty"`    // 0: as many as fit in one reply
	Continue      string `json:"continue,omitempty"`
}

// NodesResponse is one page of nodes.
type NodesResponse struct {
	Items    []MemberNode `json:"items"`
	Continue string       `json:"continue,omitempty"`
	// Notes say of which members nothing is decided, and why.
	Notes []string `json:"notes,omitempty"`
}

// MemberNode is one node of a member as the hub sees it, with what is decided about it. Its metadata
// has the name, uid, labels, annotations that Flotilla reads, and creation time of the node.
type MemberNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              MemberNodeSpec   `json:"spec"`
	Status            MemberNodeStatus `json:"status"`
}

// MemberNodeSpec is where a node belongs.
type MemberNodeSpec struct {
	Member   string         `json:"member"`
	NodePool string         `json:"nodePool,omitempty"`
	Taints   []corev1.Taint `json:"taints,omitempty"`
}

// States of a MemberNode.
const (
	NodeReady          = "Ready"
	NodeNotReady       = "NotReady"
	NodeNotInitialized = "NotInitialized"
	NodeDisrupting     = "Disrupting" // a disruption holds it
	NodeDeleting       = "Deleting"
)

// MemberNodeStatus is what is known of a node and decided about it.
type MemberNodeStatus struct {
	State string `json:"state"`
	// Disruption is the id of the disruption that holds the node, Phase how far that is.
	Disruption string `json:"disruption,omitempty"`
	Phase      string `json:"phase,omitempty"`
	Managed    bool   `json:"managed"`

	InstanceType string `json:"instanceType,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	// Price an hour, unknown where the catalog does not list the node.
	Price Hourly `json:"price"`

	Pods        int     `json:"pods"`
	Allocatable Amounts `json:"allocatable,omitempty"`
	// Requested is what the pods on the node ask for.
	Requested Amounts `json:"requested,omitempty"`
	// PodStates are those pods, of NodesRequest.WithPods.
	PodStates []PodState `json:"podStates,omitempty"`
	// Verdict is the newest; nil while none was made.
	Verdict *NodeVerdict `json:"verdict,omitempty"`
}

// NodeVerdict is what is decided about a node in one line; VerbWhyNode answers the whole of it.
type NodeVerdict struct {
	// Disrupt is the reason when the node goes now, and Method the method that takes it.
	Disrupt string `json:"disrupt,omitempty"`
	Method  string `json:"method,omitempty"`
	// Code and Message say why a node stays.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Drift is the reason why the node is not what its pool asks for, empty when it is.
	Drift string `json:"drift,omitempty"`
}

// DisruptionsRequest lists what is being carried out, and what ended lately, sorted by member and
// time, oldest first.
type DisruptionsRequest struct {
	Member   string `json:"member,omitempty"` // empty: all members
	ID       string `json:"id,omitempty"`     // one disruption
	Limit    int    `json:"limit,omitempty"`  // 0: as many as fit in one reply
	Continue string `json:"continue,omitempty"`
}

// DisruptionsResponse is one page of disruptions.
type DisruptionsResponse struct {
	Items    []NodeDisruption `json:"items"`
	Continue string           `json:"continue,omitempty"`
	Notes    []string         `json:"notes,omitempty"`
}

// NodeDisruption is one disruption of the record of a member. Its metadata has the id as name and the
// time of the decision as creation time.
type NodeDisruption struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              NodeDisruptionSpec `json:"spec"`
	Status            Disruption         `json:"status"`
}

// NodeDisruptionSpec is where a disruption belongs.
type NodeDisruptionSpec struct {
	Member string `json:"member"`
}

// PlanNodesRequest asks what would be disrupted on a member now.
type PlanNodesRequest struct {
	Member string `json:"member"`
	// Nodes are those to explain in full where they stay.
	Nodes []string `json:"nodes,omitempty"`
	// Passes is how far the plan looks ahead, until nothing more would begin when 0.
	Passes int `json:"passes,omitempty"`
	// FleetBudgets is what is taken to be left of fleet-wide budgets, by name, instead of what is:
	// what the answer for the member before says, so that plans of several members spend them once.
	FleetBudgets map[string]int `json:"fleetBudgets,omitempty"`
	// Documents are NodePools, InstanceCatalogs and node classes that take the place of the hub's own of
	// the same names in this answer; nothing is stored. What was chosen without them is left out.
	Documents []json.RawMessage `json:"documents,omitempty"`
}

// WhyNodeRequest asks why a node goes or stays.
type WhyNodeRequest struct {
	Member string `json:"member"`
	Node   string `json:"node"`
}

// BudgetsRequest asks how many nodes may be disrupted.
type BudgetsRequest struct {
	Pool   string       `json:"pool,omitempty"`   // empty: all NodePools
	Member string       `json:"member,omitempty"` // empty: all members
	At     *metav1.Time `json:"at,omitempty"`     // nil: now
}

// DeleteNodeRequest asks to drain a node and delete it, whatever budgets say (N17).
type DeleteNodeRequest struct {
	Asked
	Request string `json:"request"`
	Member  string `json:"member"`
	Node    string `json:"node"`
	// DryRun answers what would be done.
	DryRun bool `json:"dryRun,omitempty"`
}

// DeleteNodeResponse says what was begun.
type DeleteNodeResponse struct {
	Member string `json:"member"`
	Node   string `json:"node"`
	// Disruption is the id under which the drain is recorded; empty on dry runs and when the node is
	// being deleted on the member already.
	Disruption string `json:"disruption,omitempty"`
	// Already says that the node was being removed before this request.
	Already bool `json:"already,omitempty"`
	// Pods is how many have to go first.
	Pods int `json:"pods"`
	// Notes say what will hold the drain up.
	Notes []string `json:"notes,omitempty"`
}
