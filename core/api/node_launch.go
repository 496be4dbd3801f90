package api

// NodeLaunch is a node that a provider is to make: what the agent's provider is given, and what the
// command of the exec provider reads on its standard input.
type NodeLaunch struct {
	// Name is unique on the member. It is the same each time the launch is asked for, so that a launch
	// that was begun before is not begun a second time.
	Name   string `json:"name"`
	Member string `json:"member"`
	Pool   string `json:"pool"`
	// NodeClass is the one that the pool refers to.
	NodeClass *NodeClassRef `json:"nodeClassRef,omitempty"`
	// InstanceTypes are cheapest first; any of them will do. Types are the first of them, as the catalog
	// has them.
	InstanceTypes []string          `json:"instanceTypes"`
	Types         []LaunchType      `json:"types,omitempty"`
	Requirements  []NodeRequirement `json:"requirements,omitempty"`
	// Requests are what the pods that are meant for it ask for, its daemons included.
	Requests Amounts `json:"requests,omitempty"`
	// Labels, Annotations and taints are what the agent will put on the node when it shows up. A
	// provider may have it come up with them; then with all of them.
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []NodeTaint       `json:"taints,omitempty"`
	StartupTaints []NodeTaint       `json:"startupTaints,omitempty"`
}

// LaunchedNode is what came of a launch: what the command of the exec provider prints.
type LaunchedNode struct {
	// Node is the name that the Node has or will have. Where a provider does not know it, the node with
	// its ProviderID is meant.
	Node       string `json:"node,omitempty"`
	ProviderID string `json:"providerID,omitempty"`
	// Labels are what the machine is, where its Node does not say so itself: instance type, zone,
	// capacity type.
	Labels map[string]string `json:"labels,omitempty"`
	// KeptBy names who registers the node, drains it and takes its machine away in place of the agent,
	// such as Karpenter; empty for the agent.
	KeptBy string `json:"keptBy,omitempty"`
	// Failed says why there will be no such node: the disruption is given up. What may succeed later is
	// an error instead.
	Failed string `json:"failed,omitempty"`
}

// NodeMachine is the machine of a node, as a provider is asked for it: standard input of the commands of
// the exec provider that delete and look.
type NodeMachine struct {
	Member     string `json:"member"`
	Node       string `json:"node,omitempty"`
	ProviderID string `json:"providerID,omitempty"`
	// Launch is the name of the launch that made it, empty when none did.
	Launch string `json:"launch,omitempty"`
}
