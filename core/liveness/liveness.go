package liveness

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/core/pace"
)

// Reasons of the states.
const (
	ReasonNotAdmitted = "NotAdmitted"
	ReasonNeverSeen   = "NeverSeen"
	ReasonHealthy     = "Healthy"
	ReasonUnhealthy   = "Unhealthy"
	ReasonNoHeartbeat = "NoHeartbeat"
	ReasonLeaving     = "Leaving"
	ReasonRevoked     = api.CredentialsRevoked
	ReasonTwoAgents   = "TwoAgents"
)

// Thresholds are the ages that decide.
type Thresholds struct {
	// Timeout is the age of a heartbeat beyond which, strictly, its member is Unknown (D21).
	Timeout time.Duration
	// Grace is for how long states hold after heartbeats became readable again: an outage of the
	// broker must not look like a dead fleet. It is to be longer than agents take to reconnect and
	// beat.
	Grace time.Duration
	// Properties is the least time between two writes of a record for the sake of properties alone.
	Properties time.Duration
	// Changes is how often a change that a member causes by itself is followed.
	Changes pace.Rate
}

// DefaultThresholds are those of the hub unless its options say otherwise.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Timeout: 5 * time.Minute, Grace: time.Minute, Properties: 15 * time.Second,
		Changes: pace.Rate{Burst: 32, Every: 10 * time.Second},
	}
}

// Input is what is known of one member. Nothing in it is changed.
type Input struct {
	Name string
	// Spec is the user's side, deleting when its DeletionTimestamp is set; nil while nobody admitted
	// the member.
	Spec *api.MemberCluster
	// Heartbeat is the newest one, nil when there is none, and Age its age.
	Heartbeat *api.Heartbeat
	Age       time.Duration
	// Garbled says that there is a newest one of that age and that it cannot be read; Heartbeat is nil then.
	Garbled bool
	// Previous is the record as it stands, nil when there is none.
	Previous *api.MemberRecord
	// DoubledUntil is until when two agents count as proving themselves as this member; zero when they do not.
	DoubledUntil time.Time
	// Identity is how its agent proves who it is, nil where the hub does not know.
	Identity *api.Identity
	// ReadableSince is when heartbeats became readable; zero while they are not.
	ReadableSince time.Time
	// Following is that of the last Plan that was carried out by this process.
	Following Following
	// Written is when the record was last written by this process; zero when it was not.
	Written    time.Time
	Thresholds Thresholds
	Now        time.Time
}

// Verdict is the one word on a member, why, and when time alone may change it; zero when only a
// heartbeat or a user can.
type Verdict struct {
	State   api.MemberState
	Reason  string
	Message string
	Recheck time.Time
}

// Judge says how a member does.
func Judge(in Input) Verdict {
	switch {
	case in.Spec == nil:
		return Verdict{
			State: api.MemberJoining, Reason: ReasonNotAdmitted, Recheck: in.turns(),
			Message: "its agent sends heartbeats, but nobody admitted it; to admit it: flotilla member admit " + in.Name,
		}
	case in.Spec.DeletionTimestamp != nil:
		return Verdict{State: api.MemberLeaving, Reason: ReasonLeaving, Message: leavingText(in.Spec)}
	case !in.everSeen():
		return Verdict{
			State: api.MemberJoining, Reason: ReasonNeverSeen,
			Message: fmt.Sprintf("no heartbeat yet; its agent enrols with a token: flotilla member enrol %s > %s.token", in.Name, in.Name),
		}
	case in.Heartbeat == nil && in.Identity != nil && in.Identity.Revoked != nil:
		return Verdict{State: api.MemberUnknown, Reason: ReasonRevoked, Message: enrolment.RevokedText(in.Identity)}
	case in.silent():
		return in.judgeSilent()
	case in.Now.Before(in.DoubledUntil):
		return Verdict{State: api.MemberNotReady, Reason: ReasonTwoAgents, Message: twoAgentsText(in.Name), Recheck: earlier(in.turns(), in.DoubledUntil)}
	case !in.Heartbeat.Healthy:
		return Verdict{State: api.MemberNotReady, Reason: ReasonUnhealthy, Message: unhealthyText(in.Heartbeat), Recheck: in.turns()}
	}
	return Verdict{State: api.MemberReady, Reason: ReasonHealthy, Message: "sends heartbeats and is healthy", Recheck: in.turns()}
}

// judgeSilent holds the state of a member that is not heard of while that may be the broker's fault.
func (in *Input) judgeSilent() Verdict {
	lost := Verdict{
		State: api.MemberUnknown, Reason: ReasonNoHeartbeat,
		Message: fmt.Sprintf("no heartbeat for more than %s, last at %s", in.Thresholds.Timeout, in.lastSeen().UTC().Format(time.RFC3339)),
	}
	p := in.Previous
	if p != nil && p.State == api.MemberUnknown {
		lost.Message = p.Message
		return lost
	}
	if p == nil || !in.graced() {
		return lost
	}
	held := Verdict{State: p.State, Reason: p.Reason, Message: p.Message}
	if !in.ReadableSince.IsZero() {
		held.Recheck = in.ReadableSince.Add(in.Thresholds.Grace)
	}
	return held
}

func (in *Input) everSeen() bool {
	return in.Heartbeat != nil || in.Previous != nil && !in.Previous.LastSeen.IsZero()
}

// silent says that the last heartbeat is too old, or was lost with its bucket.
func (in *Input) silent() bool {
	return in.Heartbeat == nil || in.Age > in.Thresholds.Timeout
}

// graced says that heartbeats cannot be read, or not for long enough to miss one.
func (in *Input) graced() bool {
	return in.ReadableSince.IsZero() || in.Now.Before(in.ReadableSince.Add(in.Thresholds.Grace))
}

// lastSeen is by the hub's clock.
func (in *Input) lastSeen() time.Time {
	if in.Heartbeat == nil {
		if in.Previous == nil {
			return time.Time{}
		}
		return in.Previous.LastSeen.Time
	}
	return in.Now.Add(-in.Age)
}

// turns is when a member that is heard of now becomes Unknown without another heartbeat.
func (in *Input) turns() time.Time {
	if in.silent() {
		return time.Time{}
	}
	return in.lastSeen().Add(in.Thresholds.Timeout + time.Millisecond)
}

func leavingText(spec *api.MemberCluster) string {
	if spec.Spec.DeleteOptions != nil && spec.Spec.DeleteOptions.WhenLeaving == api.WhenLeavingDelete {
		return "leaves the fleet; what was placed there is deleted first"
	}
	return "leaves the fleet; what was placed there stays"
}

func twoAgentsText(name string) string {
	return fmt.Sprintf("two agents prove themselves as this member in turn, one of them from a copy of the data directory or with a stolen key: stop it; "+
		"where it is not known, flotilla member revoke %s refuses both, and the right one enrols anew", name)
}

func unhealthyText(h *api.Heartbeat) string {
	if h.Message == "" {
		return "its agent says that the member is not healthy"
	}
	return "its agent says: " + h.Message
}
