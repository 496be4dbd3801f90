package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VerbMember asks what a member holds, and who has a hold of it.
const VerbMember = "member"

// MaxRunsOn is how many runs an OnMember names.
const MaxRunsOn = 50

// MemberRequest names a member, which may be one that left.
type MemberRequest struct {
	Name string `json:"name"`
}

// OnMember is what a member holds, and who has a hold of it.
type OnMember struct {
	Member string `json:"member"`
	// Placements are those that are to be there, or are to leave it, by key.
	Placements []PlacementOn `json:"placements"`
	// Runs name it, the newest first, at most MaxRunsOn; RunsTotal counts all.
	Runs      []RunOn `json:"runs"`
	RunsTotal int     `json:"runsTotal"`
	// Evictions ask that a placement leaves it, the newest first, at most MaxRunsOn.
	Evictions []EvictionOn `json:"evictions,omitempty"`
	// Lock is who may take workloads away there now, nil where nobody has it.
	Lock *MemberHold `json:"lock,omitempty"`
}

// PlacementOn is where a placement stands on a member.
type PlacementOn struct {
	Placement string `json:"placement"`
	// Snapshot is what is released to it, empty for none.
	Snapshot string `json:"snapshot,omitempty"`
	// State is one of the Entry constants.
	State   string      `json:"state"`
	Since   metav1.Time `json:"since,omitzero"`
	Message string      `json:"message,omitempty"`
}

// RunOn is where a member stands in a run: an update run, or a staged run of content.
type RunOn struct {
	// Run is the name, "namespace/name" of a StagedUpdateRun; Content says that it is a run of content.
	Run     string      `json:"run"`
	Content bool        `json:"content,omitempty"`
	Stage   string      `json:"stage"`
	State   UpdateState `json:"state"`
	// Since is when the member began or ended there, zero before.
	Since   metav1.Time `json:"since,omitzero"`
	Message string      `json:"message,omitempty"`
}

// EvictionOn is an eviction of a placement from a member. State is Pending, Executed or Refused, with why in Message.
type EvictionOn struct {
	Name      string      `json:"name"`
	Placement string      `json:"placement"`
	Created   metav1.Time `json:"created"`
	State     string      `json:"state"`
	Message   string      `json:"message,omitempty"`
}
