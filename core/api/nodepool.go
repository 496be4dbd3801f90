package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/strict"
)

// GroupKarpenter is the group of NodePool.
const (
	GroupKarpenter = "karpenter.sh"
	KindNodePool   = "NodePool"
)

// Labels, annotations and taints of Karpenter that Flotilla reads and writes.
const (
	LabelNodePool           = "karpenter.sh/nodepool"
	LabelCapacityType       = "karpenter.sh/capacity-type"
	LabelRegistered         = "karpenter.sh/registered"
	LabelInitialized        = "karpenter.sh/initialized"
	AnnotationDoNotDisrupt  = "karpenter.sh/do-not-disrupt"
	AnnotationPoolHash      = "karpenter.sh/nodepool-hash"
	AnnotationPoolHashLevel = "karpenter.sh/nodepool-hash-version"
	TaintDisrupted          = "karpenter.sh/disrupted"
	// TaintDisruptedBeside is on nodes of Karpenter, which takes a taint TaintDisrupted off that it did not put there.
	TaintDisruptedBeside     = "flotilla.io/disrupted"
	FinalizerKarpenter       = "karpenter.sh/termination"
	AnnotationDeletionCost   = "controller.kubernetes.io/pod-deletion-cost"
	AnnotationDisruptionCost = "karpenter.sh/disruption-cost"
)

// Annotations and the finalizer of ours on pools and nodes (N1, N2, N11, N16, N17).
const (
	AnnotationMembers     = "flotilla.io/members"
	AnnotationExpiration  = "flotilla.io/expiration"
	AnnotationFleetBudget = "flotilla.io/fleet-budget"
	AnnotationClassHash   = "flotilla.io/nodeclass-hash"
	FinalizerTermination  = "flotilla.io/termination"
	// ExpirationForceful is the value of AnnotationExpiration that gives Karpenter's v1 behaviour.
	ExpirationForceful = "Forceful"
)

// Values of spec.disruption.consolidationPolicy. WhenUnderutilized is the older word for
// WhenEmptyOrUnderutilized.
const (
	WhenEmpty                = "WhenEmpty"
	WhenEmptyOrUnderutilized = "WhenEmptyOrUnderutilized"
	WhenUnderutilized        = "WhenUnderutilized"
	Balanced                 = "Balanced"
)

// Reasons of a disruption, as budgets name them.
const (
	ReasonEmpty         = "Empty"
	ReasonUnderutilized = "Underutilized"
	ReasonDrifted       = "Drifted"
	ReasonExpired       = "Expired"
)

// DisruptionReasons are the reasons a budget may list, in the order in which they are shown.
var DisruptionReasons = []string{ReasonEmpty, ReasonUnderutilized, ReasonDrifted, ReasonExpired}

// Never is the word for a duration that does not end.
const Never = "Never"

// Defaults of a NodePool.
const (
	DefaultBudget           = "10%"
	DefaultExpireAfter      = "720h"
	DefaultConsolidateAfter = "0s"
)

// NodePool says what nodes of one kind look like and when they may be disrupted: karpenter.sh/v1 and
// v1beta1, and v1 with fields where v1beta1 had them.
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              NodePoolSpec `json:"spec"`
}

// NodePoolSpec is what the user wants. A field that is absent takes its default below.
type NodePoolSpec struct {
	Template   NodePoolTemplate         `json:"template,omitzero"`
	Disruption *PoolDisruption          `json:"disruption,omitempty"`
	Limits     map[string]strict.Amount `json:"limits,omitempty"`
	// Weight from 1 to 100 orders pools for new nodes, heaviest first.
	Weight *int32 `json:"weight,omitempty"`
	// Replicas makes the pool static: it is never consolidated.
	Replicas *int32 `json:"replicas,omitempty"`
}

// NodePoolTemplate is what each node of the pool is made from.
type NodePoolTemplate struct {
	Metadata NodePoolTemplateMeta `json:"metadata,omitzero"`
	Spec     NodePoolTemplateSpec `json:"spec,omitzero"`
}

// NodePoolTemplateMeta is copied to nodes.
type NodePoolTemplateMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodePoolTemplateSpec is the machine that a node asks for.
type NodePoolTemplateSpec struct {
	NodeClassRef  *NodeClassRef     `json:"nodeClassRef,omitempty"`
	Requirements  []NodeRequirement `json:"requirements,omitempty"`
	Taints        []NodeTaint       `json:"taints,omitempty"`
	StartupTaints []NodeTaint       `json:"startupTaints,omitempty"`
	// ExpireAfter is a duration or Never; it goes before the one under spec.disruption (N2).
	ExpireAfter            string `json:"expireAfter,omitempty"`
	TerminationGracePeriod string `json:"terminationGracePeriod,omitempty"`
}

// NodeClassRef names the provider's own settings for nodes.
type NodeClassRef struct {
	Group      string `json:"group,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name"`
}

// Names reports whether the reference is to an object. What it leaves out, as v1beta1 may, fits any: of a
// reference without kind, any kind of node class.
func (r *NodeClassRef) Names(object ObjectRef) bool {
	if r == nil || r.Name != object.Name || object.Namespace != "" {
		return false
	}
	group, _ := SplitAPIVersion(object.APIVersion)
	wanted := r.Group
	if wanted == "" {
		wanted, _ = SplitAPIVersion(r.APIVersion)
	}
	if r.Kind == "" && !strings.HasSuffix(object.Kind, "NodeClass") {
		return false
	}
	return (wanted == "" || wanted == group) && (r.Kind == "" || r.Kind == object.Kind)
}

// NodeRequirement restricts a label of new nodes.
type NodeRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
	// MinValues is how many distinct values must be left to choose from.
	MinValues *int32 `json:"minValues,omitempty"`
}

// NodeTaint is a taint of new nodes.
type NodeTaint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Taint returns the Kubernetes form.
func (t NodeTaint) Taint() corev1.Taint {
	return corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)}
}

// PoolDisruption is when nodes of a pool may be disrupted.
type PoolDisruption struct {
	ConsolidationPolicy string `json:"consolidationPolicy,omitempty"`
	ConsolidateAfter    string `json:"consolidateAfter,omitempty"`
	// ExpireAfter is the older place of spec.template.spec.expireAfter.
	ExpireAfter string `json:"expireAfter,omitempty"`
	// Budgets of nil mean one of 10%; an empty list means no limit.
	Budgets []DisruptionBudget `json:"budgets,omitzero"`
}

// DisruptionBudget bounds how many nodes of a pool are disrupted at once.
type DisruptionBudget struct {
	// Nodes is a number or a percentage, 10% when absent.
	Nodes *string `json:"nodes,omitempty"`
	// Schedule is a cron line or macro; with Duration it says when the budget counts.
	Schedule *string `json:"schedule,omitempty"`
	Duration *string `json:"duration,omitempty"`
	// Reasons the budget counts for; nil means all, an empty list none.
	Reasons []string `json:"reasons,omitzero"`
	// TimeZone is the IANA name of the schedule's zone, UTC when empty (N13).
	TimeZone string `json:"timeZone,omitempty"`
}

// Policy returns the consolidation policy with its default.
func (s *NodePoolSpec) Policy() string {
	switch {
	case s.Disruption == nil || s.Disruption.ConsolidationPolicy == "", s.Disruption.ConsolidationPolicy == WhenUnderutilized:
		return WhenEmptyOrUnderutilized
	default:
		return s.Disruption.ConsolidationPolicy
	}
}

// ConsolidateAfter returns the quiet time with its default.
func (s *NodePoolSpec) ConsolidateAfter() string {
	if s.Disruption == nil || s.Disruption.ConsolidateAfter == "" {
		return DefaultConsolidateAfter
	}
	return s.Disruption.ConsolidateAfter
}

// ExpireAfter returns a node's lifetime with its default; the template goes first (N2).
func (s *NodePoolSpec) ExpireAfter() string {
	switch {
	case s.Template.Spec.ExpireAfter != "":
		return s.Template.Spec.ExpireAfter
	case s.Disruption != nil && s.Disruption.ExpireAfter != "":
		return s.Disruption.ExpireAfter
	default:
		return DefaultExpireAfter
	}
}

// Budgets returns the budgets with their default.
func (s *NodePoolSpec) Budgets() []DisruptionBudget {
	if s.Disruption == nil || s.Disruption.Budgets == nil {
		return []DisruptionBudget{{Nodes: new(DefaultBudget)}}
	}
	return s.Disruption.Budgets
}

// Limit returns the budget's number of nodes as text, with its default.
func (b *DisruptionBudget) Limit() string {
	if b.Nodes == nil {
		return DefaultBudget
	}
	return *b.Nodes
}
