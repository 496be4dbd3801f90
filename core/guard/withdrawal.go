package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Window is for how long what was taken away counts, confirmed or not.
const Window = 10 * time.Minute

// Bounds are how much may be taken away at once without anybody approving it: at most so many per cent, or at most so many.
type Bounds struct {
	Percent int
	Count   int
}

// DefaultBounds are 30 % and 10.
func DefaultBounds() Bounds { return Bounds{Percent: 30, Count: 10} }

// Exceeded says that taking so many of so many is beyond both bounds.
func (b Bounds) Exceeded(taken, of int) bool { return taken > b.Count && taken*100 > b.Percent*of }

// Ground is what a rollout goes by on what it would take away. Taken is how many objects other placements took off a member of
// late and did not give back, Has how many it has of all of them.
type Ground struct {
	Bounds   Bounds
	Taken    func(member string) int
	Has      func(member string) int
	Snapshot func(index int64) *api.Snapshot
	// Approved says that somebody approved a loss.
	Approved func(member string, loss api.Loss) bool
}

// Approves says that an approval is of a loss of a placement.
func Approves(a *api.WithdrawalApproval, placement, uid, member string, loss api.Loss) bool {
	return slices.ContainsFunc(a.Losses, func(l api.HeldLoss) bool {
		return l.Placement == placement && l.UID == uid && l.Member == member && l.Loss == loss
	})
}

// ApprovalOfPlacement is the name of the record of what was approved of a placement, ApprovalOfMember of a member.
func ApprovalOfPlacement(key string) string { return "placement." + key }

// ApprovalOfMember is ApprovalOfPlacement for what a member loses.
func ApprovalOfMember(name string) string { return "member." + name }

// Digest is of losses, in whatever order; empty of none.
func Digest(losses []api.HeldLoss) string {
	lines := make([]string, len(losses))
	for i := range losses {
		l := losses[i]
		l.Names = nil
		text, err := json.Marshal(l)
		if err != nil {
			return ""
		}
		lines[i] = string(text)
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}
