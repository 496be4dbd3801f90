package api

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The kinds of overrides.
const (
	KindClusterResourceOverride = "ClusterResourceOverride"
	KindResourceOverride        = "ResourceOverride"
)

// Bounds of overrides, KubeFleet's.
const (
	MaxOverrideSelectors = 20
	MaxOverrideRules     = 20
	MaxOverridePatches   = 20
	// MaxOverrides is how many ClusterResourceOverrides a fleet may have, and how many ResourceOverrides a namespace.
	MaxOverrides = 100
)

// MaxOverrideValues is how many values the patches of one override have together, each item of a list and each field of a map being one:
// they are held in memory for all who follow overrides, where a small one takes a hundred times what it does as text.
const MaxOverrideValues = 10_000

// ClusterResourceOverride changes objects outside namespaces, and all that lies in a namespace, on some members.
// Shape from KubeFleet, placement.kubernetes-fleet.io/v1 and v1beta1.
type ClusterResourceOverride struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec ClusterResourceOverrideSpec `json:"spec"`
}

// ClusterResourceOverrideSpec says which objects are changed, and how.
type ClusterResourceOverrideSpec struct {
	Placement                *ClusterOverridePlacement `json:"placement,omitempty"`
	ClusterResourceSelectors []OverrideSelector        `json:"clusterResourceSelectors"`
	Policy                   OverridePolicy            `json:"policy"`
}

// ResourceOverride changes objects of its namespace on some members. Shape from KubeFleet.
type ResourceOverride struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec ResourceOverrideSpec `json:"spec"`
}

// ResourceOverrideSpec says which objects are changed, and how.
type ResourceOverrideSpec struct {
	Placement         *OverridePlacement `json:"placement,omitempty"`
	ResourceSelectors []OverrideSelector `json:"resourceSelectors"`
	Policy            OverridePolicy     `json:"policy"`
}

// Scopes of the placement of an override.
const (
	OverrideScopeCluster    = "Cluster"
	OverrideScopeNamespaced = "Namespaced"
)

// OverridePlacement is the one placement that an override is for: a ClusterResourcePlacement, or, where Scope is
// Namespaced, a ResourcePlacement in the namespace of the override.
type OverridePlacement struct {
	Name  string `json:"name"`
	Scope string `json:"scope,omitempty"`
}

// ClusterOverridePlacement is the one that a ClusterResourceOverride is for, whose Scope is Cluster.
type ClusterOverridePlacement struct {
	Name  string `json:"name"`
	Scope string `json:"scope,omitempty"`
}

// Any is it as that of any override, nil for none.
func (p *ClusterOverridePlacement) Any() *OverridePlacement { return (*OverridePlacement)(p) }

// OverrideSelector names one object. The version is not compared: the hub does not convert objects.
type OverrideSelector struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
}

// Same says that both name one object.
func (s OverrideSelector) Same(other OverrideSelector) bool {
	return s.Group == other.Group && s.Kind == other.Kind && s.Name == other.Name
}

// String is "Kind/name".
func (s OverrideSelector) String() string { return s.Kind + "/" + s.Name }

// OverridePolicy holds rules, of which those that match a member are followed in their order.
type OverridePolicy struct {
	OverrideRules []OverrideRule `json:"overrideRules"`
}

// What rules do with objects.
const (
	OverrideJSONPatch = "JSONPatch"
	OverrideDelete    = "Delete"
)

// OverrideRule says what becomes of objects on the members that it matches.
type OverrideRule struct {
	// ClusterSelector nil matches no member, one without terms all of them.
	ClusterSelector    *OverrideClusterSelector `json:"clusterSelector,omitempty"`
	OverrideType       string                   `json:"overrideType,omitempty"`
	JSONPatchOverrides []JSONPatchOverride      `json:"jsonPatchOverrides,omitempty"`
}

// Deletes says that the rule leaves objects out.
func (r *OverrideRule) Deletes() bool { return r.OverrideType == OverrideDelete }

// OverrideClusterSelector matches a member that matches any of its terms, of which each has a label selector.
type OverrideClusterSelector struct {
	ClusterSelectorTerms []ClusterSelectorTerm `json:"clusterSelectorTerms,omitempty"`
}

// Operations of patches.
const (
	PatchAdd     = "add"
	PatchRemove  = "remove"
	PatchReplace = "replace"
)

// JSONPatchOverride is one operation of RFC 6902. Value may hold variables in its texts.
type JSONPatchOverride struct {
	Op    string                `json:"op"`
	Path  string                `json:"path"`
	Value *runtime.RawExtension `json:"value,omitempty"`
}

// Variables in the values of patches: the name of the member, and, up to the next VariableEnd, the value of its label
// of the key that follows VariableLabel.
const (
	VariableName  = "${MEMBER-CLUSTER-NAME}"
	VariableLabel = "${MEMBER-CLUSTER-LABEL-KEY-"
	VariableEnd   = "}"
)

// OverrideName is how people call an override of a key: "ResourceOverride/namespace/name".
func OverrideName(key string) string {
	if strings.Contains(key, "/") {
		return KindResourceOverride + "/" + key
	}
	return KindClusterResourceOverride + "/" + key
}

// OverrideVersion is one state of an override.
type OverrideVersion struct {
	// Name is its key: "name", or "namespace/name".
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	// AtOnce says that it is for one placement, where a change of it goes out without waiting for other changes.
	AtOnce bool `json:"atOnce,omitempty"`
}

// Rendered is the record rendered.<placement>, written by the renderer alone: what overrides make of the newest snapshot
// on each bound member. A placement whose objects no override changes has none.
type Rendered struct {
	Header
	Placement string `json:"placement"`
	UID       string `json:"uid"` // of the placement
	// Snapshot is the index of the snapshot that was rendered, Base its work; 0 when only Works is of use.
	Snapshot int64  `json:"snapshot,omitempty"`
	Base     string `json:"base,omitempty"`
	// Overrides are those that select objects of the snapshot, in the order in which they are followed.
	Overrides []OverrideVersion `json:"overrides,omitempty"`
	// Works are those that were made: of the members below, and of what members were released earlier.
	Works []RenderedWork `json:"works,omitempty"`
	// Members are sorted by name.
	Members []RenderedMember `json:"members,omitempty"`
}

// RenderedWork is a work that was made of that of a snapshot.
type RenderedWork struct {
	Work string `json:"work"`
	// Packs are the digests of further works that were made to carry what it does not.
	Packs []string `json:"packs,omitempty"`
}

// RenderedMember is what overrides come to on one member.
type RenderedMember struct {
	Member string `json:"member"`
	// Work is that of the snapshot where the rules change nothing. Empty: Failure says why there is none.
	Work string `json:"work,omitempty"`
	// Overrides are those with a rule that matches the member, as places in Rendered.Overrides.
	Overrides []int `json:"overrides,omitempty"`
	// Failure is "ClusterResourceOverride/eu: Deployment/shop/web: spec.policy.…: what is wrong".
	Failure string `json:"failure,omitempty"`
}
