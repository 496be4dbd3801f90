package api

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// KindResultBatch is the kind of ResultBatch.
const KindResultBatch = "ResultBatch"

// ReasonShareExceeded is of a member that stores more than its share.
const ReasonShareExceeded = "ShareExceeded"

// ReasonStreamFilling is of a stream that is nearly full, ReasonStreamHasRoom of one that no longer is.
const (
	ReasonStreamFilling = "StreamFilling"
	ReasonStreamHasRoom = "StreamHasRoom"
)

// ReasonReplicasAway is of a server of NATS that keeps no current replica of what it should, ReasonReplicasBack of one that
// keeps all again.
const (
	ReasonReplicasAway = "ReplicasAway"
	ReasonReplicasBack = "ReplicasBack"
)

// ResultBatch is the value of <member>.<slot> in bucket result, written by that agent: its newest results
// of all kinds and names that fall in the slot, sorted by them.
type ResultBatch struct {
	Header
	Member  string          `json:"member"`
	Results []BatchedResult `json:"results"`
}

// BatchedResult is one result of a batch: a PlacementResult by placement, an UpgradeResult by run, a
// DisruptionResult by id.
type BatchedResult struct {
	Kind   string          `json:"kind"` // of the command it answers
	Name   string          `json:"name"`
	Result json.RawMessage `json:"result"`
}

// shortened is what a message ends with of which the rest was left out for want of room.
const shortened = " (cut: the member has more to report than its share holds)"

// shortMessage is what is left of a message, in bytes.
const shortMessage = 128

// Shorten leaves out what a result can do without, and says so in its message: the lists, and the ends of
// messages. It answers false when nothing can be left out.
func (b *BatchedResult) Shorten() bool {
	before := len(b.Result)
	switch b.Kind {
	case "placement":
		b.shorten(&PlacementResult{})
	case "upgrade":
		b.shorten(&UpgradeResult{})
	case "disruption":
		b.shorten(&DisruptionResult{})
	}
	return len(b.Result) < before
}

func (b *BatchedResult) shorten(into interface{ shorten() }) {
	if json.Unmarshal(b.Result, into) != nil {
		return
	}
	into.shorten()
	if short, err := json.Marshal(into); err == nil && len(short) < len(b.Result) {
		b.Result = short
	}
}

func (r *PlacementResult) shorten() {
	r.Failures, r.Corrected, r.Differing = nil, nil, nil
	switch {
	case r.DiffReportedMessage != "":
		r.AppliedMessage, r.DiffReportedMessage = "", cutMessage(r.DiffReportedMessage, shortened)
	case r.AvailableMessage != "":
		r.AppliedMessage, r.AvailableMessage = cutMessage(r.AppliedMessage, ""), cutMessage(r.AvailableMessage, shortened)
	default:
		r.AppliedMessage = cutMessage(r.AppliedMessage, shortened)
	}
}

func (r *UpgradeResult) shorten() { r.Message = cutMessage(r.Message, shortened) }

func (r *DisruptionResult) shorten() {
	r.Gone, r.Message = nil, cutMessage(r.Message, shortened)
}

// cutMessage is the beginning of a message, and an end.
func cutMessage(text, end string) string {
	text = strings.TrimSuffix(text, shortened)
	if len(text) > shortMessage {
		at := shortMessage
		for !utf8.RuneStart(text[at]) {
			at--
		}
		text = text[:at] + "..."
	}
	return text + end
}
