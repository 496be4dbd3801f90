package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// selection maps stages and groups to the members they select, sorted by name.
type selection struct {
	members  [][][]*Member // by stage, by group
	missing  []string      // groups by name that no member bears, "prod/g9"
	byAgents bool          // an agent of the fleet decides what group its member bears
	twice    []string      // "m1 in A and B"
	twiceIDs []string
	left     []string // members no stage selects
	out      []api.LeftOut
	leaving  []string // members that stages select and that are leaving the fleet
}

// selectMembers picks the members of every group of a strategy.
func selectMembers(s *api.RunStrategy, fleet *Fleet) (selection, error) {
	var out selection
	owner := map[string][]*place{}
	all, byGroup := fleet.sorted()
	for i := range s.Stages {
		in := &s.Stages[i]
		inStage, err := parseSelector(in.MemberSelector)
		if err != nil {
			return out, err
		}
		var groups [][]*Member
		for _, group := range stage.GroupsOf(in) {
			inGroup, err := parseSelector(group.MemberSelector)
			if err != nil {
				return out, err
			}
			from := all
			if inGroup == nil {
				from = byGroup[group.Name]
				if len(from) == 0 {
					out.missing = append(out.missing, in.Name+"/"+group.Name)
				}
			}
			p := &place{group: group.Name, inStage: inStage, inGroup: inGroup}
			selected := matching(from, eligible, inStage, inGroup)
			for _, m := range selected {
				owner[m.Name] = append(owner[m.Name], p)
			}
			groups = append(groups, selected)
			for _, m := range matching(from, leaving, inStage, inGroup) {
				out.leaving = append(out.leaving, m.Name)
			}
		}
		out.members = append(out.members, groups)
	}
	for _, m := range all {
		out.byAgents = out.byAgents || m.Agent.Decides(m.Labels, api.LabelUpdateGroup)
		if len(owner[m.Name]) == 0 && m.Eligible {
			out.left = append(out.left, m.Name)
		}
	}
	out.settle(all, owner)
	return out, nil
}

// sorted returns all members by name, and those of each group.
func (f *Fleet) sorted() (all []*Member, byGroup map[string][]*Member) {
	all, byGroup = make([]*Member, 0, len(f.members)), map[string][]*Member{}
	for _, name := range f.Names() {
		m := f.members[name]
		all = append(all, m)
		byGroup[m.Group] = append(byGroup[m.Group], m)
	}
	return all, byGroup
}

func eligible(m *Member) bool { return m.Eligible }

func leaving(m *Member) bool { return m.Leaving }

// matching returns the members of a sort that all given selectors match.
func matching(members []*Member, sort func(*Member) bool, selectors ...labels.Selector) []*Member {
	var out []*Member
	for _, m := range members {
		fits := sort(m)
		for _, selector := range selectors {
			fits = fits && (selector == nil || selector.Matches(labels.Set(m.Labels)))
		}
		if fits {
			out = append(out, m)
		}
	}
	return out
}

// all returns the selected members in document order.
func (s *selection) all() []*Member {
	var out []*Member
	for _, stage := range s.members {
		for _, group := range stage {
			out = append(out, group...)
		}
	}
	return out
}

// frozen returns the members of a group as the tree holds them.
func (s *selection) frozen(stage, group int) []api.MemberUpdateStatus {
	members := make([]api.MemberUpdateStatus, len(s.members[stage][group]))
	for i, m := range s.members[stage][group] {
		members[i] = api.MemberUpdateStatus{Name: m.Name, ClusterResourceID: m.ID, Status: api.UpdateStatus{State: api.StateNotStarted}}
	}
	return members
}

func parseSelector(s *api.MemberSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	selector, err := labels.Parse(s.ByLabel)
	if err != nil {
		return nil, fmt.Errorf("reading selector %q: %w", s.ByLabel, err)
	}
	return selector, nil
}

// refuse returns why a selection cannot become a run, nil when it can. A group that nobody bears is no fault where agents decide
// who does: one that states another group would refuse the run of all others (H42).
func (s *selection) refuse(run string) *api.Refusal {
	if len(s.missing) > 0 && !s.byAgents {
		return &api.Refusal{
			Code:    api.CodeGroupNotFound,
			Message: "no member bears the group of " + strings.Join(s.missing, ", ") + "; label members " + api.LabelUpdateGroup + "=" + afterSlash(s.missing[0]),
			Next:    "flotilla get members -L " + api.LabelUpdateGroup,
		}
	}
	if len(s.twice) > 0 {
		slices.Sort(s.twiceIDs)
		return &api.Refusal{
			Code: api.CodeDuplicateMember, Members: slices.Compact(s.twiceIDs),
			Message: "a member can be in one group only: " + strings.Join(s.twice, "; "),
			Next:    "flotilla get members -L " + api.LabelUpdateGroup,
		}
	}
	if len(s.all()) > 0 {
		return nil
	}
	return &api.Refusal{
		Code: api.CodeNoMembers, Message: "the stages of run " + run + " select no member",
		Next: "flotilla get members --show-labels",
	}
}

func afterSlash(text string) string { return text[strings.LastIndexByte(text, '/')+1:] }
