package schedule

import (
	"time"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// Input is everything a decision depends on.
type Input struct {
	// Placement is the placement's key, "web" or "ns/web".
	Placement string
	UID       string
	// Generation is that of the placement's spec.
	Generation int64
	// Namespace is that of a ResourcePlacement, which members must have; empty for others.
	Namespace string
	// Policy is as the user wrote it; nil means PickAll.
	Policy *api.Policy
	// PolicyDigest is PolicyDigest(Policy); it is computed when empty.
	PolicyDigest string
	Fleet        *Fleet
	// Existing bindings, at most one a member, in any order.
	Existing []Existing
	// Evicted members are not picked again under this policy (D8); their bindings are removed.
	Evicted []string
	// AllowEvicted lets evicted members be picked when nothing else fits, once they gave the placement up.
	AllowEvicted bool
	// Drained members lose their bindings; that they are tainted so keeps them from being picked again.
	Drained []string
	// FailoverAfter is how long a member may be out of contact, beyond Thresholds.Heartbeat, before
	// a PickN replaces it; 0 means never. The other types replace nobody.
	FailoverAfter time.Duration
	// Deleting placements lose every binding.
	Deleting   bool
	Now        time.Time
	Thresholds Thresholds
}

// Thresholds are the ages beyond which a member is not eligible (D21). Zero values mean five minutes.
type Thresholds struct {
	Heartbeat time.Duration // since the last heartbeat
	Unhealthy time.Duration // since the member turned unhealthy
}

const defaultThreshold = 5 * time.Minute

func (t Thresholds) orDefault() Thresholds {
	if t.Heartbeat == 0 {
		t.Heartbeat = defaultThreshold
	}
	if t.Unhealthy == 0 {
		t.Unhealthy = defaultThreshold
	}
	return t
}

// Existing is one binding as it stands.
type Existing struct {
	Member string
	// Policy is the digest it was picked under; empty means the current one. A binding under another
	// digest is obsolete.
	Policy string
	// State is Scheduled, Bound, or Unscheduled for one that is being withdrawn.
	State api.BindingState
	// AffinityScore and SpreadScore are those of the moment it was picked, nil when unknown.
	AffinityScore *int32
	SpreadScore   *int32
}

// Plan is a decision.
type Plan struct {
	// Bindings are the members the placement goes to, by name. Those that Wait (D3) are not picked
	// but keep their workload. Reason is set on waiting ones; Schedule fills it for all.
	Bindings []api.Binding
	// Removed are the bindings that existed and are no longer wanted, by member.
	Removed []Removal
	// Verdicts has one for every member of the fleet.
	Verdicts  verdict.Verdicts
	Fulfilled bool
	// Message is KubeFleet's sentence for the condition Scheduled.
	Message string
	// Unpicked says, for up to as many members as are missing, why they were not picked.
	Unpicked []api.Unpicked
	// Recheck is when time alone can change the decision; zero when it cannot.
	Recheck time.Time
}

// Removal is one binding that goes, and why.
type Removal struct {
	Member string
	Reason string
}
