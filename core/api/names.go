package api

import "strings"

// API groups and kinds of the objects users write.
const (
	GroupPlacement = "placement.kubernetes-fleet.io"
	GroupCluster   = "cluster.kubernetes-fleet.io"
	GroupFlotilla  = "flotilla.io"

	KindClusterResourcePlacement = "ClusterResourcePlacement"
	KindResourcePlacement        = "ResourcePlacement"
	KindMemberCluster            = "MemberCluster"
	KindResourceEnvelope         = "ResourceEnvelope"
	KindClusterResourceEnvelope  = "ClusterResourceEnvelope"
)

// Annotations, a label and a taint of ours on objects that users write or agents make.
const (
	// AnnotationFailoverAfter on a placement is how long a member may be Unknown before its binding
	// is replaced; absent means never.
	AnnotationFailoverAfter = "flotilla.io/failover-after"
	// AnnotationAllowEvicted on a placement lets an evicted member be picked again when nothing else
	// fits (D8).
	AnnotationAllowEvicted = "flotilla.io/allow-evicted"
	// AnnotationProgressDeadline on a placement is for how long no member may advance before its rollout
	// counts as standing still (D26); absent means DefaultProgressDeadline, 0 never.
	AnnotationProgressDeadline = "flotilla.io/progress-deadline"
	// AnnotationPaused on a placement is a Pause as JSON; the hub sets it, and nobody else can.
	AnnotationPaused = "flotilla.io/paused"
	// AnnotationAgentLabels on a MemberCluster lists, comma separated, the label keys its agent may
	// set; "*" stands for any key, "prefix/*" for any key of a prefix.
	AnnotationAgentLabels = "flotilla.io/agent-labels"
	// AnnotationWindows on a strategy of staged runs, or on a run, "true", lets members get content in their maintenance
	// windows alone; what a run says goes before its strategy.
	AnnotationWindows = "flotilla.io/maintenance-windows"
	// AnnotationSet on any object is the set that it was applied with; the hub shows it, and nobody sets it.
	AnnotationSet = "flotilla.io/set"
	// AnnotationOnMembers on content is how it does on how many members; the hub shows it, and nobody sets it.
	AnnotationOnMembers = "flotilla.io/on-members"
	// AnnotationEnvelope on a ConfigMap, "true", says that members are to have the objects in it, and not itself.
	AnnotationEnvelope = "kubernetes-fleet.io/envelope-configmap"
	// LabelMemberName is on every member with its own name, so that selectors can address one member.
	LabelMemberName = "kubernetes-fleet.io/member-name"
	// TaintCordoned is the taint that cordoning a member sets.
	TaintCordoned = "flotilla.io/cordoned"
	// AnnotationOwner on a live object names the placement and its uid, "web/<uid>".
	AnnotationOwner = "flotilla.io/owner"
	// AnnotationDigest on a live object is the digest of the manifest that it was made from.
	AnnotationDigest = "flotilla.io/digest"
)

// Names of member properties.
const (
	PropertyNodeCount    = "kubernetes-fleet.io/node-count"
	PropertyNodeCountAKS = "kubernetes.azure.com/node-count"
	PropertyCPUCost      = "kubernetes.azure.com/per-cpu-core-cost"
	PropertyMemoryCost   = "kubernetes.azure.com/per-gb-memory-cost"
	// PropertyResourcePrefix opens the names of resource properties: total-cpu, allocatable-memory,
	// available-cpu and so on.
	PropertyResourcePrefix = "resources.kubernetes-fleet.io/"
)

// Labels that agents set by themselves when their configuration knows the values.
const (
	LabelLocation       = "fleet.azure.com/location"
	LabelResourceGroup  = "fleet.azure.com/resource-group"
	LabelSubscriptionID = "fleet.azure.com/subscription-id"
)

// CanonicalProperty maps the spellings of one property to a single name (D13).
func CanonicalProperty(name string) string {
	if name == PropertyNodeCountAKS {
		return PropertyNodeCount
	}
	return name
}

// SplitAPIVersion is the group, empty for the core one, and the version that an apiVersion names.
func SplitAPIVersion(apiVersion string) (group, version string) {
	if group, version, grouped := strings.Cut(apiVersion, "/"); grouped {
		return group, version
	}
	return "", apiVersion
}

// Keyed is the name that records of an object carry: "name", and "namespace/name" of one that lies in a namespace.
func Keyed(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
