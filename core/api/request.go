package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/strict"
)

// Verbs of the service api.<verb>.
const (
	VerbApply   = "apply"
	VerbGet     = "get"
	VerbList    = "list"
	VerbDelete  = "delete"
	VerbPatch   = "patch"
	VerbAdmit   = "admit"
	VerbEnrol   = "enrol"
	VerbPlan    = "plan"
	VerbWhatIf  = "what-if"
	VerbPreview = "preview"
	VerbWhy     = "why"
	VerbEvents  = "events"
	VerbStatus  = "status"
	VerbFleet   = "fleet"
	VerbCells   = "cells"
	VerbVersion = "version"
	// VerbUnconfirmed asks who has not confirmed that an object is gone.
	VerbUnconfirmed = "unconfirmed"
)

// Codes of a Failure, sent as the micro service's error code too.
const (
	CodeInvalid      = "400" // documents with faults
	CodeRefused      = "403" // well-formed, but a rule forbids it
	CodeNotFound     = "404"
	CodeOtherKey     = "421" // the request was sealed to another key than the hub's
	CodeConflict     = "409" // the object changed since it was read
	CodePrecondition = "412" // the object is at another revision than the request was made from
	CodeTooLarge     = "413"
	CodeLimit        = "422" // more than a limit allows
	CodeInternal     = "500"
	CodeDamaged      = "507" // records of state are gone: nothing is done until somebody says how to go on
	CodeUnavailable  = "503" // not the leader, or still relisting: retry with the same request id
	CodeNoRoom       = "507" // the servers have no room to store it, or have stopped for want of room
)

// Failure is the body of a reply that did not succeed.
type Failure struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Faults  strict.Faults `json:"faults,omitempty"`
	// Next is a command to try.
	Next string `json:"next,omitempty"`
}

// Error returns the message and every fault, one a line.
func (f *Failure) Error() string {
	if len(f.Faults) == 0 {
		return f.Message
	}
	return f.Message + "\n" + f.Faults.Error()
}

// mostListed is how many faults an answer lists: each is some hundred bytes, and what people write has fewer.
const mostListed = 1000

// Listed is the failure as it is sent, with a thousand of its faults at most; its message says how many there are.
func (f *Failure) Listed() *Failure {
	if len(f.Faults) <= mostListed {
		return f
	}
	short := *f
	short.Faults = f.Faults[:mostListed]
	short.Message = fmt.Sprintf("%s; the first %d of %d faults are listed", f.Message, mostListed, len(f.Faults))
	return &short
}

// ApplyRequest creates or changes objects, all of them or none.
type ApplyRequest struct {
	Asked
	// Request is a random id; a repeat with the same id answers the first result.
	Request string `json:"request"`
	DryRun  bool   `json:"dryRun,omitempty"`
	Show    bool   `json:"show,omitempty"` // on dry runs: answer each object as it would be stored
	// Set is the set of objects that the documents belong to from then on; empty leaves each where it is.
	Set string `json:"set,omitempty"`
	// Prune deletes what else is in the set; Move takes documents that are in another. Yes lets a prune take away more
	// than may go unasked.
	Prune bool `json:"prune,omitempty"`
	Move  bool `json:"move,omitempty"`
	Yes   bool `json:"yes,omitempty"`
	// Create refuses documents of objects that exist already, also of those that are being deleted.
	Create bool `json:"create,omitempty"`
	// Exact takes each document for the whole object: what a patch set and the document leaves out is gone afterwards.
	Exact bool `json:"exact,omitempty"`
	// Managed takes from the documents what clients keep on objects for themselves, metadata.managedFields, ownerReferences,
	// finalizers and what kubectl remembers of the last apply, and keeps it beside the object: members get nothing of it. Without
	// it what is kept stays as it is.
	Managed   bool              `json:"managed,omitempty"`
	Documents []json.RawMessage `json:"documents"` // JSON, at most 500
	// Expect are the objects that the documents were made from, one for each document, or none: each has to exist, and to be
	// that one.
	Expect []Expected `json:"expect,omitempty"`
}

// Expected is an object as somebody read it; what is empty may be anything.
type Expected struct {
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Actions of an ApplyResult.
const (
	ActionCreated    = "created"
	ActionConfigured = "configured"
	ActionUnchanged  = "unchanged"
	ActionDeleted    = "deleted"
	ActionDeleting   = "deleting" // asked for; waits for members to confirm
)

// ApplyResponse says what became of each document, in their order, and behind them of what was pruned.
type ApplyResponse struct {
	Results []ApplyResult `json:"results"`
	Notes   []string      `json:"notes,omitempty"`
}

// ApplyResult is what became of one object.
type ApplyResult struct {
	Object          ObjectRef `json:"object"`
	Action          string    `json:"action"`
	UID             string    `json:"uid,omitempty"`
	Generation      int64     `json:"generation,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Notes           []string  `json:"notes,omitempty"`
	// Body is the object as it would be stored, of ApplyRequest.Show.
	Body json.RawMessage `json:"body,omitempty"`
}

// NotesOf are what is noted of the objects of results, each with its object.
func NotesOf(results []ApplyResult) (notes []string) {
	for i := range results {
		for _, note := range results[i].Notes {
			notes = append(notes, results[i].Object.String()+": "+note)
		}
	}
	return notes
}

// GetRequest reads one object, status rendered in full. Kind is a Kubernetes kind.
type GetRequest struct {
	Asked
	APIVersion string `json:"apiVersion,omitempty"` // needed only where a kind exists in several groups
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Brief leaves out of the status of a placement what a ListRequest that is brief leaves out.
	Brief bool `json:"brief,omitempty"`
	// ShowSecrets asks for values of Secrets, in whose place stand digests otherwise.
	ShowSecrets bool `json:"showSecrets,omitempty"`
	// Managed shows what ApplyRequest.Managed keeps, and all at one version: metadata.resourceVersion is that of the newest record
	// that is shown, and two answers with the same one are the same. So status is as the records of status say, which is a
	// moment later than without. How content does is the exception: what its members say is in no record, and changes the
	// status and the annotation AnnotationOnMembers within one version. The answer is a GetResponse then.
	Managed bool `json:"managed,omitempty"`
}

// GetResponse is the answer of a GetRequest that is Managed.
type GetResponse struct {
	Object json.RawMessage `json:"object"`
	// Spec is the version to expect of the object when it is applied or deleted; empty where nobody applied it.
	Spec string `json:"spec,omitempty"`
}

// ListRequest reads objects of a kind, sorted by namespace and name, in pages.
type ListRequest struct {
	Asked
	APIVersion    string `json:"apiVersion,omitempty"`
	Kind          string `json:"kind"`
	Namespace     string `json:"namespace,omitempty"` // empty: all namespaces
	LabelSelector string `json:"labelSelector,omitempty"`
	Limit         int    `json:"limit,omitempty"` // 0: as many as fit in one reply
	Continue      string `json:"continue,omitempty"`
	// Brief leaves the entry of each member out of the status of placements, and of runs all members
	// but those that run, wait or failed: tables need the counts.
	Brief bool `json:"brief,omitempty"`
	// ShowSecrets asks for values of Secrets, in whose place stand digests otherwise.
	ShowSecrets bool `json:"showSecrets,omitempty"`
	// Managed shows objects as GetRequest.Managed does.
	Managed bool `json:"managed,omitempty"`
	// Marks asks for Keys and Marks alone, without Items, in pages of at most 4,000 objects. It needs Managed.
	Marks bool `json:"marks,omitempty"`
	// Only are the keys of the objects that are wanted, at most 500; none: all.
	Only []ListKey `json:"only,omitempty"`
}

// ListKey is which object of a kind is meant.
type ListKey struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ListResponse is one page.
type ListResponse struct {
	Items    []json.RawMessage `json:"items"`
	Continue string            `json:"continue,omitempty"`
	// ResourceVersion is, where the request is Managed, that of the newest record of all: every change up to it is in Items.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Specs are GetResponse.Spec of each of Items, where the request is Managed.
	Specs []string `json:"specs,omitempty"`
	// Keys are of which objects Marks are, where the request asks for them.
	Keys []ListKey `json:"keys,omitempty"`
	// Marks are one for each of Keys or, where the request is Managed, of Items. While the mark of an object stays the same the object is shown
	// the same; an empty one says nothing.
	Marks []string `json:"marks,omitempty"`
}

// DeleteRequest asks for deletion. It returns at once; Get shows what is not confirmed yet. The answer
// is an ApplyResult, and a DeleteResponse where Objects are named.
type DeleteRequest struct {
	Asked
	Request string    `json:"request"`
	Object  ObjectRef `json:"object,omitzero"`
	// Objects are several at once instead of Object, at most 500: all that are there are deleted in one
	// step, so that no placement sees some of its content gone, or none when a rule forbids one of them. Of
	// namespaces in which much lies that goes in several steps before, and no snapshot is cut before the last.
	Objects []ObjectRef `json:"objects,omitempty"`
	// UID and ResourceVersion are what Object was read as; empty: any.
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	DryRun          bool   `json:"dryRun,omitempty"`
	// Yes says that somebody knows how much the deletion takes away from members.
	Yes bool `json:"yes,omitempty"`
}

// DeleteResponse says what became of each object of DeleteRequest.Objects.
type DeleteResponse struct {
	Results []ApplyResult `json:"results"`
	Missing []ObjectRef   `json:"missing,omitempty"` // not there before
}

// UnconfirmedRequest asks who has not confirmed the deletion of a placement or member of this uid, or
// without one of any that has or had its name, also when its deletion is over. Of members that left the
// hub that ended it remembers.
type UnconfirmedRequest struct {
	Object ObjectRef `json:"object"`
	UID    string    `json:"uid,omitempty"`
}

// UnconfirmedResponse lists members, and of a member that leaves the placements it has not given up.
type UnconfirmedResponse struct {
	Members    []Withdrawal `json:"members,omitempty"`
	Placements []string     `json:"placements,omitempty"`
}

// PatchRequest is a JSON merge patch of one object.
type PatchRequest struct {
	Asked
	Request         string          `json:"request"`
	Object          ObjectRef       `json:"object"`
	Patch           json.RawMessage `json:"patch"`
	ResourceVersion string          `json:"resourceVersion,omitempty"`
	DryRun          bool            `json:"dryRun,omitempty"`
	// Managed patches what ApplyRequest.Managed keeps, too.
	Managed bool `json:"managed,omitempty"`
}

// AdmitRequest makes a joining member part of the fleet. Without AllowLabels, the keys that its
// agent offers now are allowed.
type AdmitRequest struct {
	Asked
	Request     string            `json:"request"`
	Name        string            `json:"name"`
	AllowLabels []string          `json:"allowLabels,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// Expect is what somebody looked at: the request is refused where that is another by now; nil: whoever comes.
	Expect *Joining `json:"expect,omitempty"`
}

// Joining is how a member stood that wants to join.
type Joining struct {
	// Key is the public key that its agent registered, empty while there is none.
	Key string `json:"key"`
	// New says that it was not part of the fleet.
	New bool `json:"new,omitempty"`
	// Offered are the keys of the labels that its agent offered: without AllowLabels these are allowed, and no other that it offers
	// by now; nil: whichever.
	Offered []string `json:"offered"`
}

// PlanRequest asks what documents would change, without changing anything.
type PlanRequest struct {
	Asked
	Documents []json.RawMessage `json:"documents"`
	Now       *metav1.Time      `json:"now,omitempty"`
	// Runs names stored update runs to plan as they stand, beside those among Documents; "*" stands
	// for all that are active.
	Runs []string `json:"runs,omitempty"`
	// Assume is how long the upgrade of a member is taken to last; nil: as long as its own last ones.
	Assume *metav1.Duration `json:"assume,omitempty"`
	// ApproveAfter is how long after they are reached gates are taken to be approved; nil: never.
	ApproveAfter *metav1.Duration `json:"approveAfter,omitempty"`
	// Operation is taken to be done to the runs that are planned before they go on; nil: those that were not started are.
	Operation *RunOperation `json:"operation,omitempty"`
}

// WhatIfRequest asks what would become of the placements of the fleet if members were not there, and documents were applied; nothing
// is changed. Documents are MemberClusters and placements; a MemberCluster that is new is taken to have joined with what its status
// says. The answer is that of core/whatif.
type WhatIfRequest struct {
	Asked
	// Without are names of members, WithoutLabel selects members by their labels.
	Without      []string          `json:"without,omitempty"`
	WithoutLabel string            `json:"withoutLabel,omitempty"`
	Documents    []json.RawMessage `json:"documents,omitempty"`
	Now          *metav1.Time      `json:"now,omitempty"`
}

// PreviewRequest asks what a member is given of a placement, or would be once documents are applied: of the placement that is named,
// else of those that the documents are about. The answer is that of core/preview.
type PreviewRequest struct {
	Asked
	Member    string            `json:"member"`
	Placement *ObjectRef        `json:"placement,omitempty"`
	Documents []json.RawMessage `json:"documents,omitempty"`
}

// WhyRequest asks why a placement goes, or does not go, to members; empty Member asks for all. The answer
// is a JSON list of core/why's Answer, sorted by member. Kind tells a ResourcePlacement from a
// ClusterResourcePlacement where Namespace does not.
type WhyRequest struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Placement string `json:"placement"`
	Member    string `json:"member,omitempty"`
}

// MostCells is of how many placements at most VerbCells is asked at once.
const MostCells = 50

// CellsRequest asks where the members stand with placements, by their keys: "web", or "namespace/name" of a
// ResourcePlacement. The answer is Cells of core/overview; VerbFleet, which is asked with nothing, answers its Fleet.
type CellsRequest struct {
	Placements []string `json:"placements"`
}

// FleetStatus is the whole fleet on one screen.
type FleetStatus struct {
	Fleet      string         `json:"fleet"`
	Leader     string         `json:"leader"`
	Term       uint64         `json:"term"`
	Members    map[string]int `json:"members"` // by state
	Placements int            `json:"placements"`
	Bindings   int            `json:"bindings"`
	// Frozen are the freezes that are in force.
	Frozen []Freeze `json:"frozen,omitempty"`
	// Converging counts the placements that some member is still on the way to hold as wanted.
	Converging int `json:"converging,omitempty"`
	// Runs counts update runs by state.
	Runs map[string]int `json:"runs,omitempty"`
	// NodePools, and how many nodes of them all members have.
	NodePools int `json:"nodePools,omitempty"`
	Nodes     int `json:"nodes,omitempty"`
	// Disruptions counts, by phase, the disruptions of nodes that have not ended.
	Disruptions map[string]int `json:"disruptions,omitempty"`
	// Held are the first of those who have a hold of members, HeldTotal counts all.
	Held      []MemberHold `json:"held,omitempty"`
	HeldTotal int          `json:"heldTotal,omitempty"`
	// Damage is set while no hub leads because records are gone: which, one line for people.
	Damage   string    `json:"damage,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is one thing a person should look at.
type Problem struct {
	Object  string      `json:"object"` // "placement/web", "member/berlin"
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Since   metav1.Time `json:"since,omitzero"`
	// Next is the command that tells more or mends it.
	Next string `json:"next"`
}

// VersionResponse describes the hub that answered.
type VersionResponse struct {
	Version string `json:"version"`
	Level   int    `json:"level"`
	Fleet   string `json:"fleet"`
	Leader  string `json:"leader"`
	Epoch   uint64 `json:"epoch"`
	Term    uint64 `json:"term"`
	Server  string `json:"server"` // of NATS
	// Sealing are the secrets that stored content is sealed with: one, or more while it is sealed anew.
	Sealing Sealing     `json:"sealing,omitzero"`
	Now     metav1.Time `json:"now"`
}
