package verdict

import (
	"fmt"
	"strconv"
	"strings"

	"flotilla/core/api"
)

// reason renders the sentence about the member at i.
func (v *Verdicts) reason(i int) string {
	o := v.Outcomes[i]
	switch {
	case o.Has(OutcomePicked):
		return v.pickedReason(i)
	case o.Is(OutcomeRank):
		return v.rankReason(i)
	case o.Is(OutcomeNotFound):
		return fmt.Sprintf("Specified cluster %q is not found", v.Members[i])
	case v.Type == api.PickFixed && o.Is(OutcomeEligibility):
		text := fmt.Sprintf("Cluster %q is not eligible for resource placement yet: %s", v.Members[i], v.Refusal(i))
		if o.Has(OutcomeKeeps) {
			text += "; it keeps the workload it has until it is eligible again or no longer named"
		}
		return text
	case o.Is(0):
		return ""
	}
	return "ClusterUnschedulable, " + v.Refusal(i)
}

func (v *Verdicts) pickedReason(i int) string {
	var affinity, spread *int32
	if v.Outcomes[i].Has(OutcomeScored) {
		scores := [2]int32{at(v.Affinity, i), at(v.Spread, i)}
		affinity, spread = &scores[0], &scores[1]
	}
	text := api.PickedReason(v.Members[i], affinity, spread)
	if refusal := v.Refusal(i); refusal != "" {
		text += "; it keeps its place, a new pick would be refused: " + refusal
	}
	return text
}

func (v *Verdicts) rankReason(i int) string {
	text := fmt.Sprintf("Cluster %q does not score high enough (affinity score: %d, topology spread score: %d)",
		v.Members[i], at(v.Affinity, i), at(v.Spread, i))
	if rank := at(v.Ranks, i); rank > 0 && v.Want != nil {
		text += fmt.Sprintf(": ranks %d, wanted %d", rank, *v.Want)
	}
	return text
}

// Refusal renders why a filter refuses the member at i, without KubeFleet's opening words: the
// phrase, what was observed, what was wanted. It is empty where no filter refuses, and for a picked
// member says what would refuse it today.
func (v *Verdicts) Refusal(i int) string {
	causes := v.causes(i)
	o := v.Outcomes[i]
	switch {
	case o.Is(OutcomeAffinity) && v.Type == api.PickFixed:
		return v.phrase(causes[0])
	case o.Is(OutcomeAffinity):
		return "cluster does not match with any of the required cluster affinity terms: " + v.misses(causes)
	case len(causes) > 0:
		return v.phrase(causes[0])
	}
	return ""
}

// misses renders the first failing expression of each term.
func (v *Verdicts) misses(causes []Cause) string {
	parts := make([]string, len(causes))
	for t, c := range causes {
		want := &v.Wants[c.Want]
		parts[t] = want.Subject + " " + want.Observed(c) + ", wanted " + want.Wanted
		if len(causes) > 1 {
			parts[t] = fmt.Sprintf("term %d: %s", t+1, parts[t])
		}
	}
	return strings.Join(parts, "; ")
}

func (v *Verdicts) phrase(c Cause) string { return v.Wants[c.Want].Phrase(c) }

// Phrase renders a cause whose want is a whole phrase.
func (want *Want) Phrase(c Cause) string {
	text := want.Subject
	if want.Kind == WantSpread {
		return fmt.Sprintf("%s: %q holds %d, %s", text, want.value(c.Value), c.Number, want.Wanted)
	}
	text = strings.Replace(text, "{}", strconv.FormatFloat(float64(c.Number)/100, 'f', 2, 64), 1)
	if want.Wanted != "" {
		text += ", wanted " + want.Wanted
	}
	return text
}

// Observed renders what was observed of a label or property, with its verb: `is "westus"`, `is 3`,
// `is absent`, `is "v1.29.4", which is not a quantity`.
func (want *Want) Observed(c Cause) string {
	switch {
	case c.Value == 0:
		return "is absent"
	case c.Value < 0:
		return fmt.Sprintf("is %q, which is not a quantity", want.value(c.Value))
	case want.Kind == WantLabel:
		return fmt.Sprintf("is %q", want.value(c.Value))
	}
	return "is " + want.value(c.Value)
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
