package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Placement is a ClusterResourcePlacement or a ResourcePlacement: what to place, where, and how to
// roll it out. Shape from KubeFleet, placement.kubernetes-fleet.io/v1 and v1beta1.
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   PlacementSpec    `json:"spec"`
	Status *PlacementStatus `json:"status,omitempty"`
}

// Key is the name that records of this placement carry: the name of a ClusterResourcePlacement,
// "namespace/name" of a ResourcePlacement.
func (p *Placement) Key() string { return Keyed(p.Namespace, p.Name) }

// External says that staged runs, and nobody else, give members what the placement selects.
func (p *Placement) External() bool { return p.Spec.Strategy.Type == StrategyExternal }

// PlacementSpec is what the user wants of a placement.
type PlacementSpec struct {
	ResourceSelectors    []ResourceSelector `json:"resourceSelectors"`
	Policy               *Policy            `json:"policy,omitempty"`
	Strategy             Strategy           `json:"strategy,omitzero"`
	RevisionHistoryLimit *int32             `json:"revisionHistoryLimit,omitempty"`
	StatusReportingScope string             `json:"statusReportingScope,omitempty"`
}

// Selection scopes of a selector of kind Namespace.
const (
	ScopeNamespaceOnly                  = "NamespaceOnly"
	ScopeNamespaceWithResources         = "NamespaceWithResources"
	ScopeNamespaceWithResourceSelectors = "NamespaceWithResourceSelectors"
)

// ResourceSelector selects objects held by the hub, by name, by label, or all of a kind.
type ResourceSelector struct {
	Group          string                `json:"group"`
	Version        string                `json:"version"`
	Kind           string                `json:"kind"`
	Name           string                `json:"name,omitempty"`
	LabelSelector  *metav1.LabelSelector `json:"labelSelector,omitempty"`
	SelectionScope string                `json:"selectionScope,omitempty"`
}

// PlacementType says how members are picked.
type PlacementType string

// The placement types.
const (
	PickAll   PlacementType = "PickAll"
	PickN     PlacementType = "PickN"
	PickFixed PlacementType = "PickFixed"
)

// Policy says which members a placement goes to. A nil policy is PickAll.
type Policy struct {
	PlacementType             PlacementType              `json:"placementType,omitempty"`
	ClusterNames              []string                   `json:"clusterNames,omitempty"`
	NumberOfClusters          *int32                     `json:"numberOfClusters,omitempty"`
	Affinity                  *Affinity                  `json:"affinity,omitempty"`
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Tolerations               []Toleration               `json:"tolerations,omitempty"`
}

// Type returns the placement type with its default.
func (p *Policy) Type() PlacementType {
	if p == nil || p.PlacementType == "" {
		return PickAll
	}
	return p.PlacementType
}

// Affinity holds member affinity.
type Affinity struct {
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`
}

// ClusterAffinity has required terms, which filter, and preferred terms, which score.
type ClusterAffinity struct {
	Required  *ClusterSelector       `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	Preferred []PreferredClusterTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// ClusterSelector matches a member that matches any of its terms; without terms it matches all.
type ClusterSelector struct {
	ClusterSelectorTerms []ClusterSelectorTerm `json:"clusterSelectorTerms"`
}

// ClusterSelectorTerm matches by labels and properties, or, in a preferred term, sorts by one
// property. MetricSorter is the older spelling of PropertySorter; both mean the same (D15).
type ClusterSelectorTerm struct {
	LabelSelector    *metav1.LabelSelector `json:"labelSelector,omitempty"`
	PropertySelector *PropertySelector     `json:"propertySelector,omitempty"`
	PropertySorter   *PropertySorter       `json:"propertySorter,omitempty"`
	MetricSorter     *PropertySorter       `json:"metricSorter,omitempty"`
}

// Sorter returns the sorter under either spelling.
func (t *ClusterSelectorTerm) Sorter() *PropertySorter {
	if t.PropertySorter != nil {
		return t.PropertySorter
	}
	return t.MetricSorter
}

// PreferredClusterTerm adds up to Weight, -100 to 100, to the score of members that match.
type PreferredClusterTerm struct {
	Weight     int32               `json:"weight"`
	Preference ClusterSelectorTerm `json:"preference"`
}

// PropertySelector matches when all its expressions do.
type PropertySelector struct {
	MatchExpressions []PropertyExpression `json:"matchExpressions"`
}

// PropertyExpression compares one property with exactly one quantity.
type PropertyExpression struct {
	Name     string           `json:"name"`
	Operator PropertyOperator `json:"operator"`
	Values   []string         `json:"values"`
}

// PropertyOperator compares the observed quantity (left) with the wanted one (right).
type PropertyOperator string

// The property operators.
const (
	OpGt PropertyOperator = "Gt"
	OpGe PropertyOperator = "Ge"
	OpEq PropertyOperator = "Eq"
	OpNe PropertyOperator = "Ne"
	OpLt PropertyOperator = "Lt"
	OpLe PropertyOperator = "Le"
)

// Sort orders.
const (
	Ascending  = "Ascending"
	Descending = "Descending"
)

// PropertySorter prefers higher (Descending) or lower (Ascending) values of a property.
type PropertySorter struct {
	Name      string `json:"name"`
	SortOrder string `json:"sortOrder"`
}

// Answers to a spread constraint that cannot be met.
const (
	DoNotSchedule  = "DoNotSchedule"
	ScheduleAnyway = "ScheduleAnyway"
)

// TopologySpreadConstraint spreads picks evenly over the values of a member label.
type TopologySpreadConstraint struct {
	MaxSkew           *int32 `json:"maxSkew,omitempty"`
	TopologyKey       string `json:"topologyKey"`
	WhenUnsatisfiable string `json:"whenUnsatisfiable,omitempty"`
}

// EffectNoSchedule is the only taint effect.
const EffectNoSchedule = "NoSchedule"

// Taint keeps placements without a matching toleration off a member.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// String is the taint as kubectl writes it: key=value:effect, or key:effect without a value.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

// Toleration operators.
const (
	TolerationEqual  = "Equal"
	TolerationExists = "Exists"
)

// Toleration tolerates matching taints.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

// Rollout strategy types.
const (
	StrategyRollingUpdate = "RollingUpdate"
	StrategyExternal      = "External"
)

// Strategy says how changed content moves over the picked members.
type Strategy struct {
	Type               string              `json:"type,omitempty"`
	RollingUpdate      *RollingUpdate      `json:"rollingUpdate,omitempty"`
	ApplyStrategy      *ApplyStrategy      `json:"applyStrategy,omitempty"`
	DeleteStrategy     *DeleteStrategy     `json:"deleteStrategy,omitempty"`
	ReportBackStrategy *ReportBackStrategy `json:"reportBackStrategy,omitempty"`
}

// RollingUpdate bounds how many members change at once. Percentages are of the wanted number of
// members and round up.
type RollingUpdate struct {
	MaxUnavailable           *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	MaxSurge                 *intstr.IntOrString `json:"maxSurge,omitempty"`
	UnavailablePeriodSeconds *int32              `json:"unavailablePeriodSeconds,omitempty"`
}

// ApplyStrategy says how an agent writes objects into its member.
type ApplyStrategy struct {
	Type                  string                 `json:"type,omitempty"`
	ComparisonOption      string                 `json:"comparisonOption,omitempty"`
	WhenToApply           string                 `json:"whenToApply,omitempty"`
	WhenToTakeOver        string                 `json:"whenToTakeOver,omitempty"`
	AllowCoOwnership      bool                   `json:"allowCoOwnership,omitempty"`
	ServerSideApplyConfig *ServerSideApplyConfig `json:"serverSideApplyConfig,omitempty"`
}

// ServerSideApplyConfig configures apply strategy ServerSideApply.
type ServerSideApplyConfig struct {
	Force bool `json:"force,omitempty"`
}

// Propagation policies of a DeleteStrategy.
const (
	PropagationDelete  = "Delete"
	PropagationAbandon = "Abandon"
)

// DeleteStrategy says what becomes of placed objects when their placement is deleted (D9).
type DeleteStrategy struct {
	PropagationPolicy string `json:"propagationPolicy,omitempty"`
}

// ReportBackStrategy is accepted with type Disabled only.
type ReportBackStrategy struct {
	Type        string `json:"type,omitempty"`
	Destination string `json:"destination,omitempty"`
}

// Defaults of a placement, from KubeFleet.
const (
	DefaultMaxUnavailable           = "25%"
	DefaultMaxSurge                 = "25%"
	DefaultUnavailablePeriodSeconds = 60
	DefaultRevisionHistoryLimit     = 10
	DefaultMaxSkew                  = 1
)

// Values that a field takes when it is absent, and the alternatives to them.
const (
	StatusScopeCluster    = "ClusterScopeOnly"
	StatusScopeNamespace  = "NamespaceAccessible"
	ApplyClientSide       = "ClientSideApply"
	ApplyServerSide       = "ServerSideApply"
	ApplyReportDiff       = "ReportDiff"
	ComparePartial        = "PartialComparison"
	CompareFull           = "FullComparison"
	WhenToApplyAlways     = "Always"
	WhenToApplyIfNotDrift = "IfNotDrifted"
	TakeOverAlways        = "Always"
	TakeOverIfNoDiff      = "IfNoDiff"
	TakeOverNever         = "Never"
	ReportBackDisabled    = "Disabled"
	ReportBackMirror      = "Mirror"
	ValidationStrict      = "Strict"
	ValidationSkip        = "Skip"
	DefaultHeartbeat      = 60 // seconds, MemberCluster's heartbeatPeriodSeconds
)
