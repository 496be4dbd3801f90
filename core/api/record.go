package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Spec is the record spec.<kind>.<name>, written by the door alone: the head of an object a user
// applied. Known kinds lie in it whole; of content it holds the digest of the body.
type Spec struct {
	Header
	// Object names the object; APIVersion is as the user wrote it.
	Object ObjectRef `json:"object"`
	UID    string    `json:"uid"`
	// Generation counts changes of spec (for content: of anything but metadata), from 1.
	Generation int64             `json:"generation"`
	Labels     map[string]string `json:"labels,omitempty"`
	Created    metav1.Time       `json:"created"`
	// Changed is when content came to have a later Generation than its first.
	Changed metav1.Time `json:"changed,omitzero"`
	// Deleted is set while a deletion waits for confirmations.
	Deleted *metav1.Time `json:"deleted,omitempty"`
	// Body is the whole object of a known kind, server-set metadata included, status not.
	Body json.RawMessage `json:"body,omitempty"`
	// Digest is the keyed digest of the body, which lies sealed in bucket content.
	Digest string `json:"digest,omitempty"`
	// Size is the length of the body in bytes.
	Size int `json:"size,omitempty"`
	// Manifest is the digest of the body as snapshots hold it, when that is not the one of Digest.
	Manifest string `json:"manifest,omitempty"`
	// Bare is the digest of the body without metadata; Generation counts its changes.
	Bare string `json:"bare,omitempty"`
	// Excluded says why no placement selects this object; empty for most.
	Excluded string `json:"excluded,omitempty"`
	// Set is the set of objects that it was applied with; what is in no set is never pruned.
	Set string `json:"set,omitempty"`
	// Wrapped is what members get in the place of an envelope.
	Wrapped []Wrapped `json:"wrapped,omitempty"`
	// Overlay is what patches set and applied documents do not; an apply keeps it. Of content it lies in
	// bucket content, by its digest in SealedOverlay.
	Overlay       json.RawMessage `json:"overlay,omitempty"`
	SealedOverlay string          `json:"sealedOverlay,omitempty"`
	// Managed is what clients keep in the metadata of the object for themselves, but for Finalizers, which hold up its deletion;
	// an apply that does not say it keeps it. Where it may hold values of Secrets it lies in bucket content, by its digest in
	// SealedManaged.
	Managed       json.RawMessage `json:"managed,omitempty"`
	SealedManaged string          `json:"sealedManaged,omitempty"`
	Finalizers    []string        `json:"finalizers,omitempty"`
	// Request is the id of the request that last wrote this record, Action what it did.
	Request string `json:"request,omitempty"`
	Action  string `json:"action,omitempty"`
	// Earlier are the requests of the last minutes before that one, oldest first: their clients may still ask again.
	Earlier []EarlierRequest `json:"earlier,omitempty"`
}

// Wrapped is an object in an envelope: the digest of its stripped body, which lies sealed in bucket content, and how many
// bytes that has.
type Wrapped struct {
	Manifest
	Size int `json:"size"`
}

// EarlierRequest is a request that wrote an object, and what it was answered.
type EarlierRequest struct {
	Request         string `json:"request"`
	Action          string `json:"action"`
	UID             string `json:"uid,omitempty"`
	Generation      int64  `json:"generation,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// At is when another request followed it.
	At metav1.Time `json:"at"`
}

// ManifestDigest is the digest under which snapshots refer to content.
func (s *Spec) ManifestDigest() string {
	if s.Manifest != "" {
		return s.Manifest
	}
	return s.Digest
}

// ObjectRef names one Kubernetes object.
type ObjectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String is "Kind/name" or "Kind/namespace/name".
func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// Manifest is one object of a snapshot or work: its name and the keyed digest of its stripped body.
type Manifest struct {
	ObjectRef
	Digest string `json:"digest"`
	// Envelope is what held the object on the hub, "ResourceEnvelope/shop/quotas"; empty for most.
	Envelope string `json:"envelope,omitempty"`
}

// Snapshot is the record snapshot.<placement>.<index>, written by the door alone and never changed:
// what a placement selected at one time, in apply order.
type Snapshot struct {
	Header
	Placement string      `json:"placement"`
	UID       string      `json:"uid"`
	Index     int64       `json:"index"`
	Created   metav1.Time `json:"created"`
	// Work is the digest of the Work document that holds the manifests of this snapshot.
	Work string `json:"work"`
	// Packs are the digests of the works whose bundles carry what that one does not.
	Packs     []string   `json:"packs,omitempty"`
	Manifests []Manifest `json:"manifests"`
	// Error says why the selectors could not be followed; then Manifests is empty and nothing moves.
	Error string `json:"error,omitempty"`
	// By is whose request cut the snapshot, Request the id of that.
	By      string `json:"by,omitempty"`
	Request string `json:"request,omitempty"`
	// Undo is set where a person went back to an earlier snapshot.
	Undo *Undo `json:"undo,omitempty"`
}

// Pinned says that members are to stay with the snapshot although the placement selects something else.
func (s *Snapshot) Pinned() bool { return s != nil && s.Undo != nil && s.Undo.Selected != "" }

// Work is a document in bucket content: what one member is to hold for one placement, in apply
// order. It is the head of a bundle, which carries bodies too. Its digest is of the names and digests alone; members that
// want the same share it.
type Work struct {
	Header
	Manifests []WorkManifest `json:"manifests"`
	// Packs are the bundles that carry what this one does not.
	Packs []Pack `json:"packs,omitempty"`
}

// WorkManifest is one object of a work, with what its reader opens it with.
type WorkManifest struct {
	Manifest
	Piece
	Carried
}

// Carried is where a sealed body lies.
type Carried struct {
	// Pack is the bundle: that of the work itself, 0, or one of its packs, counted from 1.
	Pack int `json:"pack,omitempty"`
	// Frame is which of its bodies, from 0.
	Frame int `json:"frame,omitempty"`
}

// Pack is a bundle that another work is the head of: of it a reader needs bodies alone.
type Pack struct {
	Digest string `json:"digest"` // of the other work
	At     string `json:"at"`
}

// Piece is one sealed body: where it lies in bucket content, and its key, which opens nothing else.
type Piece struct {
	At  string `json:"at,omitempty"`
	Key []byte `json:"key,omitempty"`
}

// BindingState says how far a binding has come.
type BindingState string

// The binding states, KubeFleet's words.
const (
	BindingScheduled   BindingState = "Scheduled"   // picked, nothing released yet
	BindingBound       BindingState = "Bound"       // released to the member
	BindingUnscheduled BindingState = "Unscheduled" // no longer wanted, withdrawal not confirmed
)

// Schedule is the record schedule.<placement>, written by the scheduler alone: the members a
// placement goes to.
type Schedule struct {
	Header
	Placement  string        `json:"placement"`
	UID        string        `json:"uid"`
	Generation int64         `json:"generation"` // of the placement spec that was scheduled
	Type       PlacementType `json:"type"`
	// Policy is the digest of the policy without its number of clusters; a binding that carries
	// another one is obsolete.
	Policy    string `json:"policy"`
	Want      *int32 `json:"want,omitempty"` // wanted number of members; nil for PickAll
	Fulfilled bool   `json:"fulfilled"`
	// Message says what is missing, or how many were found.
	Message string `json:"message"`
	// Bindings are sorted by member.
	Bindings []Binding `json:"bindings"`
	// Unpicked lists, for the status, up to the number of missing members, why no member was found.
	Unpicked []Unpicked `json:"unpicked,omitempty"`
	// Evicted members, sorted, are not picked again under this policy (D8).
	Evicted []string `json:"evicted,omitempty"`
	// Drained members, sorted, gave the placement up because they are drained, and get it no more until that ends.
	Drained []string `json:"drained,omitempty"`
}

// Binding is one member a placement goes to. Scores are those of the moment it was picked; nil for
// PickFixed and for bindings that never had any. Policy and Reason are stored only where they do not
// follow from the rest; every reader finds them filled in.
type Binding struct {
	Member        string `json:"member"`
	Policy        string `json:"policy,omitempty"`
	AffinityScore *int32 `json:"affinityScore,omitempty"`
	SpreadScore   *int32 `json:"topologySpreadScore,omitempty"`
	// Waiting marks a member kept by D3: listed, ineligible, and still holding the workload.
	Waiting bool   `json:"waiting,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Unpicked is one reason why a wanted member is missing.
type Unpicked struct {
	Member string `json:"member"`
	Filter string `json:"filter"`
	Reason string `json:"reason"`
}

// Release is the record release.<placement>, written by the roller alone: which snapshot each
// binding may run.
type Release struct {
	Header
	Placement string `json:"placement"`
	// Step counts the changes of any entry, from 1; an entry that changes takes it as generation.
	Step    int64          `json:"step,omitempty"`
	Entries []ReleaseEntry `json:"entries"` // sorted by member
	// Held says, for each binding that may not advance yet, why.
	Held []Held `json:"held,omitempty"`
	// Taken is what was taken away from members of late, other than by evictions and deletions.
	Taken []Taken `json:"taken,omitempty"`
	// Gone are the objects of what was taken.
	Gone []Gone `json:"gone,omitempty"`
}

// ReleaseEntry is what one member may run of one placement.
type ReleaseEntry struct {
	Member string `json:"member"`
	UID    string `json:"uid"` // of the placement
	// Snapshot is the index of the released snapshot, Work its digest.
	Snapshot int64  `json:"snapshot"`
	Work     string `json:"work"`
	// Generation is the step of the release in which this entry last changed; it never decreases for
	// one member and uid, and results carry it back.
	Generation int64 `json:"generation"`
	// Since is when the snapshot was released to the member, or its withdrawal.
	Since metav1.Time `json:"since"`
	// Apply is the strategy the agent follows.
	Apply *ApplyStrategy `json:"apply,omitempty"`
	// Overrides are those that Work was made with, in the order in which they were followed.
	Overrides []OverrideVersion `json:"overrides,omitempty"`
	// Withdrawn entries are to leave the member; Abandon keeps the objects and forgets them.
	Withdrawn bool `json:"withdrawn,omitempty"`
	Abandon   bool `json:"abandon,omitempty"`
	// Earlier is what the member goes back to where the checks of Snapshot fail; nil where it goes nowhere.
	Earlier *Earlier `json:"earlier,omitempty"`
	// RolledBack is the snapshot that failed its checks and from which the member was taken back, or withdrawn.
	RolledBack int64 `json:"rolledBack,omitempty"`
}

// Held is one binding that waits.
type Held struct {
	Member string `json:"member"`
	Reason string `json:"reason"`
	// Overridden says that overrides cannot be followed on the member; Reason is what is wrong with them.
	Overridden bool `json:"overridden,omitempty"`
	// Guarded says that a freeze, or a withdrawal that is held, is what the binding waits for.
	Guarded bool `json:"guarded,omitempty"`
	// Loss is what is held, zero where it is something else that waits.
	Loss Loss `json:"loss,omitzero"`
}

// Term is the record term: who leads, fenced by its own revision.
type Term struct {
	Header
	Epoch  uint64      `json:"epoch"`
	Term   uint64      `json:"term"`
	Holder string      `json:"holder"`
	Since  metav1.Time `json:"since"`
}

// Layout is the record layout: the number of the last layout step that was applied, and what content is sealed
// with.
type Layout struct {
	Header
	Step int `json:"step"`
	// Format is the StateFormat of the hub that stored what is there.
	Format  int     `json:"format,omitempty"`
	Sealing Sealing `json:"sealing,omitzero"`
}

// StateFormat counts the ways in which bodies and works were stored: since 1 bundles carry them.
const StateFormat = 1

// Sealing names the secrets that digests are made with and that content is sealed with, the newest first.
type Sealing struct {
	Digests string   `json:"digests"`
	Content []string `json:"content"`
}

// Lease is the value of key hub in bucket lease.
type Lease struct {
	Header
	Holder string      `json:"holder"`
	Since  metav1.Time `json:"since"`
	// Settled is the sequence of a write of state that was acknowledged so long before that it is on disk for good.
	Settled uint64 `json:"settled,omitempty"`
}

// Census lists records of state with their revisions: all of them on the pages of one generation, or what
// changed since, 0 for what was deleted. The head of a generation lists none and says how many pages it has.
type Census struct {
	Header
	Generation uint64 `json:"generation"`
	Pages      int    `json:"pages,omitempty"`
	// Tally is of all records there are with this entry, Settled as in a lease.
	Tally   string            `json:"tally,omitempty"`
	Settled uint64            `json:"settled,omitempty"`
	Records map[string]uint64 `json:"records,omitempty"`
}
