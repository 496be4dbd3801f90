package api

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/strict"
)

// KindRolloutCheck is the kind of what has to hold while content goes out.
const KindRolloutCheck = "RolloutCheck"

// AnnotationRolloutCheck on a placement, or on a strategy of staged runs, names the RolloutCheck that its rollouts stand under.
const AnnotationRolloutCheck = "flotilla.io/rollout-check"

// What becomes of a rollout whose checks fail.
const (
	OnFailureStop     = "Stop"
	OnFailureRollBack = "RollBack"
)

// Defaults and bounds of a RolloutCheck.
const (
	DefaultCheckInterval = 30 * time.Second
	DefaultCheckTimeout  = 10 * time.Second
	DefaultCheckSoak     = 5 * time.Minute
	DefaultFailureLimit  = 3
	DefaultCheckWithin   = 10 * time.Minute

	MinCheckInterval  = time.Second
	MaxCheckInterval  = time.Hour
	MinCheckTimeout   = time.Second
	MaxCheckTimeout   = time.Minute
	MaxCheckSoak      = 24 * time.Hour
	MaxCheckWithin    = 24 * time.Hour
	MaxFailureLimit   = 100
	MaxChecks         = 10
	MaxCheckQuery     = 4096
	MaxCheckArguments = 32
	MaxCheckArgument  = 1024
)

// RolloutCheck says what has to hold, and for how long, before a rollout may go to further members, and what becomes of it
// where that does not hold.
type RolloutCheck struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec RolloutCheckSpec `json:"spec"`
}

// RolloutCheckSpec is what a RolloutCheck asks for.
type RolloutCheckSpec struct {
	// Soak is for how long all checks have to hold; default 5m.
	Soak *metav1.Duration `json:"soak,omitempty"`
	// Interval is from one question to the next; default 30s.
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Timeout is for how long an answer is waited for; default 10s.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// FailureLimit is how many failures of one check in a row fail the rollout; default 3.
	FailureLimit *int32 `json:"failureLimit,omitempty"`
	// OnFailure is Stop, the default, or RollBack.
	OnFailure string  `json:"onFailure,omitempty"`
	Checks    []Check `json:"checks"`
}

// Check is one thing that has to hold: one of its fields beside the name.
type Check struct {
	Name         string             `json:"name"`
	Availability *AvailabilityCheck `json:"availability,omitempty"`
	Prometheus   *PrometheusCheck   `json:"prometheus,omitempty"`
	Webhook      *WebhookCheck      `json:"webhook,omitempty"`
	Command      *CommandCheck      `json:"command,omitempty"`
}

// AvailabilityCheck fails while what was given to a member is not available there, Within after it was given; default 10m.
type AvailabilityCheck struct {
	Within *metav1.Duration `json:"within,omitempty"`
}

// PrometheusCheck asks a server of the hub's configuration. Each value of the answer has to be a number from Min to Max.
type PrometheusCheck struct {
	Server string          `json:"server"`
	Query  string          `json:"query"`
	Min    *strict.Decimal `json:"min,omitempty"`
	Max    *strict.Decimal `json:"max,omitempty"`
}

// WebhookCheck posts to an address of the hub's configuration, which has to answer {"pass": true}.
type WebhookCheck struct {
	Webhook   string            `json:"webhook"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// CommandCheck runs a command of the hub's configuration, which has to end with 0.
type CommandCheck struct {
	Command   string            `json:"command"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// SoakTime is Soak or its default.
func (s *RolloutCheckSpec) SoakTime() time.Duration { return orDuration(s.Soak, DefaultCheckSoak) }

// Every is Interval or its default.
func (s *RolloutCheckSpec) Every() time.Duration { return orDuration(s.Interval, DefaultCheckInterval) }

// Patience is Timeout or its default.
func (s *RolloutCheckSpec) Patience() time.Duration {
	return orDuration(s.Timeout, DefaultCheckTimeout)
}

// Limit is FailureLimit or its default.
func (s *RolloutCheckSpec) Limit() int {
	if s.FailureLimit == nil {
		return DefaultFailureLimit
	}
	return int(*s.FailureLimit)
}

// RollsBack says that members go back where checks fail.
func (s *RolloutCheckSpec) RollsBack() bool { return s.OnFailure == OnFailureRollBack }

// WithinTime is how long a member may take to become available, also where no check asks for that.
func (s *RolloutCheckSpec) WithinTime() time.Duration {
	for i := range s.Checks {
		if a := s.Checks[i].Availability; a != nil {
			return orDuration(a.Within, DefaultCheckWithin)
		}
	}
	return DefaultCheckWithin
}

func orDuration(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}

// CheckRecord is the record check.<placement>, written by the checker alone: how a snapshot does that stands under a check,
// and which one is refused.
type CheckRecord struct {
	Header
	Placement string `json:"placement"`
	UID       string `json:"uid"`
	CheckStatus
}

// CheckStatus is how a snapshot does that goes out under a RolloutCheck.
type CheckStatus struct {
	// Check is the name of the RolloutCheck, Snapshot what stands under it.
	Check    string `json:"check"`
	Snapshot int64  `json:"snapshot"`
	// Phase is one of the Check phases, Since when it began.
	Phase string      `json:"phase"`
	Since metav1.Time `json:"since"`
	// CheckGeneration is that of the RolloutCheck which the outcomes are of.
	CheckGeneration int64 `json:"checkGeneration,omitempty"`
	// Soak is for how long the checks have to hold.
	Soak *metav1.Duration `json:"soak,omitempty"`
	// Given is the highest generation of an entry that holds the snapshot: what the outcomes are about.
	Given int64 `json:"given,omitempty"`
	// Holds is since when all checks hold on what is given; zero while one does not.
	Holds metav1.Time `json:"holds,omitzero"`
	// Soaked says that they did for the soak time: others may be given the snapshot.
	Soaked   bool           `json:"soaked,omitempty"`
	Outcomes []CheckOutcome `json:"outcomes,omitempty"`
	// Message says what the phase comes from, or waits for.
	Message string `json:"message,omitempty"`
	// Refused is the last snapshot whose checks failed; nil when none did since one passed.
	Refused *CheckRefusal `json:"refused,omitempty"`
}

// Phases of a CheckRecord.
const (
	// CheckChecking is while the snapshot goes out, and its checks are asked.
	CheckChecking = "Checking"
	// CheckPassed is once every member has the snapshot, and its checks held.
	CheckPassed = "Passed"
	// CheckExempt is of a snapshot that a person went back to, or that was out when the check was named.
	CheckExempt = "Exempt"
	// CheckStopped is after a failure, where nobody goes back.
	CheckStopped = "Stopped"
	// CheckRollingBack is while members go back, CheckRolledBack once all did, CheckRollBackFailed where one could not.
	CheckRollingBack    = "RollingBack"
	CheckRolledBack     = "RolledBack"
	CheckRollBackFailed = "RollBackFailed"
)

// Verdicts of a CheckOutcome.
const (
	VerdictPassed  = "Passed"
	VerdictFailed  = "Failed"
	VerdictWaiting = "Waiting"
)

// CheckOutcome is what one check came to last.
type CheckOutcome struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Message string `json:"message,omitempty"`
	// At is when it was asked last, Since when the verdict became what it is.
	At    metav1.Time `json:"at,omitzero"`
	Since metav1.Time `json:"since,omitzero"`
	// Failures counts those in a row.
	Failures int `json:"failures,omitempty"`
}

// CheckRefusal says which snapshot failed, and why.
type CheckRefusal struct {
	Snapshot int64       `json:"snapshot"`
	Check    string      `json:"check"`
	Message  string      `json:"message"`
	At       metav1.Time `json:"at"`
}

// String is "snapshot 7 is refused since 2026-11-20T13:00:00Z: check errors of slow-start failed 3 times in a row: …".
func (r *CheckRefusal) String() string {
	return fmt.Sprintf("snapshot %d is refused since %s: %s", r.Snapshot, r.At.UTC().Format(time.RFC3339), r.Message)
}

// Shown is a CheckStatus in a line, empty where there is nothing to tell of.
func (c *CheckStatus) Shown() string {
	switch c.Phase {
	case CheckPassed, CheckExempt:
		return ""
	case CheckChecking:
		return "rollout check " + c.Check + ": " + c.Message
	}
	return c.Refused.String() + "; " + c.Message
}

// Failed says that the checks failed.
func (c *CheckStatus) Failed() bool {
	return c != nil && (c.Phase == CheckStopped || c.Phase == CheckRollingBack || c.Phase == CheckRolledBack || c.Phase == CheckRollBackFailed)
}

// Refuses says that a snapshot of a placement failed its checks, and is not tried again.
func (c *CheckRecord) Refuses(uid string, snapshot int64) bool {
	return c != nil && c.UID == uid && c.Refused != nil && c.Refused.Snapshot == snapshot
}

// Earlier is what a member had before it was given a snapshot under checks; without a Snapshot it had nothing.
type Earlier struct {
	Snapshot  int64             `json:"snapshot,omitempty"`
	Work      string            `json:"work,omitempty"`
	Overrides []OverrideVersion `json:"overrides,omitempty"`
}
