package api

import (
	"encoding/json"
	"fmt"
	"strings"
)

// verdictColumns is the stored form of Verdicts. Outcomes are letters into Legend, scores stand only
// for scored members, and causes are a dictionary in order of first use: Use holds, in member order,
// 0 for the next new entry and k for the entry k-1, so that a run of new ones compresses to nothing.
type verdictColumns struct {
	Header
	Placement  string        `json:"placement"`
	UID        string        `json:"uid,omitempty"`
	Generation int64         `json:"generation,omitempty"`
	Type       PlacementType `json:"type"`
	Want       *int32        `json:"want,omitempty"`
	Members    []string      `json:"members"`
	Legend     []Outcome     `json:"legend"`
	Outcomes   string        `json:"outcomes"`
	Affinity   []int32       `json:"affinity,omitempty"`
	Spread     []int32       `json:"spread,omitempty"`
	Ranked     bool          `json:"ranked,omitempty"`
	Terms      int           `json:"terms,omitempty"`
	Wants      []Want        `json:"wants,omitempty"`
	Causes     causeColumns  `json:"causes,omitzero"`
}

type causeColumns struct {
	Want     []int32  `json:"want"`
	State    []int    `json:"state"`
	Observed []string `json:"observed"`
	Age      []int64  `json:"age,omitempty"`
	Use      []int32  `json:"use"`
}

// firstLetter opens the alphabet of outcomes; 128 letters follow it at most.
const firstLetter = 'A'

// MarshalJSON writes the columns. It fails for more than 60 distinct outcomes, of which there are
// fewer.
func (v *Verdicts) MarshalJSON() ([]byte, error) {
	c := verdictColumns{
		Header: v.Header, Placement: v.Placement, UID: v.UID, Generation: v.Generation, Type: v.Type,
		Want: v.Want, Members: v.Members, Ranked: v.Ranks != nil, Terms: v.Terms, Wants: v.Wants,
	}
	c.Legend, c.Outcomes = spell(v.Outcomes)
	c.Affinity = v.scored(v.Affinity)
	c.Spread = v.scored(v.Spread)
	c.Causes = v.dictionary()
	return json.Marshal(&c)
}

// spell writes outcomes as letters.
func spell(outcomes []Outcome) ([]Outcome, string) {
	var legend []Outcome
	var letter [256]byte
	text := make([]byte, len(outcomes))
	for i, o := range outcomes {
		if letter[o] == 0 {
			letter[o] = byte(firstLetter + len(legend))
			legend = append(legend, o)
		}
		text[i] = letter[o]
	}
	return legend, string(text)
}

// scored keeps the entries of a column that belong to scored members; nil when all are zero.
func (v *Verdicts) scored(column []int32) []int32 {
	var kept []int32
	zero := true
	for i, o := range v.Outcomes {
		if o.Has(OutcomeScored) && column != nil {
			kept = append(kept, column[i])
			zero = zero && column[i] == 0
		}
	}
	if zero {
		return nil
	}
	return kept
}

// dictionary collects the causes in member order.
func (v *Verdicts) dictionary() causeColumns {
	var c causeColumns
	known := map[Cause]int32{}
	aged := false
	for i := range v.Members {
		for _, cause := range v.causes(i) {
			if k, ok := known[cause]; ok {
				c.Use = append(c.Use, k)
				continue
			}
			known[cause] = int32(len(known) + 1)
			c.Use = append(c.Use, 0)
			c.Want = append(c.Want, cause.Want)
			c.State = append(c.State, int(cause.State))
			c.Observed = append(c.Observed, cause.Observed)
			c.Age = append(c.Age, cause.Age)
			aged = aged || cause.Age != 0
		}
	}
	if !aged {
		c.Age = nil
	}
	return c
}

// UnmarshalJSON reads the columns and refuses those that do not fit together.
func (v *Verdicts) UnmarshalJSON(text []byte) error {
	var c verdictColumns
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	out := Verdicts{
		Header: c.Header, Placement: c.Placement, UID: c.UID, Generation: c.Generation, Type: c.Type,
		Want: c.Want, Members: c.Members, Terms: c.Terms, Wants: c.Wants,
	}
	if err := out.readOutcomes(c); err != nil {
		return fmt.Errorf("reading verdicts of %s: %w", c.Placement, err)
	}
	if err := out.readCauses(c.Causes); err != nil {
		return fmt.Errorf("reading verdicts of %s: %w", c.Placement, err)
	}
	if c.Ranked {
		out.Rank()
	}
	*v = out
	return nil
}

func (v *Verdicts) readOutcomes(c verdictColumns) error {
	if len(c.Outcomes) != len(c.Members) {
		return fmt.Errorf("%d outcomes for %d members", len(c.Outcomes), len(c.Members))
	}
	scored := 0
	v.Outcomes = make([]Outcome, len(c.Members))
	for i := range c.Outcomes {
		k := int(c.Outcomes[i]) - firstLetter
		if k < 0 || k >= len(c.Legend) {
			return fmt.Errorf("outcome %q is not in the legend of %d", c.Outcomes[i], len(c.Legend))
		}
		v.Outcomes[i] = c.Legend[k]
		if c.Legend[k].Has(OutcomeScored) {
			scored++
		}
	}
	var err error
	if v.Affinity, err = v.spreadOut("affinity", c.Affinity, scored); err != nil {
		return err
	}
	v.Spread, err = v.spreadOut("spread", c.Spread, scored)
	return err
}

// spreadOut puts the scores of scored members back into a column over all members.
func (v *Verdicts) spreadOut(name string, scores []int32, scored int) ([]int32, error) {
	if scores == nil {
		return nil, nil
	}
	if len(scores) != scored {
		return nil, fmt.Errorf("%d %s scores for %d scored members", len(scores), name, scored)
	}
	column := make([]int32, len(v.Outcomes))
	next := 0
	for i, o := range v.Outcomes {
		if o.Has(OutcomeScored) {
			column[i] = scores[next]
			next++
		}
	}
	return column, nil
}

func (v *Verdicts) readCauses(c causeColumns) error {
	n := len(c.Want)
	if len(c.State) != n || len(c.Observed) != n || (c.Age != nil && len(c.Age) != n) {
		return fmt.Errorf("columns of causes differ in length")
	}
	v.First = make([]int32, len(v.Outcomes))
	v.Causes = make([]Cause, 0, len(c.Use))
	fresh := 0
	for _, k := range c.Use {
		entry := int(k) - 1
		if k == 0 {
			entry = fresh
			fresh++
		}
		if entry < 0 || entry >= n || c.Want[entry] < 0 || int(c.Want[entry]) >= len(v.Wants) {
			return fmt.Errorf("cause %d points outside of its table", len(v.Causes))
		}
		cause := Cause{Want: c.Want[entry], State: uint8(c.State[entry]), Observed: c.Observed[entry]}
		if c.Age != nil {
			cause.Age = c.Age[entry]
		}
		v.Causes = append(v.Causes, cause)
	}
	next := 0
	for i, o := range v.Outcomes {
		v.First[i] = int32(next)
		next += v.causeCount(o)
	}
	if next != len(v.Causes) {
		return fmt.Errorf("%d causes where the outcomes have %d", len(v.Causes), next)
	}
	return nil
}

// String sums the verdicts up on one line: "12 picked, 3 taint, 40 affinity of 55".
func (v *Verdicts) String() string {
	tally := v.Tally()
	parts := []string{fmt.Sprintf("%d picked", tally[""])}
	for o := OutcomeAffinity; o <= OutcomeNotFound; o++ {
		if n := tally[o.Filter()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.Filter()))
		}
	}
	return strings.Join(parts, ", ") + fmt.Sprintf(" of %d", v.Len())
}
