package staged

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// placing puts members into stages.
type placing struct {
	run       string
	stages    []api.ContentStage
	selectors []labels.Selector
	members   [][]api.MemberUpdateStatus
	// several and none are members in more stages than one and in none, unranked those that a stage cannot sort, by stage.
	several, none []string
	unranked      [][]string
	// left are members that are one of these for what their agents state.
	left   []api.LeftOut
	placed int
}

// distribute puts every member of the placement into one stage, and those that hold it and are not picked into a last one.
// A member that cannot be put into one stage for what its agent states of it is left out, unless nobody would be left (D31).
func (v *View) distribute(run string, stages []api.ContentStage) ([][]api.MemberUpdateStatus, []api.LeftOut, *api.Refusal) {
	selectors, refusal := selectorsOf(run, stages)
	if refusal != nil {
		return nil, nil, refusal
	}
	bound := v.bound()
	p := &placing{run: run, stages: stages, selectors: selectors, members: make([][]api.MemberUpdateStatus, len(stages)+1), unranked: make([][]string, len(stages))}
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		if m, known := v.Member(name); known && !m.Leaving {
			p.place(name, &m, true)
		}
	}
	deselected := v.deselected(bound)
	if len(p.left) > 0 && p.placed+len(deselected) == 0 {
		for _, left := range p.left {
			m, _ := v.Member(left.Member)
			p.place(left.Member, &m, false)
		}
	}
	if refusal := p.refuse(); refusal != nil {
		return nil, nil, refusal
	}
	p.members[len(stages)] = deselected
	return p.members, p.left, nil
}

// place puts a member into its stage. One that it cannot put into one is left out where that comes of what its agent states, and mayLeave.
func (p *placing) place(name string, m *Member, mayLeave bool) {
	leaves := func(what string, keys []string) bool {
		keys = slices.DeleteFunc(keys, func(key string) bool { return !m.Agent.Decides(m.Labels, key) })
		if !mayLeave || len(keys) == 0 {
			return false
		}
		p.left = append(p.left, stage.LeaveOut(name, what, m.Labels, keys))
		return true
	}
	in := p.stagesOf(m.Labels)
	if len(in) == 0 {
		if !leaves("is in no stage", stage.Keys(p.selectors...)) {
			p.none = append(p.none, name)
		}
		return
	}
	first := &p.stages[in[0]]
	if len(in) > 1 {
		both := []labels.Selector{p.selectors[in[0]], p.selectors[in[1]]}
		if p.byPeople(m, in) > 1 || !leaves(fmt.Sprintf("is in stages %s and %s", first.Name, p.stages[in[1]].Name), stage.Keys(both...)) {
			p.several = append(p.several, fmt.Sprintf("%s (%s and %s)", name, first.Name, p.stages[in[1]].Name))
		}
		return
	}
	member := notStarted(name)
	if key := first.SortingLabelKey; key != nil {
		rank, err := strconv.ParseInt(m.Labels[*key], 10, 64)
		if err != nil {
			if !leaves("is in stage "+first.Name+", which is sorted by integers,", []string{*key}) {
				p.unranked[in[0]] = append(p.unranked[in[0]], name+" ("+labelText(m.Labels, *key)+")")
			}
			return
		}
		member.Rank = rank
	}
	p.members[in[0]] = append(p.members[in[0]], member)
	p.placed++
}

// byPeople counts those of the stages that select a member by labels of which its agent decides none.
func (p *placing) byPeople(m *Member, in []int) (n int) {
	for _, i := range in {
		if !slices.ContainsFunc(stage.Keys(p.selectors[i]), func(key string) bool { return m.Agent.Decides(m.Labels, key) }) {
			n++
		}
	}
	return n
}

// refuse says why the members cannot be put into stages, nil when they can.
func (p *placing) refuse() *api.Refusal {
	switch {
	case len(p.several) > 0:
		return misplaced(p.run, "a member can be in one stage only", p.several)
	case len(p.none) > 0:
		return misplaced(p.run, "every member that is picked has to be in a stage, and no stage selects", p.none)
	}
	for i, wrong := range p.unranked {
		if len(wrong) > 0 {
			return misplaced(p.run, fmt.Sprintf("stage %s is sorted by label %s, which has to be an integer on", p.stages[i].Name, *p.stages[i].SortingLabelKey), wrong)
		}
	}
	return nil
}

func notStarted(name string) api.MemberUpdateStatus {
	return api.MemberUpdateStatus{Name: name, Status: api.UpdateStatus{State: api.StateNotStarted}}
}

// selectorsOf are the selectors of stages, read once for all members.
func selectorsOf(run string, stages []api.ContentStage) ([]labels.Selector, *api.Refusal) {
	out := make([]labels.Selector, len(stages))
	for i := range stages {
		selector, err := metav1.LabelSelectorAsSelector(stages[i].LabelSelector)
		if err != nil {
			return nil, &api.Refusal{Code: api.CodeInvalidArgument, Message: fmt.Sprintf("run %s: stage %s: %s", run, stages[i].Name, err)}
		}
		out[i] = selector
	}
	return out, nil
}

// stagesOf are the stages that select a member with these labels.
func (p *placing) stagesOf(of map[string]string) []int {
	var in []int
	for i, selector := range p.selectors {
		if selector.Matches(labels.Set(of)) {
			in = append(in, i)
		}
	}
	return in
}

func labelText(of map[string]string, key string) string {
	if value, there := of[key]; there {
		return strconv.Quote(value)
	}
	return "no label"
}

// deselected are the members that hold the placement and are not picked, sorted.
func (v *View) deselected(bound map[string]bool) []api.MemberUpdateStatus {
	var out []api.MemberUpdateStatus
	held := v.held()
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if m, known := v.Member(name); held[name].Withdrawn || bound[name] || !known || m.Leaving {
			continue
		}
		out = append(out, notStarted(name))
	}
	return out
}
