package why

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// requirements lists what a label selector asks, one label at a time, sorted labels first.
func requirements(selector *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	if selector == nil {
		return nil
	}
	var asked []metav1.LabelSelectorRequirement
	for key, value := range selector.MatchLabels {
		asked = append(asked, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
	}
	slices.SortFunc(asked, func(a, b metav1.LabelSelectorRequirement) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return append(asked, selector.MatchExpressions...)
}

func fulfils(r *metav1.LabelSelectorRequirement, labels map[string]string) bool {
	value, present := labels[r.Key]
	switch r.Operator {
	case metav1.LabelSelectorOpExists:
		return present
	case metav1.LabelSelectorOpDoesNotExist:
		return !present
	case metav1.LabelSelectorOpNotIn:
		return !present || !slices.Contains(r.Values, value)
	}
	return present && slices.Contains(r.Values, value)
}

// relabel is the change of one label that fulfils the requirement.
func (s *search) relabel(r *metav1.LabelSelectorRequirement) candidate {
	if r.Operator == metav1.LabelSelectorOpDoesNotExist || r.Operator == metav1.LabelSelectorOpNotIn {
		return s.dropLabel(r.Key)
	}
	value := "true"
	if len(r.Values) > 0 {
		value = r.Values[0]
	}
	return s.setLabel(r.Key, value)
}

func (s *search) setLabel(key, value string) candidate {
	m := s.changed(func(m *api.Member) { m.Labels[key] = value })
	flip := Flip{Kind: FlipLabel, member: m, Text: fmt.Sprintf("label %s=%s on member %s", key, value, s.name)}
	flip.Command = fmt.Sprintf("flotilla label member %s %s=%s", s.name, key, value)
	if _, present := s.member.Labels[key]; present {
		flip.Command += " --overwrite"
	}
	return s.single(costLabel, flip)
}

func (s *search) dropLabel(key string) candidate {
	m := s.changed(func(m *api.Member) { delete(m.Labels, key) })
	return s.single(costLabel, Flip{
		Kind: FlipLabel, member: m, Text: fmt.Sprintf("label %s removed from member %s", key, s.name),
		Command: fmt.Sprintf("flotilla label member %s %s-", s.name, key),
	})
}

// required: one change that makes one required term match.
func (s *search) required() []candidate {
	var candidates []candidate
	for t, term := range s.requiredTerms() {
		for _, r := range requirements(term.LabelSelector) {
			if !fulfils(&r, s.member.Labels) && r.Key != api.LabelMemberName {
				candidates = append(candidates, s.relabel(&r))
			}
		}
		if term.PropertySelector == nil {
			continue
		}
		for e := range term.PropertySelector.MatchExpressions {
			candidates = append(candidates, s.threshold(t, e)...)
		}
	}
	return candidates
}

func (s *search) requiredTerms() []api.ClusterSelectorTerm {
	p := s.in.Policy
	if p == nil || p.Affinity == nil || p.Affinity.ClusterAffinity == nil || p.Affinity.ClusterAffinity.Required == nil {
		return nil
	}
	return p.Affinity.ClusterAffinity.Required.ClusterSelectorTerms
}

// unlabel: one label fewer, for a member that a required term picked.
func (s *search) unlabel() []candidate {
	var candidates []candidate
	for _, term := range s.requiredTerms() {
		for _, r := range requirements(term.LabelSelector) {
			if _, present := s.member.Labels[r.Key]; present && r.Key != api.LabelMemberName {
				candidates = append(candidates, s.dropLabel(r.Key))
			}
		}
	}
	return candidates
}

// threshold: the expression asks what the member has, or the member comes to have what it asks.
func (s *search) threshold(term, expression int) []candidate {
	e := s.requiredTerms()[term].PropertySelector.MatchExpressions[expression]
	name := api.CanonicalProperty(e.Name)
	if len(e.Values) != 1 {
		return nil
	}
	wanted, err := strict.ParseQuantity(e.Values[0])
	if err != nil {
		return nil
	}
	reached := step(wanted, e.Operator, false)
	member := s.changed(func(m *api.Member) { m.Properties[name] = reached })
	candidates := []candidate{s.single(costProperty, Flip{
		Kind: FlipProperty, member: member, Text: fmt.Sprintf("%s of member %s becomes %s", name, s.name, reached),
	})}
	observed, err := strict.ParseQuantity(s.member.Properties[name])
	if err != nil {
		return candidates
	}
	asked := step(observed, e.Operator, true)
	policy := s.changedPolicy(func(p *api.Policy) {
		p.Affinity.ClusterAffinity.Required.ClusterSelectorTerms[term].PropertySelector.MatchExpressions[expression].Values = []string{asked}
	})
	return append(candidates, s.single(costThreshold, Flip{
		Kind: FlipThreshold, policy: policy, Command: s.command("edit"),
		Text: fmt.Sprintf("%s %s %s instead of %s in required term %d", name, e.Operator, asked, e.Values[0], term+1),
	}))
}

// step returns the nearest quantity to q that stands on the right side of it for the operator: as the
// observed value against a wanted q, or, inverted, as the wanted value against an observed q.
func step(q resource.Quantity, operator api.PropertyOperator, inverted bool) string {
	q = q.DeepCopy()
	one := *resource.NewQuantity(1, resource.DecimalSI)
	if _, whole := q.AsInt64(); !whole {
		one = *resource.NewMilliQuantity(1, resource.DecimalSI)
	}
	up := operator == api.OpGt || operator == api.OpNe
	down := operator == api.OpLt
	if inverted {
		up, down = down || operator == api.OpNe, up && operator != api.OpNe
	}
	switch {
	case up:
		q.Add(one)
	case down:
		q.Sub(one)
	}
	return q.String()
}
