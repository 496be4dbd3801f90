package upgrade

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// place is a group of a strategy, with the selectors that put members into it. Without one of the group, members bear its name.
type place struct {
	group            string
	inStage, inGroup labels.Selector
}

// keys are those of the labels that put members into the group.
func (p *place) keys() []string {
	keys := stage.Keys(p.inStage, p.inGroup)
	if p.inGroup == nil {
		keys = append(keys, api.LabelUpdateGroup)
	}
	return keys
}

// byAgent reports whether the agent of a member decides any of the labels that put it into the group.
func (p *place) byAgent(m *Member) bool {
	return slices.ContainsFunc(p.keys(), func(key string) bool { return m.Agent.Decides(m.Labels, key) })
}

// settle has each member in one group at most. Those that several select are left out where that comes of labels that their
// agents state, unless nobody would be left (A68); the others keep the first, and the selection is refused for them.
func (s *selection) settle(all []*Member, owner map[string][]*place) {
	var people, agents []*Member
	for _, m := range all {
		switch in := owner[m.Name]; {
		case len(in) < 2:
		case doubledByAgent(m, in):
			agents = append(agents, m)
		default:
			people = append(people, m)
		}
	}
	if len(agents)+len(people) == 0 {
		return
	}
	gone := map[string]bool{}
	for _, m := range agents {
		gone[m.Name] = true
	}
	if len(people) == 0 && s.without(gone) == 0 {
		people, agents, gone = agents, nil, map[string]bool{}
	}
	for _, m := range people {
		in := owner[m.Name]
		for _, p := range in[1:] {
			s.twice = append(s.twice, fmt.Sprintf("%s in %s and %s", m.Name, in[0].group, p.group))
		}
		s.twiceIDs = append(s.twiceIDs, m.Name)
	}
	for _, m := range agents {
		s.out = append(s.out, leaveOut(m, owner[m.Name]))
	}
	s.keepFirst(gone)
}

// keepFirst keeps each member in the first of its groups, and those that are gone in none.
func (s *selection) keepFirst(gone map[string]bool) {
	for i := range s.members {
		for j := range s.members[i] {
			s.members[i][j] = slices.DeleteFunc(s.members[i][j], func(m *Member) bool {
				there := gone[m.Name]
				gone[m.Name] = true
				return there
			})
		}
	}
}

// without counts the members that are selected, but for some.
func (s *selection) without(gone map[string]bool) (n int) {
	for _, m := range s.all() {
		if !gone[m.Name] {
			n++
		}
	}
	return n
}

// doubledByAgent reports whether people decide alone for one of the groups of a member at most that it is in it.
func doubledByAgent(m *Member, in []*place) bool {
	n := 0
	for _, p := range in {
		if !p.byAgent(m) {
			n++
		}
	}
	return n < 2
}

func leaveOut(m *Member, in []*place) api.LeftOut {
	keys := append(in[0].keys(), in[1].keys()...)
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return !m.Agent.Decides(m.Labels, key) })
	return stage.LeaveOut(m.Name, fmt.Sprintf("is in groups %s and %s", in[0].group, in[1].group), m.Labels, keys)
}
