package staged

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
)

// distribute puts every member of the placement into one stage, and those that hold it and are not picked into a last one.
func (v *View) distribute(run string, stages []api.ContentStage) ([][]api.MemberUpdateStatus, *api.Refusal) {
	out := make([][]api.MemberUpdateStatus, len(stages)+1)
	bound := v.bound()
	selectors, refusal := selectorsOf(run, stages)
	if refusal != nil {
		return nil, refusal
	}
	var several, none []string
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		m, known := v.Member(name)
		if !known || m.Leaving {
			continue
		}
		in := stagesOf(selectors, m.Labels)
		switch {
		case len(in) == 0:
			none = append(none, name)
		case len(in) > 1:
			several = append(several, fmt.Sprintf("%s (%s and %s)", name, stages[in[0]].Name, stages[in[1]].Name))
		default:
			out[in[0]] = append(out[in[0]], notStarted(name))
		}
	}
	switch {
	case len(several) > 0:
		return nil, misplaced(run, "a member can be in one stage only", several)
	case len(none) > 0:
		return nil, misplaced(run, "every member that is picked has to be in a stage, and no stage selects", none)
	}
	for i := range stages {
		if refusal := v.rank(run, &stages[i], out[i]); refusal != nil {
			return nil, refusal
		}
	}
	out[len(stages)] = v.deselected(bound)
	return out, nil
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

// stagesOf are the stages that select a member.
func stagesOf(selectors []labels.Selector, of map[string]string) []int {
	var in []int
	for i, selector := range selectors {
		if selector.Matches(labels.Set(of)) {
			in = append(in, i)
		}
	}
	return in
}

// rank gives the members of a stage their places by the label that it is sorted by.
func (v *View) rank(run string, s *api.ContentStage, members []api.MemberUpdateStatus) *api.Refusal {
	if s.SortingLabelKey == nil {
		return nil
	}
	var wrong []string
	for i := range members {
		m, _ := v.Member(members[i].Name)
		rank, err := strconv.ParseInt(m.Labels[*s.SortingLabelKey], 10, 64)
		if err != nil {
			wrong = append(wrong, members[i].Name+" ("+labelText(m.Labels, *s.SortingLabelKey)+")")
		}
		members[i].Rank = rank
	}
	if len(wrong) == 0 {
		return nil
	}
	return misplaced(run, fmt.Sprintf("stage %s is sorted by label %s, which has to be an integer on", s.Name, *s.SortingLabelKey), wrong)
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
