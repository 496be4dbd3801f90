package verdict

import (
	"encoding/json"
	"fmt"
)

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
