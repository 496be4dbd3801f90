package verdict

import (
	"encoding/json"
	"strings"

	"flotilla/core/api"
)

// verdictColumns is the stored form of Verdicts. Outcomes are letters into Legend, scores stand only
// for scored members, and causes are a dictionary in order of first use: Use holds, in member order,
// 0 for the next new entry and k for the entry k-1, so that a run of new ones compresses to nothing.
type verdictColumns struct {
	api.Header
	Placement  string            `json:"placement"`
	UID        string            `json:"uid,omitempty"`
	Generation int64             `json:"generation,omitempty"`
	Type       api.PlacementType `json:"type"`
	Want       *int32            `json:"want,omitempty"`
	Members    []string          `json:"members"`
	Legend     []int             `json:"legend"`
	Outcomes   string            `json:"outcomes"`
	Affinity   []int32           `json:"affinity,omitempty"`
	Spread     []int32           `json:"spread,omitempty"`
	Ranked     bool              `json:"ranked,omitempty"`
	Terms      int               `json:"terms,omitempty"`
	Wants      []Want            `json:"wants,omitempty"`
	Causes     causeColumns      `json:"causes,omitzero"`
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
