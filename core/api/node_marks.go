package api

// Marks that carrying out disruptions puts on nodes, beside those that decisions read.
const (
	// AnnotationLaunch is the name of the launch that a node was made by.
	AnnotationLaunch = "flotilla.io/launch"
	// AnnotationStampedPool is the NodePool whose hashes a node carries, AnnotationOriginLabels the labels that
	// it had when it was first seen up, as JSON.
	AnnotationStampedPool  = "flotilla.io/stamped-nodepool"
	AnnotationOriginLabels = "flotilla.io/origin-labels"
	// AnnotationDisruption is the id of the disruption that tainted the node.
	AnnotationDisruption = "flotilla.io/disruption"
	// AnnotationStartupTaints are the taints, "key=value:effect" and separated by commas, that must be
	// gone before the node counts as initialized.
	AnnotationStartupTaints = "flotilla.io/startup-taints"
	// AnnotationAwaitedResources are the extended resources, separated by commas, that must be there
	// before the node counts as initialized.
	AnnotationAwaitedResources = "flotilla.io/awaited-resources"
	// AnnotationExpireAfter and AnnotationTerminationGracePeriod are those of the pool when the node was
	// made, as duration text; the first may be Never.
	AnnotationExpireAfter            = "flotilla.io/expire-after"
	AnnotationTerminationGracePeriod = "flotilla.io/termination-grace-period"
	// AnnotationInstanceTerminating is "true" once the provider was asked to take the machine away.
	AnnotationInstanceTerminating = "flotilla.io/instance-terminating"
)

// TaintUnregistered keeps pods from nodes that nobody has looked at yet; registering a node takes it off.
const TaintUnregistered = "karpenter.sh/unregistered"
