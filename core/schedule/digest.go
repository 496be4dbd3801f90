package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"flotilla/core/api"
)

// PolicyDigest identifies a policy without its number of members: changing that alone scales, any
// other change makes the bindings obsolete. Spellings and defaults that mean the same give the same
// digest (D13, D15). It is 32 hexadecimal digits.
func PolicyDigest(p *api.Policy) string {
	normal := api.Policy{PlacementType: p.Type()}
	if p != nil {
		normal.ClusterNames = p.ClusterNames
		normal.Affinity = normalAffinity(p.Affinity)
		normal.TopologySpreadConstraints = normalConstraints(p.TopologySpreadConstraints)
		normal.Tolerations = normalTolerations(p.Tolerations)
	}
	text, err := json.Marshal(&normal)
	if err != nil {
		panic("a policy holds only strings and numbers: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func normalAffinity(a *api.Affinity) *api.Affinity {
	if a == nil || a.ClusterAffinity == nil {
		return nil
	}
	from := a.ClusterAffinity
	to := &api.ClusterAffinity{}
	if from.Required != nil && len(from.Required.ClusterSelectorTerms) > 0 {
		to.Required = &api.ClusterSelector{}
		for _, t := range from.Required.ClusterSelectorTerms {
			to.Required.ClusterSelectorTerms = append(to.Required.ClusterSelectorTerms, normalTerm(t))
		}
	}
	for _, p := range from.Preferred {
		p.Preference = normalTerm(p.Preference)
		to.Preferred = append(to.Preferred, p)
	}
	return &api.Affinity{ClusterAffinity: to}
}

func normalTerm(t api.ClusterSelectorTerm) api.ClusterSelectorTerm {
	normal := api.ClusterSelectorTerm{LabelSelector: t.LabelSelector}
	if s := t.Sorter(); s != nil {
		normal.PropertySorter = &api.PropertySorter{Name: api.CanonicalProperty(s.Name), SortOrder: s.SortOrder}
	}
	if t.PropertySelector != nil && len(t.PropertySelector.MatchExpressions) > 0 {
		normal.PropertySelector = &api.PropertySelector{}
		for _, e := range t.PropertySelector.MatchExpressions {
			e.Name = api.CanonicalProperty(e.Name)
			normal.PropertySelector.MatchExpressions = append(normal.PropertySelector.MatchExpressions, e)
		}
	}
	return normal
}

func normalConstraints(constraints []api.TopologySpreadConstraint) []api.TopologySpreadConstraint {
	normal := make([]api.TopologySpreadConstraint, 0, len(constraints))
	for _, c := range constraints {
		skew := maxSkew(&c)
		c.MaxSkew = &skew
		if c.WhenUnsatisfiable == "" {
			c.WhenUnsatisfiable = api.DoNotSchedule
		}
		normal = append(normal, c)
	}
	return normal
}

func normalTolerations(tolerations []api.Toleration) []api.Toleration {
	normal := make([]api.Toleration, 0, len(tolerations))
	for _, t := range tolerations {
		if t.Operator == "" {
			t.Operator = api.TolerationEqual
		}
		normal = append(normal, t)
	}
	return normal
}
