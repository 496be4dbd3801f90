package api

import (
	"fmt"
	"strconv"
	"strings"
)

// Level is the protocol level this build speaks. A reader ignores unknown fields of a higher level;
// a writer never sends a member anything above the level its heartbeat states.
//
//	1  2026-11  first level
const Level = 1

// Kinds of records and messages.
const (
	KindSpec             = "Spec"
	KindSnapshot         = "Snapshot"
	KindMemberRecord     = "MemberRecord"
	KindSchedule         = "Schedule"
	KindVerdicts         = "Verdicts"
	KindRelease          = "Release"
	KindRendered         = "Rendered"
	KindPlacementStatus  = "PlacementStatus"
	KindTerm             = "Term"
	KindLayout           = "Layout"
	KindLease            = "Lease"
	KindCensus           = "Census"
	KindHeartbeat        = "Heartbeat"
	KindPlacementCommand = "PlacementCommand"
	KindPlacementDelta   = "PlacementDelta"
	KindPlacementResult  = "PlacementResult"
	KindWork             = "Work"
	KindAudit            = "Audit"
	KindUser             = "User"
	KindIdentity         = "Identity"
	KindEnrolmentRequest = "EnrolmentRequest"
	KindEnrolmentAnswer  = "EnrolmentAnswer"
	KindEvictionRecord   = "EvictionRecord"
	KindCheckRecord      = "CheckRecord"
	KindFreeze           = "Freeze"
	KindApproval         = "WithdrawalApproval"
	KindSession          = "Session"
)

// Header opens every record and message.
type Header struct {
	// Kind is one of the Kind constants.
	Kind string `json:"kind"`
	// Level is the protocol level of the writer.
	Level int `json:"level"`
}

// NewHeader returns the header this build writes for kind.
func NewHeader(kind string) Header { return Header{Kind: kind, Level: Level} }

// Order is the total order of commands and of the results that answer them: epoch first, then term,
// then generation. A restore of the hub's data starts a new epoch, and so does a loss of its newest writes, a
// takeover a new term, and each command of one subject a new generation.
type Order struct {
	Epoch      uint64 `json:"epoch"`
	Term       uint64 `json:"term"`
	Generation uint64 `json:"generation"`
}

// String is "epoch.term.generation".
func (o Order) String() string { return fmt.Sprintf("%d.%d.%d", o.Epoch, o.Term, o.Generation) }

// ParseOrder reads what String writes.
func ParseOrder(text string) (Order, error) {
	parts := strings.Split(text, ".")
	var numbers [3]uint64
	wrong := len(parts) != len(numbers)
	for i := 0; i < len(numbers) && !wrong; i++ {
		var err error
		numbers[i], err = strconv.ParseUint(parts[i], 10, 64)
		wrong = err != nil
	}
	if wrong {
		return Order{}, fmt.Errorf("found %q, expected an order, such as 1.1795846287.12", text)
	}
	return Order{numbers[0], numbers[1], numbers[2]}, nil
}

// Compare returns -1, 0 or 1 as o is older than, equal to or newer than p.
func (o Order) Compare(p Order) int {
	for _, pair := range [][2]uint64{{o.Epoch, p.Epoch}, {o.Term, p.Term}, {o.Generation, p.Generation}} {
		switch {
		case pair[0] < pair[1]:
			return -1
		case pair[0] > pair[1]:
			return 1
		}
	}
	return 0
}
