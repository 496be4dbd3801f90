package api

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verbs that steer the rollout of a placement.
const (
	VerbRolloutHistory = "rollout-history"
	VerbRolloutUndo    = "rollout-undo"
	VerbRolloutPause   = "rollout-pause"
	VerbRolloutResume  = "rollout-resume"
	VerbRolloutRestart = "rollout-restart"
)

// RolloutRequest asks to undo, pause, resume or restart the rollout of the placement Object.
type RolloutRequest struct {
	Asked
	// Request is a client-made id; the hub answers a repeated one as it did first.
	Request string    `json:"request"`
	Object  ObjectRef `json:"object"`
	// Revision is the one to go back to; 0 is the one before that differs.
	Revision int64 `json:"revision,omitempty"`
	// Reason is why a rollout is paused, for those who read of it.
	Reason string `json:"reason,omitempty"`
	// Basis is what the request was made from: it is refused where that is another by now; nil: whatever there is.
	Basis  *Basis `json:"basis,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// Basis is how a placement stood when somebody looked at it.
type Basis struct {
	ResourceVersion string `json:"resourceVersion"`
	// Newest is the newest revision, 0 where there was none.
	Newest int64 `json:"newest"`
}

// What became of a rollout, in the answer to a RolloutRequest.
const (
	ActionUndone     = "undone"
	ActionPaused     = "paused"
	ActionResumed    = "resumed"
	ActionFollowing  = "follows what it selects"
	ActionRestarted  = "restarted"
	ActionTriedAgain = "tried again"
)

// RolloutResponse says what was done; ActionUnchanged is nothing.
type RolloutResponse struct {
	Object ObjectRef `json:"object"`
	Action string    `json:"action"`
	// Revision is the newest one now, 0 where there is none.
	Revision int64 `json:"revision,omitempty"`
	// Of is the revision that an undo goes back to.
	Of    int64    `json:"of,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Basis is what it was decided on, in the answer to a dry run.
	Basis *Basis `json:"basis,omitempty"`
}

// HistoryRequest asks for the revisions of a placement that are kept.
type HistoryRequest struct {
	Object ObjectRef `json:"object"`
}

// HistoryResponse lists revisions, oldest first.
type HistoryResponse struct {
	Revisions []Revision `json:"revisions"`
}

// Revision is a snapshot as people read of it: a snapshot without what members open it with.
type Revision struct {
	Revision int64       `json:"revision"`
	Created  metav1.Time `json:"created"`
	// By is who changed what the placement selects, or undid that.
	By string `json:"by,omitempty"`
	// UndoneTo is the revision that this one is the content of, where a person went back to it.
	UndoneTo int64 `json:"undoneTo,omitempty"`
	// Pinned says that members stay with this revision, the newest, although the placement selects something else.
	Pinned bool `json:"pinned,omitempty"`
	// Members is how many members were given the revision.
	Members int `json:"members"`
	// Objects is how many there are, and what became of them since the revision before that is kept.
	Objects int         `json:"objects"`
	Added   []ObjectRef `json:"added,omitempty"`
	Changed []ObjectRef `json:"changed,omitempty"`
	Removed []ObjectRef `json:"removed,omitempty"`
	// Error says why the selectors could not be followed; nobody can go back to it.
	Error string `json:"error,omitempty"`
}

// Undo says of a snapshot that a person went back to the content of another one.
type Undo struct {
	// Of is the index of the snapshot whose content this is.
	Of int64 `json:"of"`
	// Selected is the digest of what the placement selected then: the snapshot is the newest until that changes. Empty
	// where it is what was selected.
	Selected string `json:"selected,omitempty"`
}

// Pause says that a rollout moves no member, who said so, and since when.
type Pause struct {
	By     string      `json:"by"`
	Since  metav1.Time `json:"since"`
	Reason string      `json:"reason,omitempty"`
	// Frozen is what is frozen, where that is what moves no member: "placements", "the fleet".
	Frozen string `json:"frozen,omitempty"`
}

// PauseBy is a freeze as what pauses a rollout; nil where there is none.
func PauseBy(f *Freeze) *Pause {
	if f == nil {
		return nil
	}
	return &Pause{By: f.By, Since: f.Since, Reason: f.Reason, Frozen: f.What()}
}

// Pin says with which revision members stay until the placement selects something else, or its rollout is resumed.
type Pin struct {
	Revision int64       `json:"revision"`
	By       string      `json:"by"`
	Since    metav1.Time `json:"since"`
}

// PinOf is the pin of a snapshot that is the newest; nil when it is what its placement selects.
func PinOf(s *Snapshot) *Pin {
	if !s.Pinned() {
		return nil
	}
	return &Pin{Revision: s.Undo.Of, By: s.By, Since: s.Created}
}

// String is "pinned to revision 3 by anna since 2026-11-20T13:00:00Z".
func (p *Pin) String() string {
	return fmt.Sprintf("pinned to revision %d by %s since %s", p.Revision, p.By, p.Since.UTC().Format(time.RFC3339))
}

// PauseOf reads the annotation of a placement that the hub sets; nil when its rollout is not paused. One that cannot be
// read pauses it all the same.
func PauseOf(annotations map[string]string) *Pause {
	text, set := annotations[AnnotationPaused]
	if !set {
		return nil
	}
	p := &Pause{}
	if json.Unmarshal([]byte(text), p) != nil {
		return &Pause{By: "somebody"}
	}
	return p
}

// String is "paused by anna since 2026-11-20T13:00:00Z: the new image crashes".
func (p *Pause) String() string {
	text := "paused by " + p.By
	if p.Frozen != "" {
		text = p.Frozen + " frozen by " + p.By
	}
	if !p.Since.IsZero() {
		text += " since " + p.Since.UTC().Format(time.RFC3339)
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}
