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
	Legend     []int         `json:"legend"`
	Outcomes   string        `json:"outcomes"`
	Affinity   []int32       `json:"affinity,omitempty"`
	Spread     []int32       `json:"spread,omitempty"`
	Ranked     bool          `json:"ranked,omitempty"`
	Terms      int           `json:"terms,omitempty"`
	Wants      []Want        `json:"wants,omitempty"`
	Causes     causeColumns  `json:"causes,omitzero"`
}

type causeColumns struct {
	Want []int32 `json:"want"`
	// Value is what was observed; Absent and Odd list the entries that observed nothing, or no quantity.
	Value  []string `json:"value"`
	Absent []int    `json:"absent,omitempty"`
	Odd    []int    `json:"odd,omitempty"`
	Number []int32  `json:"number,omitempty"`
	Use    []int32  `json:"use"`
}

// firstLetter opens the alphabet of outcomes.
const firstLetter = 'A'

// MarshalJSON writes the columns.
func (v Verdicts) MarshalJSON() ([]byte, error) {
	c := verdictColumns{
		Header: v.Header, Placement: v.Placement, UID: v.UID, Generation: v.Generation, Type: v.Type,
		Want: v.Want, Members: v.Members, Ranked: v.Ranks != nil, Terms: v.Terms,
	}
	c.Legend, c.Outcomes = letters(v.Outcomes)
	c.Affinity = v.scored(v.Affinity)
	c.Spread = v.scored(v.Spread)
	c.Wants, c.Causes = v.dictionary()
	return json.Marshal(&c)
}

// letters writes each outcome as the letter of its place in the legend.
func letters(outcomes []Outcome) ([]int, string) {
	var legend []int
	var letter [256]rune
	var text strings.Builder
	text.Grow(len(outcomes))
	for _, o := range outcomes {
		if letter[o] == 0 {
			letter[o] = firstLetter + rune(len(legend))
			legend = append(legend, int(o))
		}
		text.WriteRune(letter[o])
	}
	return legend, text.String()
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

// dictionary collects the causes in member order, and the wants in order of first use.
func (v *Verdicts) dictionary() ([]Want, causeColumns) {
	var wants []Want
	var c causeColumns
	known, placed := map[Cause]int32{}, make([]int32, len(v.Wants))
	numbered := false
	for i := range v.Members {
		for _, cause := range v.causes(i) {
			if k, ok := known[cause]; ok {
				c.Use = append(c.Use, k)
				continue
			}
			if placed[cause.Want] == 0 {
				wants = append(wants, v.Wants[cause.Want])
				placed[cause.Want] = int32(len(wants))
			}
			c.add(cause, placed[cause.Want]-1, v.Wants[cause.Want].value(cause.Value))
			known[cause] = int32(len(c.Want))
			numbered = numbered || cause.Number != 0
		}
	}
	if !numbered {
		c.Number = nil
	}
	return wants, c
}

// add enters a new cause.
func (c *causeColumns) add(cause Cause, want int32, value string) {
	entry := len(c.Want)
	c.Use = append(c.Use, 0)
	c.Want = append(c.Want, want)
	c.Value = append(c.Value, value)
	c.Number = append(c.Number, cause.Number)
	if cause.Value == 0 {
		c.Absent = append(c.Absent, entry)
	} else if cause.Value < 0 {
		c.Odd = append(c.Odd, entry)
	}
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
	scored := 0
	v.Outcomes = make([]Outcome, 0, len(c.Members))
	for _, letter := range c.Outcomes {
		k := int(letter - firstLetter)
		if k < 0 || k >= len(c.Legend) {
			return fmt.Errorf("outcome %q is not in the legend of %d", letter, len(c.Legend))
		}
		o := Outcome(c.Legend[k])
		v.Outcomes = append(v.Outcomes, o)
		if o.Has(OutcomeScored) {
			scored++
		}
	}
	if len(v.Outcomes) != len(c.Members) {
		return fmt.Errorf("%d outcomes for %d members", len(v.Outcomes), len(c.Members))
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
	entries, err := v.readEntries(c)
	if err != nil {
		return err
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
		if entry < 0 || entry >= len(entries) {
			return fmt.Errorf("cause %d points outside of its table", len(v.Causes))
		}
		v.Causes = append(v.Causes, entries[entry])
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

// readEntries rebuilds the dictionary of causes and the values of the wants they point into.
func (v *Verdicts) readEntries(c causeColumns) ([]Cause, error) {
	if len(c.Value) != len(c.Want) || (c.Number != nil && len(c.Number) != len(c.Want)) {
		return nil, fmt.Errorf("columns of causes differ in length")
	}
	for i := range v.Wants {
		v.Wants[i].Values = []string{""}
	}
	entries := make([]Cause, len(c.Want))
	for i, w := range c.Want {
		if w < 0 || int(w) >= len(v.Wants) {
			return nil, fmt.Errorf("cause %d wants what is not in its table", i)
		}
		want := &v.Wants[w]
		entries[i] = Cause{Want: w, Value: int32(len(want.Values)), Number: at(c.Number, i)}
		want.Values = append(want.Values, c.Value[i])
	}
	for _, absent := range []bool{true, false} {
		marked := c.Odd
		if absent {
			marked = c.Absent
		}
		for _, i := range marked {
			if i < 0 || i >= len(entries) {
				return nil, fmt.Errorf("mark %d is outside of the table of causes", i)
			}
			if entries[i].Value = -entries[i].Value; absent {
				entries[i].Value = 0
			}
		}
	}
	return entries, nil
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
