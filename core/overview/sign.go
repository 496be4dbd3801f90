package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
)

// Sign says on one scale how something does, the worst last. Its text is its name.
type Sign uint8

// The signs.
const (
	Well    Sign = iota // as it is wanted
	Moving              // on its way
	Waiting             // waits for others, for people or for its turn
	Warn                // not as it is wanted, and somebody should look
	Bad                 // failed
	Away                // not heard of, so that nobody knows
)

var signs = [...]struct{ name, glyph string }{{"Well", "·"}, {"Moving", "↻"}, {"Waiting", "‖"}, {"Warn", "▲"}, {"Bad", "✖"}, {"Away", "○"}}

// Signs lists all signs, the best first.
func Signs() []Sign { return []Sign{Well, Moving, Waiting, Warn, Bad, Away} }

// String is the name of the sign.
func (s Sign) String() string {
	if int(s) >= len(signs) {
		return fmt.Sprintf("Sign(%d)", uint8(s))
	}
	return signs[s].name
}

// Glyph is the character that is drawn beside a colour.
func (s Sign) Glyph() string { return signs[min(int(s), len(signs)-1)].glyph }

// MarshalText writes the name.
func (s Sign) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name.
func (s *Sign) UnmarshalText(text []byte) error {
	for i := range signs {
		if signs[i].name == string(text) {
			*s = Sign(i)
			return nil
		}
	}
	return fmt.Errorf("sign %q: expected one of %v", text, Signs())
}

// BySign counts by sign. Its JSON leaves out what is 0.
type BySign struct {
	Well    int `json:"well,omitempty"`
	Moving  int `json:"moving,omitempty"`
	Waiting int `json:"waiting,omitempty"`
	Warn    int `json:"warn,omitempty"`
	Bad     int `json:"bad,omitempty"`
	Away    int `json:"away,omitempty"`
}

// Of is the count of a sign, to read or to change.
func (c *BySign) Of(s Sign) *int {
	return [...]*int{&c.Well, &c.Moving, &c.Waiting, &c.Warn, &c.Bad, &c.Away}[s]
}

// Worst is the worst sign that counts anything, Well where none does.
func (c *BySign) Worst() Sign {
	for _, s := range slices.Backward(Signs()) {
		if *c.Of(s) > 0 {
			return s
		}
	}
	return Well
}

// Tally is how many have a sign, or are in a state of that sign.
type Tally struct {
	State string
	Sign  Sign
	Count int
}

// Tallies are those of the signs that count anything, the worst first.
func (c *BySign) Tallies() (tallies []Tally) {
	for _, s := range slices.Backward(Signs()) {
		if n := *c.Of(s); n > 0 {
			tallies = append(tallies, Tally{s.String(), s, n})
		}
	}
	return tallies
}

// tally lists the states that count anything, in an order of states.
func tally[S ~string](states []S, counts map[S]int, sign func(S) Sign) (tallies []Tally) {
	for _, state := range states {
		if n := counts[state]; n > 0 {
			tallies = append(tallies, Tally{string(state), sign(state), n})
		}
	}
	return tallies
}

// memberStates are those that members are shown in.
var memberStates = []api.MemberState{api.MemberReady, api.MemberUnknown, api.MemberNotReady, api.MemberJoining, api.MemberLeaving}

// MemberTallies count members by state, as tables show it.
func MemberTallies(members []*Member) []Tally {
	states := map[api.MemberState]int{}
	for _, m := range members {
		states[m.Shown()]++
	}
	return tally(memberStates, states, SignOfMember)
}

// WorstFirst orders rows by how they do, the worst first, then by name.
func WorstFirst[T any](rows []T, of func(*T) (Sign, string)) {
	slices.SortStableFunc(rows, func(a, b T) int {
		x, named := of(&a)
		y, other := of(&b)
		return cmp.Or(cmp.Compare(y, x), strings.Compare(named, other))
	})
}

// SignOfMember is how a member in that state does: one that is not Ready is never Well.
func SignOfMember(state api.MemberState) Sign {
	switch state {
	case api.MemberReady:
		return Well
	case api.MemberLeaving:
		return Moving
	case api.MemberJoining:
		return Waiting
	case api.MemberNotReady:
		return Bad
	}
	return Away
}

// SignOfEntry is how one member does with a placement, by its state there: one of the Entry constants of package api.
func SignOfEntry(state string) Sign {
	switch state {
	case api.EntryAvailable, api.EntrySame:
		return Well
	case api.EntryApplying, api.EntryWithdrawing:
		return Moving
	case api.EntryPending, api.EntryWaiting, api.EntryKept:
		return Waiting
	case api.EntryNotAvailable, api.EntryDrifted, api.EntryDiffers, api.EntryMissing:
		return Warn
	case api.EntryFailed:
		return Bad
	}
	return Away
}

// SignOfUpdate is how a run, or a part of one, in that state does.
func SignOfUpdate(state api.UpdateState) Sign {
	switch state {
	case api.StateCompleted, api.StateSkipped:
		return Well
	case api.StateRunning, api.StateStopping:
		return Moving
	case api.StateNotStarted, api.StatePending:
		return Waiting
	case api.StateStopped:
		return Warn
	case api.StateFailed:
		return Bad
	}
	return Away
}

// SignOfNode is how a node in that state does: one of the Node constants of package api.
func SignOfNode(state string) Sign {
	switch state {
	case api.NodeReady:
		return Well
	case api.NodeDisrupting, api.NodeDeleting:
		return Moving
	case api.NodeNotInitialized:
		return Waiting
	case api.NodeNotReady:
		return Bad
	}
	return Away
}

// SignOfPhase is how a disruption in that phase does.
func SignOfPhase(phase string) Sign {
	switch phase {
	case api.PhaseDone:
		return Well
	case api.PhaseLaunching, api.PhaseDraining:
		return Moving
	case api.PhaseWaiting:
		return Waiting
	case api.PhaseAborted:
		return Warn
	}
	return Bad
}
