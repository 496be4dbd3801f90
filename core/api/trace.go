package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VerbTrace asks how long the last change of a placement took to get where, VerbHistory for what became of a placement.
const (
	VerbTrace   = "trace"
	VerbHistory = "history"
)

// TraceRequest asks how the last change of the placement Object came to its members, or to one of them.
type TraceRequest struct {
	Object ObjectRef `json:"object"`
	Member string    `json:"member,omitempty"`
}

// Hops of a change on its way to a member and back, in their order.
const (
	HopApply     = "apply"     // the change was accepted
	HopSnapshot  = "snapshot"  // what is selected was cut
	HopSchedule  = "schedule"  // the member was picked, or no longer
	HopRender    = "render"    // overrides were followed
	HopRun       = "run"       // a staged run was started
	HopGate      = "gate"      // its stage began
	HopRelease   = "release"   // the member may run it
	HopCommand   = "command"   // its index is stored
	HopReceived  = "received"  // its agent has it
	HopApplied   = "applied"   // all is written
	HopAvailable = "available" // all is available
	HopReported  = "reported"  // the hub can read that
)

// Hops are all of them.
func Hops() []string {
	return []string{
		HopApply, HopSnapshot, HopSchedule, HopRender, HopRun, HopGate, HopRelease, HopCommand, HopReceived, HopApplied, HopAvailable, HopReported,
	}
}

// States of a hop.
const (
	HopDone    = "Done"
	HopBefore  = "Before"  // it was so before the change
	HopWaits   = "Waits"   // it is the next, and Note says what for
	HopPending = "Pending" // it comes after one that waits
	HopUnknown = "Unknown" // it happened, and when is not kept
)

// Trace is how the last change of a placement came to its members.
type Trace struct {
	Placement string           `json:"placement"`
	Now       metav1.MicroTime `json:"now"`
	Change    TracedChange     `json:"change"`
	// KeptFrom is from when on events are kept.
	KeptFrom metav1.MicroTime `json:"keptFrom,omitzero"`
	// Members are those of the placement, the slowest first; Done counts those at the end of their way.
	Members []TracedMember `json:"members"`
	Total   int            `json:"total"`
	Done    int            `json:"done"`
	// Hops are over all members that took them, in order.
	Hops []HopSummary `json:"hops"`
	// Status is when the status of the placement said first that all is available, zero while it does not.
	Status metav1.MicroTime `json:"status,omitzero"`
	Notes  []string         `json:"notes,omitempty"`
}

// TracedChange is what is on its way.
type TracedChange struct {
	// Snapshot is what members are to run, Generation that of the spec.
	Snapshot   int64 `json:"snapshot"`
	Generation int64 `json:"generation"`
	// At is when the newest of the two was stored, By who caused that, where that is known.
	At   metav1.MicroTime `json:"at,omitzero"`
	By   string           `json:"by,omitempty"`
	What string           `json:"what"`
}

// TracedMember is how a change came to one member.
type TracedMember struct {
	Member string `json:"member"`
	// Leaves says that the member is to give the placement up.
	Leaves bool `json:"leaves,omitempty"`
	Done   bool `json:"done"`
	// TookMs is from the first hop to the last one that is done, SinceMs from the first to now.
	TookMs  int64 `json:"tookMs"`
	SinceMs int64 `json:"sinceMs"`
	Hops    []Hop `json:"hops"`
	// Clock is how the agent's clock goes, nil where nothing tells.
	Clock *AgentClock `json:"clock,omitempty"`
}

// Hop is one step.
type Hop struct {
	Hop   string `json:"hop"`
	State string `json:"state"`
	// At is when it happened, by the broker's clock. TookMs is the time since the hop before that is done.
	At     metav1.MicroTime `json:"at,omitzero"`
	TookMs int64            `json:"tookMs"`
	// Latest says that it happened then at the latest, Second that only the second is known.
	Latest bool `json:"latest,omitempty"`
	Second bool `json:"second,omitempty"`
	// Stated is what the agent's clock said, where At is not that.
	Stated metav1.MicroTime `json:"stated,omitzero"`
	Note   string           `json:"note,omitempty"`
}

// AgentClock is how far the clock of an agent is ahead of the broker's, negative where it is behind.
type AgentClock struct {
	AheadMs int64 `json:"aheadMs"`
	// By says what tells: "heartbeat", "result", or "command".
	By string `json:"by"`
	// Turned says that it was set while the change was on its way.
	Turned bool `json:"turned,omitempty"`
}

// HopSummary is how long a hop took over members.
type HopSummary struct {
	Hop     string `json:"hop"`
	Members int    `json:"members"`
	P50Ms   int64  `json:"p50Ms"`
	P90Ms   int64  `json:"p90Ms"`
	MaxMs   int64  `json:"maxMs"`
	Slowest string `json:"slowest"`
}
