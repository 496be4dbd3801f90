package verdict

import (
	"sort"

	"flotilla/core/api"
)

// Filters, the machine-readable reasons why a member was not picked, in the order in which the
// scheduler asks them. A picked member has none.
const (
	FilterAffinity    = "affinity"    // labels, properties or clusterNames do not select it
	FilterEligibility = "eligibility" // leaving, not connected, or unhealthy for too long
	FilterNamespace   = "namespace"   // a ResourcePlacement's namespace is not on it
	FilterTaint       = "taint"       // a taint is not tolerated
	FilterPlaced      = "placed"      // had the placement under this policy and was evicted (D8)
	FilterSpread      = "spread"      // would break a DoNotSchedule spread constraint
	FilterRank        = "rank"        // fits and was scored, others score higher
	FilterNotFound    = "notFound"    // named in clusterNames, not a member
)

// FilterWord says to a person which filter refused a member: a PickFixed has no affinity, it names its
// members.
func FilterWord(t api.PlacementType, filter string) string {
	if t == api.PickFixed && filter == FilterAffinity {
		return "not named"
	}
	return filter
}

// Verdict says what became of one member in one decision. Its JSON is part of `plan` and `why`.
type Verdict struct {
	Member string `json:"member"`
	// Picked says that the member is in the picked set, newly or still.
	Picked bool `json:"picked"`
	// Filter is one of the Filter constants, empty for a picked member.
	Filter string `json:"filter"`
	// Reason is the whole sentence, in KubeFleet's words with observed against wanted added.
	Reason string `json:"reason"`
	// AffinityScore and TopologySpreadScore are nil for members that were not scored.
	AffinityScore       *int32 `json:"affinityScore,omitempty"`
	TopologySpreadScore *int32 `json:"topologySpreadScore,omitempty"`
	// Rank counts from 1 over all scored members of a PickN, picked ones first; 0 means unranked.
	Rank int `json:"rank,omitempty"`
	// Keeps marks a member that is not picked and still holds the workload (D3, D22).
	Keeps bool `json:"keeps"`
}

// Outcome is what became of one member, packed: a filter in the low four bits, flags above. A picked
// member that keeps its place may carry the filter that would refuse it today.
type Outcome uint8

// The filters of an Outcome.
const (
	OutcomeAffinity Outcome = iota + 1
	OutcomeEligibility
	OutcomeNamespace
	OutcomeTaint
	OutcomePlaced
	OutcomeSpread
	OutcomeRank
	OutcomeNotFound

	outcomeFilter Outcome = 0x0f
)

// The flags of an Outcome.
const (
	OutcomePicked Outcome = 1 << (iota + 4)
	OutcomeScored
	OutcomeKeeps
	OutcomeUsed // held the placement under an older policy: the third key of the ranking
)

var outcomeFilters = [16]string{
	OutcomeAffinity:    FilterAffinity,
	OutcomeEligibility: FilterEligibility,
	OutcomeNamespace:   FilterNamespace,
	OutcomeTaint:       FilterTaint,
	OutcomePlaced:      FilterPlaced,
	OutcomeSpread:      FilterSpread,
	OutcomeRank:        FilterRank,
	OutcomeNotFound:    FilterNotFound,
}

// Filter returns the filter's name, also that of a picked member that would be refused today.
func (o Outcome) Filter() string { return outcomeFilters[o&outcomeFilter] }

// Is reports whether o names this filter.
func (o Outcome) Is(filter Outcome) bool { return o&outcomeFilter == filter }

// Has reports whether o carries this flag.
func (o Outcome) Has(flag Outcome) bool { return o&flag != 0 }

// What a Want is about, and so how its causes read.
const (
	WantPhrase   = ""         // Subject is a whole phrase; a number of minutes takes the place of {}
	WantLabel    = "label"    // Subject is a label key
	WantProperty = "property" // Subject is a property name
	WantSpread   = "spread"   // Subject is a whole phrase, values are domains, numbers are picks in them
)

// Want is one thing a decision asked of members: the subject of a sentence and what was wanted.
type Want struct {
	Kind    string `json:"kind,omitempty"`
	Subject string `json:"subject"`
	// Wanted is "In (eastus, northeurope)", ">= 5", "at most 5.00".
	Wanted string `json:"wanted,omitempty"`
	// Values are what members were observed to have; causes point into it. Entry 0 is nothing.
	Values []string `json:"-"`
}

// Cause is why a filter refused one member. A member refused by affinity has one cause a term: its
// first failing expression.
type Cause struct {
	// Want indexes Verdicts.Wants.
	Want int32
	// Value indexes Values of the want: what was observed, 0 when it was absent, negative when the
	// value -Value is not a quantity (D1).
	Value int32
	// Number is hundredths of a minute for eligibility, the picks in the domain for spread.
	Number int32
}

// Verdicts is the record verdict.<placement>, written by the scheduler alone: a verdict for every
// member, in columns. Sentences are rendered on demand, so that ten thousand verdicts fit into one
// small value. All columns run over Members; it is not changed after it was made.
type Verdicts struct {
	api.Header
	Placement  string
	UID        string
	Generation int64
	Type       api.PlacementType
	// Want is the wanted number of members; nil for PickAll.
	Want *int32
	// Members are sorted by name. Names that a PickFixed lists and no member carries are among them.
	Members  []string
	Outcomes []Outcome
	// First points, for a member with a filter that has causes, at its first one in Causes.
	First []int32
	// Affinity and Spread are the scores of members whose outcome is scored; nil stands for zeros.
	Affinity []int32
	Spread   []int32
	// Ranks counts from 1; nil when nothing was ranked.
	Ranks []int32
	// Terms is the number of required affinity terms, and of causes of a refusal by affinity.
	Terms  int
	Wants  []Want
	Causes []Cause
}

// Len returns the number of verdicts.
func (v *Verdicts) Len() int { return len(v.Members) }

// Row renders the verdict at index i, 0 <= i < Len().
func (v *Verdicts) Row(i int) Verdict {
	o := v.Outcomes[i]
	row := Verdict{Member: v.Members[i], Picked: o.Has(OutcomePicked), Keeps: o.Has(OutcomeKeeps)}
	if !row.Picked {
		row.Filter = o.Filter()
	}
	if o.Has(OutcomeScored) {
		scores := [2]int32{at(v.Affinity, i), at(v.Spread, i)}
		row.AffinityScore, row.TopologySpreadScore = &scores[0], &scores[1]
		row.Rank = int(at(v.Ranks, i))
	}
	row.Reason = v.reason(i)
	return row
}

// Of returns the verdict on one member; false when it was no member at the time.
func (v *Verdicts) Of(member string) (Verdict, bool) {
	i, found := sort.Find(len(v.Members), func(i int) int {
		switch {
		case member < v.Members[i]:
			return -1
		case member > v.Members[i]:
			return 1
		}
		return 0
	})
	if !found {
		return Verdict{}, false
	}
	return v.Row(i), true
}

// All renders every verdict, by member name.
func (v *Verdicts) All() []Verdict {
	rows := make([]Verdict, v.Len())
	for i := range rows {
		rows[i] = v.Row(i)
	}
	return rows
}

// Tally counts members by filter; picked ones stand under the empty string.
func (v *Verdicts) Tally() map[string]int {
	tally := map[string]int{}
	for _, o := range v.Outcomes {
		if o.Has(OutcomePicked) {
			tally[""]++
		} else {
			tally[o.Filter()]++
		}
	}
	return tally
}

// value follows a cause's Value, of either sign.
func (want *Want) value(index int32) string {
	if index == 0 {
		return ""
	}
	return want.Values[max(index, -index)]
}

func equalWant(a, b *int32) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// at reads a column that stands for zeros when it is nil.
func at(column []int32, i int) int32 {
	if column == nil {
		return 0
	}
	return column[i]
}

// causes returns the causes of the refusal at i.
func (v *Verdicts) causes(i int) []Cause {
	n := v.causeCount(v.Outcomes[i])
	if n == 0 {
		return nil
	}
	first := int(v.First[i])
	return v.Causes[first : first+n]
}

// causeCount says how many causes a refusal has.
func (v *Verdicts) causeCount(o Outcome) int {
	switch o & outcomeFilter {
	case 0, OutcomeRank, OutcomeNotFound:
		return 0
	case OutcomeAffinity:
		return v.Terms
	}
	return 1
}
