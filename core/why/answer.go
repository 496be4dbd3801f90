package why

import (
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
)

// Answer explains one member's verdict. Its JSON is what `flotilla why -o json` prints.
type Answer struct {
	Placement string            `json:"placement"`
	Type      api.PlacementType `json:"type"`
	Member    string            `json:"member"`
	Verdict   verdict.Verdict   `json:"verdict"`
	// Checks are what the filters asked of the member, in their order, passed or not.
	Checks []schedule.Check `json:"checks"`
	// Tie is set when the rank was decided among members of equal scores.
	Tie *Tie `json:"tie,omitempty"`
	// Flip is the smallest single change that flips the verdict; nil when none of those tried does.
	Flip *Flip `json:"flip,omitempty"`
	// NoFlip says why Flip is nil.
	NoFlip string `json:"noFlip,omitempty"`
	// Rollout says how far the member has come with what it was picked for, or is to give up; empty when
	// that is not known, as from files, or there is nothing to say.
	Rollout string `json:"rollout,omitempty"`
}

// String renders the answer on several lines, the way the command line prints it.
func (a *Answer) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s on %s: %s\n  %s\n", a.Placement, a.Member, a.Standing(), a.Verdict.Reason)
	for _, c := range a.Checks {
		fmt.Fprintf(&text, "  %s %s\n", mark(c.Passed), c)
	}
	if a.Verdict.AffinityScore != nil {
		when := "after the last pick"
		if a.Verdict.Picked {
			when = "when it was picked"
		}
		fmt.Fprintf(&text, "  scores %s: affinity %d, topology spread %d", when, *a.Verdict.AffinityScore, *a.Verdict.TopologySpreadScore)
		if a.Verdict.Rank > 0 {
			fmt.Fprintf(&text, ", rank %d", a.Verdict.Rank)
		}
		text.WriteByte('\n')
	}
	if a.Tie != nil {
		fmt.Fprintf(&text, "  tie: %s\n", a.Tie)
	}
	if a.Rollout != "" {
		fmt.Fprintf(&text, "  rollout: %s\n", a.Rollout)
	}
	if a.Flip == nil {
		fmt.Fprintf(&text, "  flip: %s\n", a.NoFlip)
		return text.String()
	}
	fmt.Fprintf(&text, "  flip: %s\n", a.Flip.Text)
	if a.Flip.Command != "" {
		fmt.Fprintf(&text, "        %s\n", a.Flip.Command)
	}
	return text.String()
}

// Standing is the verdict in a few words, "not picked (taint)".
func (a *Answer) Standing() string {
	switch v := &a.Verdict; {
	case v.Picked:
		return "picked"
	case v.Keeps:
		return "not picked (" + v.Filter + "), keeps what it has"
	default:
		return "not picked (" + verdict.FilterWord(a.Type, v.Filter) + ")"
	}
}

func mark(passed bool) string {
	if passed {
		return "ok"
	}
	return "no"
}
