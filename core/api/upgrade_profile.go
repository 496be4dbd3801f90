package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Channels of a profile.
const (
	ChannelStable        = "Stable"                  // newest patch of the second newest minor
	ChannelRapid         = "Rapid"                   // newest patch of the newest minor
	ChannelNodeImage     = "NodeImage"               // newest node images
	ChannelTarget        = "TargetKubernetesVersion" // newest patch of a minor the profile names
	ChannelSecurityPatch = "SecurityPatch"           // images, pools of Linux only
)

// Settings of a profile that say when and how its runs are made.
const (
	TriggerReconcile = "Reconcile" // whenever a member could be moved
	TriggerOnRelease = "OnRelease" // only for versions published after the profile was made

	TriggerFirstRegion      = "FirstRegion"      // once any region has the version
	TriggerAllMemberRegions = "AllMemberRegions" // once all regions of the members have it

	OverlapQueue     = "Queue"     // the newest waits for the active run
	OverlapSupersede = "Supersede" // the active run is stopped, then the newest starts
	OverlapAllow     = "Allow"     // runs overlap; locks of members arbitrate
)

// AutoUpgradeProfile makes a run whenever its channel has a version that a member could be moved to.
type AutoUpgradeProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   AutoUpgradeProfileSpec    `json:"spec"`
	Status *AutoUpgradeProfileStatus `json:"status,omitempty"`
}

// AutoUpgradeProfileSpec is what the user wants of a profile.
type AutoUpgradeProfileSpec struct {
	Channel string `json:"channel"`
	// StrategyName cannot change later; empty: all members one by one.
	StrategyName       string              `json:"strategyName,omitempty"`
	NodeImageSelection *NodeImageSelection `json:"nodeImageSelection,omitempty"`
	// TargetKubernetesVersion is "1.29", for channel TargetKubernetesVersion only.
	TargetKubernetesVersion string `json:"targetKubernetesVersion,omitempty"`
	LongTermSupport         bool   `json:"longTermSupport,omitempty"`
	// Disabled makes no new runs; those that exist go on.
	Disabled      bool          `json:"disabled,omitempty"`
	TriggerMode   string        `json:"triggerMode,omitempty"`   // default Reconcile
	TriggerWhen   string        `json:"triggerWhen,omitempty"`   // default FirstRegion
	OverlapPolicy string        `json:"overlapPolicy,omitempty"` // default Queue
	Policy        *UpdatePolicy `json:"policy,omitempty"`
}

// Trigger statuses.
const (
	TriggerSucceeded = "Succeeded"
	TriggerFailed    = "Failed"
)

// AutoUpgradeProfileStatus is the record profile.<name>, written by the runner alone.
type AutoUpgradeProfileStatus struct {
	Header                     `json:",inline"`
	Profile                    string       `json:"profile"`
	UID                        string       `json:"uid,omitempty"`
	LastTriggeredAt            metav1.Time  `json:"lastTriggeredAt,omitzero"`
	LastTriggerStatus          string       `json:"lastTriggerStatus,omitempty"`
	LastTriggerError           *UpdateError `json:"lastTriggerError,omitempty"`
	LastTriggerUpgradeVersions []string     `json:"lastTriggerUpgradeVersions,omitempty"`
	LastTriggerMessage         string       `json:"lastTriggerMessage,omitempty"`
}
