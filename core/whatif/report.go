package whatif

import "flotilla/core/api"

// Report is the stable JSON of `flotilla plan --without … -o json` (docs/json.md). Every field is always present; lists are
// never null; a score or a number that does not exist is null.
type Report struct {
	Without []Leaver `json:"without"` // sorted by member
	Added   Added    `json:"added"`
	Totals  Totals   `json:"totals"`
	// Placements are those of which anything changes, sorted by name.
	Placements []Placement `json:"placements"`
	// Runs are those that have not ended and hold members that leave, sorted by name.
	Runs []Run `json:"runs"`
}

// Added is what documents add, or change.
type Added struct {
	Members    []string `json:"members"`
	Placements []string `json:"placements"`
}

// Totals count all that changes, also what is not listed.
type Totals struct {
	Members      Change `json:"members"`
	Placements   int    `json:"placements"` // of the fleet
	Changed      int    `json:"changed"`    // those of which anything changes
	Gains        int    `json:"gains"`
	Losses       int    `json:"losses"`
	Unfilled     Change `json:"unfilled"`     // members that are wanted and not found
	BrokenSpread int    `json:"brokenSpread"` // spread constraints that hold before, and not after
	Nowhere      int    `json:"nowhere"`      // placements that are on a member before, and on none after
}

// Change is a number before and after.
type Change struct {
	Before int `json:"before"`
	After  int `json:"after"`
}

// Placement is what becomes of one placement.
type Placement struct {
	// Name is the placement's key, "web" or "namespace/web".
	Name string            `json:"name"`
	Kind string            `json:"kind"`
	Type api.PlacementType `json:"type"`
	// New says that a document adds it, Changed that one changes it.
	New     bool `json:"new"`
	Changed bool `json:"changed"`
	// Wanted is how many members are asked for in the end, null for a PickAll.
	Wanted   *int32 `json:"wanted"`
	Picked   Change `json:"picked"`
	Unfilled Change `json:"unfilled"`
	Moves
	// Missing are names of clusterNames that no member has in the end and one had before, sorted.
	Missing []string `json:"missing"`
	// Unpicked says, up to the number of members that are not found, why.
	Unpicked []api.Unpicked `json:"unpicked"`
	// Fill is the smallest single change that fills a slot; null when none is missing, none that was tried does, or
	// NoFill says why none was looked for.
	Fill   *Fill    `json:"fill"`
	NoFill string   `json:"noFill"`
	Spread []Spread `json:"spread"` // constraints whose skew changes, or that are broken, in their order
}

// Moves are the members that a placement comes to, and those that it leaves.
type Moves struct {
	Gained int    `json:"gained"`
	Lost   int    `json:"lost"`
	Gains  []Gain `json:"gains"`  // sorted by member, fewer than Gained beyond Input.MaxRows
	Losses []Loss `json:"losses"` // the same
}

// Gain is one member that the placement comes to.
type Gain struct {
	Member              string `json:"member"`
	AffinityScore       *int32 `json:"affinityScore"`
	TopologySpreadScore *int32 `json:"topologySpreadScore"`
	Reason              string `json:"reason"`
}

// What becomes of objects on a member that loses a placement.
const (
	ObjectsStay = "stay" // the member leaves with them
	ObjectsGo   = "go"   // they are taken off
)

// Loss is one member that the placement leaves.
type Loss struct {
	Member string `json:"member"`
	Reason string `json:"reason"`
	// Objects is ObjectsStay or ObjectsGo.
	Objects string `json:"objects"`
}

// Fill is a change that fills a slot.
type Fill struct {
	Member  string `json:"member"`
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	Command string `json:"command"`
}

// Spread is how evenly a placement lies over the values of a label: by how many the fullest has more than the emptiest.
type Spread struct {
	TopologyKey       string `json:"topologyKey"`
	WhenUnsatisfiable string `json:"whenUnsatisfiable"`
	MaxSkew           int32  `json:"maxSkew"`
	Skew              Change `json:"skew"`
	// Broken says that the skew is within MaxSkew before, and beyond it after.
	Broken bool `json:"broken"`
	// Emptiest and Fullest are values of the label in the end, the first of several; empty when no member has it.
	Emptiest string `json:"emptiest"`
	Fullest  string `json:"fullest"`
}

// Run is an update run or a staged run that holds members that leave.
type Run struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Placement is that of a run of content, else empty.
	Placement string `json:"placement"`
	// Skipped are members that it would pass by, Awaited those whose upgrade runs: it would wait for them until its
	// timeout, as it does for any member that falls silent.
	Skipped []string `json:"skipped"`
	Awaited []string `json:"awaited"`
}

// Answer is the reply to a question, and what is not in its report.
type Answer struct {
	Report
	// LeftOut is how many gains and losses are counted and not listed.
	LeftOut int      `json:"leftOut,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Differs says whether anything would change.
func (a *Answer) Differs() bool { return len(a.Placements) > 0 || len(a.Runs) > 0 }
