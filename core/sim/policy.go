package sim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Policy makes a valid policy for a fleet of these members.
func Policy(s *Source, members []api.Member) *api.Policy {
	switch s.Below(5) {
	case 0:
		if s.Chance(5) {
			return nil
		}
		return &api.Policy{PlacementType: api.PickAll, Affinity: affinity(s, false), Tolerations: tolerations(s)}
	case 1:
		p := &api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"nobody"}}
		for range 1 + s.Below(6) {
			if len(members) > 0 {
				p.ClusterNames = append(p.ClusterNames, Pick(s, members...).Name)
			}
		}
		p.ClusterNames = unique(p.ClusterNames[s.Below(2):])
		return p
	}
	n := int32(s.Below(len(members)/2 + 3))
	return &api.Policy{
		PlacementType: api.PickN, NumberOfClusters: &n, Affinity: affinity(s, true),
		TopologySpreadConstraints: constraints(s), Tolerations: tolerations(s),
	}
}

func unique(names []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, name := range names {
		if !seen[name] {
			kept = append(kept, name)
		}
		seen[name] = true
	}
	return kept
}

func affinity(s *Source, preferred bool) *api.Affinity {
	a := &api.ClusterAffinity{}
	if s.Chance(2) {
		a.Required = &api.ClusterSelector{}
		for range 1 + s.Below(3) {
			a.Required.ClusterSelectorTerms = append(a.Required.ClusterSelectorTerms, api.ClusterSelectorTerm{
				LabelSelector: selector(s), PropertySelector: propertySelector(s),
			})
		}
	}
	for range s.Below(4) {
		if !preferred {
			break
		}
		term := api.PreferredClusterTerm{Weight: int32(s.Below(201) - 100)}
		term.Preference.LabelSelector = selector(s)
		if s.Chance(2) {
			sorter := &api.PropertySorter{Name: Pick(s, properties...).key, SortOrder: Pick(s, api.Ascending, api.Descending)}
			if s.Chance(2) {
				term.Preference.MetricSorter = sorter
			} else {
				term.Preference.PropertySorter = sorter
			}
		}
		a.Preferred = append(a.Preferred, term)
	}
	return &api.Affinity{ClusterAffinity: a}
}

func selector(s *Source) *metav1.LabelSelector {
	if s.Chance(3) {
		return nil
	}
	from := Pick(s, labels...)
	value := Pick(s, from.choices...)
	if value == none {
		value = "nowhere"
	}
	if s.Chance(2) {
		return &metav1.LabelSelector{MatchLabels: map[string]string{from.key: value}}
	}
	operator := Pick(s, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
	r := metav1.LabelSelectorRequirement{Key: from.key, Operator: operator}
	if operator == metav1.LabelSelectorOpIn || operator == metav1.LabelSelectorOpNotIn {
		r.Values = []string{value, "elsewhere"}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}
}

func propertySelector(s *Source) *api.PropertySelector {
	if s.Chance(2) {
		return nil
	}
	p := &api.PropertySelector{}
	for range 1 + s.Below(2) {
		from := Pick(s, properties...)
		p.MatchExpressions = append(p.MatchExpressions, api.PropertyExpression{
			Name:     from.key,
			Operator: Pick(s, api.OpGt, api.OpGe, api.OpEq, api.OpNe, api.OpLt, api.OpLe),
			Values:   []string{Pick(s, "0", "1", "5", "5000m", "1.5", "2Gi", "2G", "0.1", "-5")},
		})
	}
	return p
}

func constraints(s *Source) []api.TopologySpreadConstraint {
	var drawn []api.TopologySpreadConstraint
	for range s.Below(3) {
		c := api.TopologySpreadConstraint{
			TopologyKey:       Pick(s, "region", "zone", "env", "tier", "nowhere", api.LabelMemberName),
			WhenUnsatisfiable: Pick(s, "", api.DoNotSchedule, api.ScheduleAnyway),
		}
		if skew := int32(s.Below(4)); skew > 0 {
			c.MaxSkew = &skew
		}
		drawn = append(drawn, c)
	}
	return drawn
}

func tolerations(s *Source) []api.Toleration {
	var drawn []api.Toleration
	for _, taint := range Taints {
		switch s.Below(6) {
		case 0:
			drawn = append(drawn, api.Toleration{Key: taint.Key, Operator: api.TolerationExists})
		case 1:
			drawn = append(drawn, api.Toleration{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
		}
	}
	return drawn
}
