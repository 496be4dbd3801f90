package verdict

import "slices"

// Equal reports whether v and w say the same of the same members.
func (v *Verdicts) Equal(w *Verdicts) bool { return v.compare(w, true) }

// Agrees is Equal but for the ages in the reasons of members that are not eligible, which grow by
// themselves.
func (v *Verdicts) Agrees(w *Verdicts) bool { return v.compare(w, false) }

func (v *Verdicts) compare(w *Verdicts, ages bool) bool {
	if v.Placement != w.Placement || v.UID != w.UID || v.Generation != w.Generation ||
		v.Type != w.Type || !equalWant(v.Want, w.Want) || v.Terms != w.Terms ||
		!slices.Equal(v.Members, w.Members) || !slices.Equal(v.Outcomes, w.Outcomes) {
		return false
	}
	for i := range v.Members {
		if at(v.Affinity, i) != at(w.Affinity, i) || at(v.Spread, i) != at(w.Spread, i) ||
			at(v.Ranks, i) != at(w.Ranks, i) || !v.sameCauses(w, i, ages) {
			return false
		}
	}
	return true
}

// sameCauses reports whether v and w give the member at i the same causes, wherever each keeps them.
func (v *Verdicts) sameCauses(w *Verdicts, i int, ages bool) bool {
	return slices.EqualFunc(v.causes(i), w.causes(i), func(a, b Cause) bool {
		if !ages && v.Outcomes[i].Is(OutcomeEligibility) {
			a.Number, b.Number = 0, 0
		}
		return v.spell(a) == w.spell(b)
	})
}

// spelled is a cause with its indexes followed.
type spelled struct {
	kind, subject, wanted, value string
	odd                          bool
	number                       int32
}

func (v *Verdicts) spell(c Cause) spelled {
	want := &v.Wants[c.Want]
	s := spelled{kind: want.Kind, subject: want.Subject, wanted: want.Wanted, odd: c.Value < 0, number: c.Number}
	s.value = want.value(c.Value)
	return s
}
