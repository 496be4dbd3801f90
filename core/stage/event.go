package stage

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Scopes of events.
const (
	ScopeRun    = "run"
	ScopeStage  = "stage"
	ScopeGroup  = "group"
	ScopeMember = "member"
	ScopeGate   = "gate"
	ScopeWait   = "wait"
)

// Event is one change of state in the tree of a run.
type Event struct {
	At    time.Time `json:"at"`
	Run   string    `json:"run"`
	Stage string    `json:"stage,omitempty"`
	Group string    `json:"group,omitempty"`
	// Scope is run, stage, group, member, gate or wait; Name that of the node: of a gate its path, of a
	// wait its stage, of the run empty.
	Scope   string          `json:"scope"`
	Name    string          `json:"name"`
	From    api.UpdateState `json:"from"`
	To      api.UpdateState `json:"to"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
}

// warned are the reasons that people are warned of, beside what failed.
var warned = []string{api.ReasonUpdateRunStuck, api.ReasonConsistentNotFound, api.ReasonRegionNotWritten, api.ReasonLeftOut}

// Audit returns the event as the audit stream keeps it.
func (e Event) Audit(by string) api.Audit {
	a := api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(e.At), Object: api.AuditObject(api.AuditRun, e.Run), Type: "Normal",
		Reason: string(e.To), Message: Cut(e.String(), auditMessage), By: by,
	}
	if e.Reason != "" {
		a.Reason = e.Reason
	}
	if e.To == api.StateFailed || slices.Contains(warned, e.Reason) {
		a.Type = "Warning"
	}
	if e.Scope == ScopeMember {
		a.Member = e.Name
	}
	return a
}

// auditMessage is the most of a message that an audit record of at most 1 KiB has room for, in bytes.
const auditMessage = 600

// Cut shortens a text to a number of bytes without breaking a letter.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// String is the event on one line, "member a1 NotStarted -> Running: control plane 1.29.2 to 1.29.9".
func (e Event) String() string {
	what := e.Scope
	if e.Name != "" {
		what += " " + e.Name
	}
	text := fmt.Sprintf("%s %s -> %s", what, e.From, e.To)
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}
