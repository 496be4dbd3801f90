package schedule

import (
	"flotilla/core/api"
	"flotilla/core/verdict"
)

// term is one required affinity term, ready to be asked.
type term struct {
	labels     []labelTest
	properties []propertyTest
	want       int32 // of the first test; the others follow
}

// requiredTerms prepares the required terms of a policy; none match every member.
func (f *Fleet) requiredTerms(p *api.Policy, wants *[]verdict.Want) []term {
	affinity := clusterAffinity(p)
	if affinity == nil || affinity.Required == nil || p.Type() == api.PickFixed {
		return nil
	}
	selectors := affinity.Required.ClusterSelectorTerms
	terms := make([]term, 0, len(selectors))
	for i := range selectors {
		t := term{want: int32(len(*wants))}
		var asked []verdict.Want
		t.labels, asked = f.labelTests(selectors[i].LabelSelector)
		*wants = append(*wants, asked...)
		if s := selectors[i].PropertySelector; s != nil {
			t.properties = make([]propertyTest, len(s.MatchExpressions))
			for k := range s.MatchExpressions {
				var want verdict.Want
				t.properties[k], want = f.propertyTest(&s.MatchExpressions[k])
				*wants = append(*wants, want)
			}
		}
		terms = append(terms, t)
	}
	return terms
}

func clusterAffinity(p *api.Policy) *api.ClusterAffinity {
	if p == nil || p.Affinity == nil {
		return nil
	}
	return p.Affinity.ClusterAffinity
}

// miss returns the index of the first test that the member fails, or -1.
func (t *term) miss(row int) int {
	for i := range t.labels {
		if !t.labels[i].passes(row) {
			return i
		}
	}
	for i := range t.properties {
		if !t.properties[i].passes(row) {
			return len(t.labels) + i
		}
	}
	return -1
}

// cause describes the failed test.
func (t *term) cause(row, test int) verdict.Cause {
	c := verdict.Cause{Want: t.want + int32(test)}
	if test < len(t.labels) {
		c.Value = t.labels[test].observe(row)
	} else {
		c.Value = t.properties[test-len(t.labels)].observe(row)
	}
	return c
}
