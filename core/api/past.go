package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PastRequest asks for what became of the placement Object, and, with At, how it was then.
type PastRequest struct {
	Object ObjectRef `json:"object"`
	// Since leaves out what was before, Limit all but the newest so many; 0 is DefaultPast.
	Since metav1.MicroTime `json:"since,omitzero"`
	Limit int              `json:"limit,omitempty"`
	At    metav1.MicroTime `json:"at,omitzero"`
}

// DefaultPast is how many entries of a history are told at once, MaxPast how many at most.
const (
	DefaultPast = 50
	MaxPast     = 400
)

// Past is what became of a placement, oldest first.
type Past struct {
	Placement string `json:"placement"`
	// KeptFrom is from when on events are kept; what was before is not known.
	KeptFrom metav1.Time `json:"keptFrom,omitzero"`
	// Whole says that all is there since the placement was made.
	Whole bool `json:"whole"`
	// Gone says that there is no placement of that name now.
	Gone    bool        `json:"gone,omitempty"`
	Entries []PastEntry `json:"entries"`
	// Left is how many entries were left out, being older than the newest that were asked for.
	Left int `json:"left,omitempty"`
	// Then is how it was at the time that was asked for.
	Then *PastState `json:"then,omitempty"`
}

// What an entry of a history tells.
const (
	PastApplied   = "applied"
	PastDeleting  = "deleting"
	PastDeleted   = "deleted"
	PastSnapshot  = "snapshot"
	PastPicks     = "picks"
	PastUnmet     = "unfulfilled"
	PastMet       = "fulfilled"
	PastBegun     = "rollout begun"
	PastEnded     = "rollout ended"
	PastUndone    = "undone"
	PastPaused    = "paused"
	PastResumed   = "resumed"
	PastRestarted = "restarted"
	PastTrouble   = "trouble"
)

// PastEntry is one thing that happened to a placement.
type PastEntry struct {
	At   metav1.Time `json:"at"`
	What string      `json:"what"`
	// Reason is that of the event.
	Reason string `json:"reason"`
	// By is a person, or the room of the hub that decided it; Request is the person's.
	By      string `json:"by"`
	Request string `json:"request,omitempty"`
	// Generation is that of the spec, Snapshot the number of the snapshot it is about; 0 where that is not told.
	Generation int64  `json:"generation,omitempty"`
	Snapshot   int64  `json:"snapshot,omitempty"`
	Picks      *Picks `json:"picks,omitempty"`
	Message    string `json:"message"`
}

// PastState is how a placement was at a time. What is not known is named in Unknown, by its field.
type PastState struct {
	At metav1.Time `json:"at"`
	// Existed is false when there was no such placement.
	Existed    bool            `json:"existed"`
	Generation int64           `json:"generation,omitempty"`
	Spec       json.RawMessage `json:"spec,omitempty"`
	Snapshot   int64           `json:"snapshot,omitempty"`
	// Picked counts the members, Members names those that are known.
	Picked  int         `json:"picked"`
	Members []PastPick  `json:"members,omitempty"`
	Paused  string      `json:"paused,omitempty"`
	Told    []PastEntry `json:"told,omitempty"`
	// Unknown says of fields why they are not known.
	Unknown []NotKept `json:"unknown,omitempty"`
}

// PastPick is a member that a placement had.
type PastPick struct {
	Member string `json:"member"`
	// Since is when it was picked, where that is kept; Until when it was lost, where it was since.
	Since  metav1.Time `json:"since,omitzero"`
	Until  metav1.Time `json:"until,omitzero"`
	Reason string      `json:"reason,omitempty"`
}

// NotKept says why a field is not known.
type NotKept struct {
	Field string `json:"field"`
	Why   string `json:"why"`
}
