package plan

import "flotilla/core/api"

// Report is the stable JSON of `flotilla plan -o json` (docs/json.md). Every field is always
// present; lists are never null; a score that was not computed is null.
type Report struct {
	// Placements are sorted by name.
	Placements []Placement `json:"placements"`
	// Runs are sorted by name.
	Runs []Run `json:"runs"`
}

// Placement is what would become of one placement.
type Placement struct {
	// Name is the placement's key, "web" or "namespace/web".
	Name      string            `json:"name"`
	Type      api.PlacementType `json:"type"`
	Fulfilled bool              `json:"fulfilled"`
	Picked    []Pick            `json:"picked"`   // sorted by member
	Removed   []Removal         `json:"removed"`  // sorted by member
	Verdicts  []Verdict         `json:"verdicts"` // one for every member, sorted by member; fewer beyond Input.MaxVerdicts
	// RolloutMessage says what its rollout waits for at present; empty when it is complete, or not known.
	RolloutMessage string `json:"rolloutMessage"`
}

// Changes of a Pick.
const (
	ChangeAdd  = "add"
	ChangeKeep = "keep"
)

// Pick is one member the placement would go to, or stay on.
type Pick struct {
	Member              string `json:"member"`
	AffinityScore       *int32 `json:"affinityScore"`
	TopologySpreadScore *int32 `json:"topologySpreadScore"`
	Change              string `json:"change"`
	Course
	// Taint is the first one that the placement does not tolerate, of a member that stays because it was picked
	// before; empty for others.
	Taint string `json:"taint"`
}

// Removal is one member the placement would leave.
type Removal struct {
	Member string `json:"member"`
	Reason string `json:"reason"`
	Course
}

// Verdict says of one member why it was picked or not. Filter is empty for a member that was picked
// or kept, else one of affinity, eligibility, namespace, taint, placed, spread, rank, notFound. Rank
// counts scored members from 1, best first; 0 is not scored. Keeps marks a member that is not picked
// and still holds the workload (D3, D22).
type Verdict struct {
	Member              string `json:"member"`
	Filter              string `json:"filter"`
	Reason              string `json:"reason"`
	AffinityScore       *int32 `json:"affinityScore"`
	TopologySpreadScore *int32 `json:"topologySpreadScore"`
	Rank                int    `json:"rank"`
	Keeps               bool   `json:"keeps"`
}

// Answer is the whole answer to a plan request: the report, and what is not about members. It is
// the reply of api.plan.
type Answer struct {
	Report
	// Details has one entry for each placement of the report, in the same order.
	Details []Detail `json:"details"`
	// RunDetails has one entry for each run of the report, in the same order.
	RunDetails []RunDetail `json:"runDetails,omitempty"`
	// Objects says what applying would do to each document; empty offline, where nothing current is
	// known.
	Objects []api.ApplyResult `json:"objects,omitempty"`
	Content []ContentChange   `json:"content,omitempty"`
	Notes   []string          `json:"notes,omitempty"`
}

// Detail is what a person reads of a placement beside its members.
type Detail struct {
	Kind string `json:"kind"`
	// Message is the scheduler's, "found 3 of 5 members".
	Message string `json:"message"`
	// Unpicked says, up to the number of missing members, why no member was found.
	Unpicked []api.Unpicked `json:"unpicked,omitempty"`
	// Rollout says how many members would change at once; empty when no member changes.
	Rollout string `json:"rollout,omitempty"`
}

// ContentChange is how the newest snapshot of a placement would differ from its present one.
type ContentChange struct {
	Placement string `json:"placement"`
	// Members is how many members the new snapshot would roll out to.
	Members int             `json:"members"`
	Added   []api.ObjectRef `json:"added,omitempty"`
	Changed []api.ObjectRef `json:"changed,omitempty"`
	Removed []api.ObjectRef `json:"removed,omitempty"`
	// Error says why the selectors cannot be followed; then nothing would move.
	Error string `json:"error,omitempty"`
	// Rollout says how many members change at once, where the report does not say it of the placement.
	Rollout string `json:"rollout,omitempty"`
}

// Changed says whether applying would change anything.
func (a *Answer) Changed() bool {
	for i := range a.Placements {
		if adds, _ := a.Placements[i].Counts(); adds > 0 || len(a.Placements[i].Removed) > 0 {
			return true
		}
	}
	for i := range a.Runs {
		if len(a.Runs[i].Events) > 0 {
			return true
		}
	}
	for i := range a.Objects {
		if a.Objects[i].Action != api.ActionUnchanged {
			return true
		}
	}
	return len(a.Content) > 0
}

// Counts returns how many members would be added and kept.
func (p *Placement) Counts() (added, kept int) {
	for i := range p.Picked {
		if p.Picked[i].Change == ChangeAdd {
			added++
		} else {
			kept++
		}
	}
	return added, kept
}
