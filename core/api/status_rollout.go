package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultProgressDeadline is for how long no member may advance before a rollout counts as standing
// still (D26).
const DefaultProgressDeadline = 10 * time.Minute

// ReasonDeadlineExceeded is of the condition RolloutProgressing of a rollout that stands still.
const ReasonDeadlineExceeded = "ProgressDeadlineExceeded"

// Reasons of the condition RolloutProgressing of a rollout under a RolloutCheck.
const (
	ReasonRolloutChecking       = "RolloutChecking"
	ReasonRolloutChecksFailed   = "RolloutChecksFailed"
	ReasonRolloutRollingBack    = "RolloutRollingBack"
	ReasonRolloutRolledBack     = "RolloutRolledBack"
	ReasonRolloutRollBackFailed = "RolloutRollBackFailed"
)

// ReasonRolloutExternal is of the condition RolloutStarted of a placement whose members hold several snapshots, as staged
// runs gave them.
const ReasonRolloutExternal = "RolloutControlledByExternalController"

// Rollout says how the newest snapshot gets to the members.
type Rollout struct {
	// Snapshot is the index of what is rolled out.
	Snapshot int64 `json:"snapshot"`
	// Since is when a member last advanced: it was given the snapshot, became available on it, or gave the
	// placement up. Once the rollout is complete it is when it was.
	Since metav1.Time `json:"since"`
	// Complete says that every picked member ran the snapshot and was available on it.
	Complete bool `json:"complete,omitempty"`
	// Deadline is when the rollout counts as standing still unless a member advances; nil when it does not
	// because it is complete, waits by its own settings, or is to wait for ever.
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// HeldUpBy are the first members that the others wait for, HeldUpTotal counts all of them.
	HeldUpBy    []HeldUp `json:"heldUpBy,omitempty"`
	HeldUpTotal int      `json:"heldUpTotal,omitempty"`
	// Message says in one sentence what the rollout waits for; empty once it is complete.
	Message string `json:"message,omitempty"`
	// Guarded says that freezes, or withdrawals that are held, keep members from moving.
	Guarded bool `json:"guarded,omitempty"`
}

// HeldUp is one member that a rollout waits for.
type HeldUp struct {
	ClusterName string `json:"clusterName"`
	// Since is when the member was given what it has not come to run.
	Since metav1.Time `json:"since,omitzero"`
	// Kind, Namespace and Name are of the first object in trouble; empty when it is the member itself.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Message says what is missing, in the words of whoever knows.
	Message string `json:"message"`
}

// RolloutMark is what the next aggregate needs to tell an advance from standing still.
type RolloutMark struct {
	Snapshot int64 `json:"snapshot"`
	// Picked is a digest of the members that the steps were counted over.
	Picked string `json:"picked"`
	// Left is the least number of steps that were left to do, Since when it became so small.
	Left  int         `json:"left"`
	Since metav1.Time `json:"since"`
	// Completed is the highest generation of an entry when nothing was left to do for picked members; 0
	// before that.
	Completed int64 `json:"completed,omitempty"`
}

// Alarm is one kind of trouble of a placement, as it was told of last.
type Alarm struct {
	// Reason is that of the event.
	Reason string `json:"reason"`
	// Members are those in this trouble that were told of, sorted.
	Members []string `json:"members,omitempty"`
	// At and Message are of the last event; About is the member when it was about one.
	At      metav1.Time `json:"at,omitzero"`
	Message string      `json:"message,omitempty"`
	About   string      `json:"about,omitempty"`
}

// Withdrawal is one member that was told to give a placement up and has not confirmed that it did.
type Withdrawal struct {
	ClusterName string `json:"clusterName"`
	// Since is when it was told to.
	Since metav1.Time `json:"since,omitzero"`
	// State is that of the member, StateSince when it came to be.
	State      MemberState `json:"state,omitempty"`
	StateSince metav1.Time `json:"stateSince,omitzero"`
	// LastSeen is when the member was last heard of, where that was asked for.
	LastSeen metav1.Time `json:"lastSeen,omitzero"`
	// Message says why the objects could not be removed, when the member says so.
	Message string `json:"message,omitempty"`
}

// ConfirmWithin is how long a member may take to confirm a withdrawal before that is told as trouble.
const ConfirmWithin = time.Minute

// Troubled reports a withdrawal that is more than on its way: overdue, refused, or of a member that is not Ready.
func (w *Withdrawal) Troubled(now time.Time) bool {
	return w.State != MemberReady || w.Message != "" || !now.Before(w.Since.Add(ConfirmWithin))
}

// States of a member's entry in the status of a placement.
const (
	EntryMissing      = "Missing"      // wanted, and no member was found
	EntryKept         = "Kept"         // not eligible now; what it has stays
	EntryPending      = "Pending"      // picked, and given nothing yet
	EntryWaiting      = "Waiting"      // runs an older snapshot and waits for its turn
	EntryApplying     = "Applying"     // was given the newest snapshot
	EntryNotAvailable = "NotAvailable" // applied, and not available yet
	EntryAvailable    = "Available"
	EntryDrifted      = "Drifted" // changed on the member, and left so
	EntryFailed       = "Failed"  // could not be applied
	EntryDiffers      = "Differs" // ReportDiff: an object is not as it is wanted
	EntrySame         = "Same"    // ReportDiff: all objects are
	EntryUnknown      = "Unknown" // no heartbeat
	EntryWithdrawing  = "Withdrawing"
)

// ProgressDeadline reads the annotation of a placement; 0 is never. What cannot be read, which the door
// refuses, counts as the default.
func ProgressDeadline(annotations map[string]string) time.Duration {
	text, set := annotations[AnnotationProgressDeadline]
	if !set {
		return DefaultProgressDeadline
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return DefaultProgressDeadline
	}
	return d
}
