package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VerbApproveWithdrawal is the verb that lets a withdrawal go that is held.
const VerbApproveWithdrawal = "approve-withdrawal"

// ReasonWithdrawalHeld is the reason of what waits because it would take away too much at once.
const ReasonWithdrawalHeld = "WithdrawalHeld"

// Loss is what one step of a rollout takes away from a member.
type Loss struct {
	// Objects is how many the member loses.
	Objects int `json:"objects"`
	// Of is the generation of the released entry that they are of, To the snapshot that the member is to get, 0 where it is to
	// give the placement up.
	Of int64 `json:"of"`
	To int64 `json:"to,omitempty"`
	// Whole says that nothing of the placement would be left on the member.
	Whole bool `json:"whole,omitempty"`
}

// Taken says that a release took away from a member what one snapshot holds and another does not, other than by what has
// bounds of its own. To is 0 where the member gave the placement up.
type Taken struct {
	Member string      `json:"member"`
	UID    string      `json:"uid"` // of the placement
	From   int64       `json:"from"`
	To     int64       `json:"to,omitempty"`
	Whole  bool        `json:"whole,omitempty"` // nothing of the placement was left
	At     metav1.Time `json:"at"`
}

// Gone are the objects that one snapshot holds and another does not, as group|kind namespace/name: they count for longer than
// snapshots are kept.
type Gone struct {
	UID     string   `json:"uid"` // of the placement
	From    int64    `json:"from"`
	To      int64    `json:"to,omitempty"`
	Objects []string `json:"objects"`
}

// HeldLoss is one loss of a withdrawal that is held, or was approved.
type HeldLoss struct {
	Placement string `json:"placement"`
	UID       string `json:"uid"` // of the placement
	Member    string `json:"member"`
	Loss
	// Names are the first objects that would go; only answers have them.
	Names []string `json:"names,omitempty"`
}

// WithdrawalApproval is the record approval.<placement or member>, written by the door alone: which losses somebody
// approved.
type WithdrawalApproval struct {
	Header
	// Of is "placement/web" or "member/berlin".
	Of      string      `json:"of"`
	By      string      `json:"by"`
	At      metav1.Time `json:"at"`
	Request string      `json:"request,omitempty"`
	Losses  []HeldLoss  `json:"losses"`
}

// ApproveWithdrawalRequest asks to let go what is held of a placement, or what is held that a member would lose.
type ApproveWithdrawalRequest struct {
	Asked
	// Request is a client-made id; the hub answers a repeated one as it did first.
	Request   string    `json:"request"`
	Placement ObjectRef `json:"placement,omitzero"`
	Member    string    `json:"member,omitempty"`
	// Digest is of what was shown; nothing else is let go. A dry run needs none.
	Digest string `json:"digest,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// ActionApproved is what became of a withdrawal that was held.
const ActionApproved = "approved"

// ApproveWithdrawalResponse says what is held, and with ActionApproved that it goes.
type ApproveWithdrawalResponse struct {
	Action string `json:"action"`
	// Of is "placement/web" or "member/berlin".
	Of      string     `json:"of"`
	Objects int        `json:"objects"`
	Losses  []HeldLoss `json:"losses"`
	Digest  string     `json:"digest,omitempty"`
}
