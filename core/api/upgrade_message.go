package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemberInventory is what an agent says of its member that upgrades depend on. It is the payload of
// event.<member>.inventory.
type MemberInventory struct {
	Header
	Member string `json:"member"`
	// ClusterResourceID identifies the cluster behind the member for ever.
	ClusterResourceID   string          `json:"clusterResourceId,omitempty"`
	Region              string          `json:"region,omitempty"`
	ControlPlaneVersion string          `json:"controlPlaneVersion,omitempty"`
	NodePools           []NodePoolFacts `json:"nodePools,omitempty"`
	// PowerState is Running (also when empty) or Stopped.
	PowerState string `json:"powerState,omitempty"`
	// CurrentOperation names an operation of anybody that runs on the member now; an operation of
	// ours carries its operation id.
	CurrentOperation string `json:"currentOperation,omitempty"`
	// LongTermSupport says that the member is on a long term support plan.
	LongTermSupport bool `json:"longTermSupport,omitempty"`
	// Maintenance is what the member's own provider knows; a MemberMaintenance of the fleet wins.
	Maintenance *MaintenanceConfiguration `json:"maintenance,omitempty"`
	Observed    metav1.Time               `json:"observed,omitzero"`
}

// PowerStopped is the power state of a member that is switched off.
const PowerStopped = "Stopped"

// NodePoolFacts is one node pool as observed.
type NodePoolFacts struct {
	Name              string `json:"name"`
	Mode              string `json:"mode,omitempty"` // System or User
	OSType            string `json:"osType,omitempty"`
	OSSKU             string `json:"osSku,omitempty"`
	ImageFamily       string `json:"imageFamily,omitempty"`
	NodeImageVersion  string `json:"nodeImageVersion,omitempty"` // full image name
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	FromSnapshot      bool   `json:"fromSnapshot,omitempty"`
}

// UpgradeCommand is the whole wanted upgrade of one member, on command.<member>.upgrade. An agent
// executes an operation at most once and answers a repeat with what it knows. Without Operation
// there is nothing to do; what runs already is left to finish.
type UpgradeCommand struct {
	Header
	Member    string            `json:"member"`
	Order     Order             `json:"order"`
	Operation *UpgradeOperation `json:"operation,omitempty"`
}

// UpgradeOperation is one attempt to upgrade a member. The order inside it is control plane first,
// then the pools one after another, as listed.
type UpgradeOperation struct {
	ID      string `json:"id"`
	Run     string `json:"run"`
	Attempt int    `json:"attempt"`
	Type    string `json:"type"`
	// ControlPlaneVersion to move to; empty leaves it.
	ControlPlaneVersion       string        `json:"controlPlaneVersion,omitempty"`
	NodePools                 []PoolUpgrade `json:"nodePools,omitempty"`
	DisableUnattendedUpgrades bool          `json:"disableUnattendedUpgrades,omitempty"`
	// Checks is the policy of preflight and post checks: Block, Warn or Ignore.
	Checks         string `json:"checks,omitempty"`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty"`
}

// Outcomes of an operation.
const (
	OutcomeRunning   = "Running"
	OutcomeSucceeded = "Succeeded"
	OutcomeFailed    = "Failed"
	OutcomeBlocked   = "Blocked" // preflight found something; nothing was changed
)

// UpgradeResult is a result of kind upgrade, named by the run, in a ResultBatch.
type UpgradeResult struct {
	Header
	Member    string `json:"member"`
	Run       string `json:"run"`
	Operation string `json:"operation"`
	Outcome   string `json:"outcome"`
	// Reason is UpgradeFailed, HealthCheckFailed or AgentRejected when the outcome is Failed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Percent is how far a running operation is, 0 to 100.
	Percent int         `json:"percent,omitempty"`
	At      metav1.Time `json:"at"`
	// Pools lists the pools that were moved before the operation ended.
	Pools []string `json:"pools,omitempty"`
}

// MemberLock is the record lock.<member>: who may change the member now. It is created, never
// overwritten; a lock whose agent is silent is released LockGrace after the last heartbeat (A56).
type MemberLock struct {
	Header
	Member string `json:"member"`
	// Holder is the id of the operation, "<run uid>/<member>/<attempt>"; Owner names its run for people.
	Holder string      `json:"holder"`
	Owner  string      `json:"owner"`
	Since  metav1.Time `json:"since"`
}
