package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Heartbeat is the value of <member> in bucket heartbeat, written by that agent every interval.
type Heartbeat struct {
	Header
	Member string `json:"member"`
	// Boot is a random id of the agent's process, so that a restart is visible.
	Boot string `json:"boot"`
	// Sequence counts heartbeats of one boot, from 1.
	Sequence          uint64            `json:"sequence"`
	AgentVersion      string            `json:"agentVersion"`
	KubernetesVersion string            `json:"kubernetesVersion,omitempty"`
	IntervalSeconds   int               `json:"intervalSeconds"`
	Labels            map[string]string `json:"labels,omitempty"`
	Properties        map[string]string `json:"properties,omitempty"`
	Namespaces        []string          `json:"namespaces,omitempty"`
	Nodes             int               `json:"nodes"`
	// Healthy is false when the member's own API server does not answer as it should.
	Healthy bool   `json:"healthy"`
	Message string `json:"message,omitempty"`
	// Holds is the order of the placement command the agent acts on.
	Holds Order `json:"holds,omitzero"`
	// Unlisted are placements it runs that the command does not mention.
	Unlisted []string `json:"unlisted,omitempty"`
	// Renewal is why it cannot renew its credentials, empty while it can.
	Renewal string `json:"renewal,omitempty"`
	// Forbidden is what the member's API server did not permit the agent of late, "list secrets in namespace shop".
	Forbidden []string `json:"forbidden,omitempty"`
	// Sent is when it was sent, in milliseconds since 1970 by the agent's clock; 0 from agents that do not say.
	Sent int64 `json:"sent,omitempty"`
}

// PlacementCommand is the whole wanted state of one member's placements: its index. The dispatcher
// alone publishes it, on command.<member>.placement.
type PlacementCommand struct {
	Header
	Member string `json:"member"`
	Order  Order  `json:"order"`
	// Session is the key that changes of this index are sealed with.
	Session []byte `json:"session,omitempty"`
	// Changed says where an agent stands that took in changes of an index; none as it is stored.
	Changed IndexPosition `json:"changed,omitzero"`
	// Entries are sorted by placement.
	Entries []IndexEntry `json:"entries"`
}

// IndexPosition is a place among the changes of an index.
type IndexPosition struct {
	// Base is the order of the index as it was stored whole.
	Base Order `json:"base"`
	// Number counts the changes since then.
	Number int `json:"number"`
}

// String is "epoch.term.generation/number".
func (p IndexPosition) String() string { return fmt.Sprintf("%s/%d", p.Base, p.Number) }

// PlacementDelta is a change of a member's index, on command.<member>.placement.<slot>: the entries of some placements
// take the place of those that the member has, the others stay.
type PlacementDelta struct {
	Header
	Member string `json:"member"`
	Order  Order  `json:"order"`
	// Position is where who takes it in stands then; it counts after Number-1 changes of the same base.
	Position IndexPosition `json:"position"`
	// After is the order of the index that it changes: who holds another one reads the index whole. Zero in changes of
	// hubs that do not say it.
	After Order `json:"after,omitzero"`
	// Entries are sorted by placement.
	Entries []IndexEntry `json:"entries,omitempty"`
	// Gone are the placements that the index does not mention any more, sorted.
	Gone []string `json:"gone,omitempty"`
}

// IndexEntry is what a member is to hold of one placement.
type IndexEntry struct {
	Placement  string `json:"placement"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"` // of the release entry
	Snapshot   int64  `json:"snapshot"`
	Work       string `json:"work,omitempty"`
	// Piece opens the Work.
	Piece
	Apply     *ApplyStrategy `json:"apply,omitempty"`
	Withdrawn bool           `json:"withdrawn,omitempty"`
	Abandon   bool           `json:"abandon,omitempty"`
}

// PlacementResult is a result of kind placement, named by the placement, in a ResultBatch. It is at most 16 KiB: failures are cut, their number is not.
type PlacementResult struct {
	Header
	Member     string `json:"member"`
	Placement  string `json:"placement"`
	UID        string `json:"uid"`
	Order      Order  `json:"order"` // of the command it answers
	Generation int64  `json:"generation"`
	Snapshot   int64  `json:"snapshot"`
	Work       string `json:"work,omitempty"`
	// Applied and Available are "True", "False" or "Unknown" (in progress), each with a reason and
	// a message.
	Applied          string `json:"applied"`
	AppliedReason    string `json:"appliedReason"`
	AppliedMessage   string `json:"appliedMessage,omitempty"`
	Available        string `json:"available,omitempty"`
	AvailableReason  string `json:"availableReason,omitempty"`
	AvailableMessage string `json:"availableMessage,omitempty"`
	// Changed is when Applied or Available last turned, by the agent's clock.
	Changed metav1.Time `json:"changed"`
	// Withdrawn says that nothing of the placement is left on the member that should not be.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Total counts manifests, Failed those in trouble, Failures lists the first of them.
	Total    int               `json:"total"`
	Failed   int               `json:"failed,omitempty"`
	Failures []ManifestFailure `json:"failures,omitempty"`
	// Completed lists the first of the Jobs that are done for good.
	Completed []ObjectRef `json:"completed,omitempty"`
	// Corrected lists the first objects that were changed on the member of late and written over, because
	// whenToApply is Always; CorrectedTotal counts them.
	Corrected      []Correction `json:"corrected,omitempty"`
	CorrectedTotal int          `json:"correctedTotal,omitempty"`
	// DiffReported is "True" or "False" where the strategy is ReportDiff, which writes nothing; Applied is then
	// Unknown and Available empty.
	DiffReported        string `json:"diffReported,omitempty"`
	DiffReportedReason  string `json:"diffReportedReason,omitempty"`
	DiffReportedMessage string `json:"diffReportedMessage,omitempty"`
	// Differing lists the first objects that are not as they are wanted and are left so; DifferingTotal counts
	// them.
	Differing      []DifferingObject `json:"differing,omitempty"`
	DifferingTotal int               `json:"differingTotal,omitempty"`
	// Times are when the agent came so far with this generation; nil from agents that do not say.
	Times *ResultTimes `json:"times,omitempty"`
}

// ResultTimes are when an agent came first how far with a generation of an entry, by its own clock.
type ResultTimes struct {
	// Received is when it read the command, in milliseconds since 1970. Late says that it restarted meanwhile, and
	// read it at that time at the latest.
	Received int64 `json:"r"`
	Late     bool  `json:"l,omitempty"`
	// Command is the generation of the order of that command.
	Command uint64 `json:"c,omitempty"`
	// Applied and Available are milliseconds after Received; nil while it has not come so far. What is compared, or
	// withdrawn, counts as applied when it is.
	Applied   *int64 `json:"a,omitempty"`
	Available *int64 `json:"v,omitempty"`
}

// DifferingObject is one object on a member that is not as it is wanted.
type DifferingObject struct {
	ObjectRef
	// Differences are the first places at which it differs, sorted; Total counts them.
	Differences []Difference `json:"differences"`
	Total       int          `json:"total"`
}

// Difference is one place at which a live object is not as it is wanted.
type Difference struct {
	// Path is a JSON pointer, "/spec/replicas", or "/" for the whole object.
	Path string `json:"path"`
	// Manager is who wrote what is there, as the member's API server knows; empty when it is not known, or when
	// nothing is there.
	Manager string `json:"manager,omitempty"`
}

// String is "/spec/replicas (kubectl-edit)".
func (d Difference) String() string {
	if d.Manager == "" {
		return d.Path
	}
	return d.Path + " (" + d.Manager + ")"
}

// Correction is one object that was changed on a member, be it again and again, and written over.
type Correction struct {
	ObjectRef
	// Fields says where it had been changed, and by whom, "/spec/replicas (kubectl-edit)".
	Fields string `json:"fields"`
	// Since is when it was written over first, by the agent's clock.
	Since metav1.Time `json:"since"`
	// Fought says that it was written over five times within ten minutes: somebody on the member wants it
	// otherwise. From then on it is written over once a minute at most.
	Fought bool `json:"fought,omitempty"`
}

// ManifestFailure is one object that could not be applied or is not available.
type ManifestFailure struct {
	ObjectRef
	// Condition is Applied or Available.
	Condition string `json:"condition"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
}

// Audit is one event of stream AUDIT, subject audit.<kind>.<name>, at most 1 KiB.
type Audit struct {
	Header
	At     metav1.Time `json:"at"`
	Object string      `json:"object"` // "placement/web"
	// Type is Normal or Warning.
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// By is who caused it: a room, or a person as the servers know them. Of a person's doing, Request is the id
	// of their request and From the address that they asked from, where the server tells it.
	By      string `json:"by"`
	Request string `json:"request,omitempty"`
	From    string `json:"from,omitempty"`
	// Member is set when the event concerns one member.
	Member string `json:"member,omitempty"`
	// Generation is that of the spec that was stored, Spec the spec itself where there is room for it.
	Generation int64           `json:"generation,omitempty"`
	Spec       json.RawMessage `json:"spec,omitempty"`
	// Snapshot is the index of the snapshot that the event is about, Step that of the release.
	Snapshot int64 `json:"snapshot,omitempty"`
	Step     int64 `json:"step,omitempty"`
	// Picks is which members a placement went to and left, in one decision.
	Picks *Picks `json:"picks,omitempty"`
}

// Picks is how the members of a placement changed.
type Picks struct {
	// Count is how many there are after it.
	Count int `json:"count"`
	// Gained and Lost are sorted by reason, those without one first.
	Gained []PickChange `json:"gained,omitempty"`
	Lost   []PickChange `json:"lost,omitempty"`
}

// PickChange is what became of members for one reason. Members are named as far as there is room, Total counts them.
type PickChange struct {
	Reason  string   `json:"reason,omitempty"`
	Members []string `json:"members,omitempty"`
	Total   int      `json:"total"`
}

// Bare counts members without their names and reasons.
func (p *Picks) Bare() *Picks {
	total := func(changes []PickChange) []PickChange {
		all := PickChange{}
		for _, c := range changes {
			all.Total += c.Total
		}
		if all.Total == 0 {
			return nil
		}
		return []PickChange{all}
	}
	return &Picks{Count: p.Count, Gained: total(p.Gained), Lost: total(p.Lost)}
}

// Told is an event as it was stored.
type Told struct {
	Audit
	// Stored is when, by the broker's clock as the hub's has it.
	Stored time.Time
	// Sequence is its place in the stream.
	Sequence uint64
}

// Concerns says whether an event names a member.
func (e *Audit) Concerns(member string) bool {
	if e.Member == member || e.Picks == nil {
		return e.Member == member
	}
	names := func(c PickChange) bool { return slices.Contains(c.Members, member) }
	return slices.ContainsFunc(e.Picks.Gained, names) || slices.ContainsFunc(e.Picks.Lost, names)
}
