package stage

import (
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
)

var rerunSets = []string{api.RerunFailed, api.RerunSkippedByUser, api.RerunSkippedBySystem, api.RerunAll}

// checkChoice refuses what is neither a set of members nor a member of the run.
func (r *Run) checkChoice(names []string) *api.Refusal {
	for _, name := range names {
		if _, member := MemberStatus(&r.Status, name); !member && !slices.Contains(rerunSets, name) {
			return &api.Refusal{
				Code:    api.CodeInvalidArgument,
				Message: fmt.Sprintf("found %q, expected a member of run %s or some of %s", name, r.Status.Run, strings.Join(rerunSets, ", ")),
				Next:    Show(&r.Status),
			}
		}
	}
	return nil
}

// chosenBy returns whether a member is among those that names mean: sets of members, or their names.
func chosenBy(names []string) func(*api.StageStatus, *api.MemberUpdateStatus) bool {
	sets := map[string]bool{}
	for _, name := range names {
		sets[name] = true
	}
	return func(_ *api.StageStatus, m *api.MemberUpdateStatus) bool {
		return sets[m.Name] || sets[api.RerunAll] ||
			sets[api.RerunFailed] && m.Status.State == api.StateFailed ||
			sets[api.RerunSkippedByUser] && m.SkippedBy == api.SkippedByUser ||
			sets[api.RerunSkippedBySystem] && m.SkippedBy == api.SkippedBySystem
	}
}

// takeUp opens a run that stopped or failed for the members that are named. Unless nothing of the run is
// left but them, it ends again once they are done, and the rest stays as it is.
func (r *Run) takeUp(names []string) *api.Refusal {
	chosen, only, rest := chosenBy(names), []string{}, false
	for i := range r.Status.Stages {
		EachMember(&r.Status.Stages[i], func(m *api.MemberUpdateStatus) {
			switch {
			case chosen(nil, m):
				only = append(only, m.Name)
			case !m.Status.State.Terminal():
				rest = true
			}
		})
	}
	if len(only) == 0 {
		return r.nobody(names)
	}
	r.reviveWhere(chosen)
	if rest {
		slices.Sort(only)
		r.Status.RerunOf = only
	} else {
		r.retreat()
	}
	if !r.exceeded() {
		return nil
	}
	return &api.Refusal{
		Code:    api.CodeInvalidState,
		Message: fmt.Sprintf("run %s is %s; without those that are named more of its members failed than may: name Failed too, or skip them", r.Status.Run, api.StateFailed),
		Next:    fmt.Sprintf("flotilla run rerun %s --members %s", r.Status.Run, strings.Join(append(slices.Clip(names), api.RerunFailed), ",")),
	}
}

// nobody refuses a choice that no member is in, and names one that somebody is in.
func (r *Run) nobody(names []string) *api.Refusal {
	return &api.Refusal{
		Code: api.CodeInvalidArgument, Message: fmt.Sprintf("run %s has no member in %s", r.Status.Run, strings.Join(names, ", ")), Next: again(&r.Status),
	}
}

// taken reports whether a run may come to a member now: a narrowed one, which a rerun named members of,
// comes to those alone.
func taken(status *api.UpdateRunStatus, member string) bool {
	if len(status.RerunOf) == 0 {
		return true
	}
	_, found := slices.BinarySearch(status.RerunOf, member)
	return found
}

// narrowed reports whether the run goes over those of its members only that a rerun named.
func (r *Run) narrowed() bool { return len(r.Status.RerunOf) > 0 }

// aside reports whether a narrowed run leaves a group as it is: none of those named is open in it.
func aside(status *api.UpdateRunStatus, g *api.GroupStatus) bool {
	return len(status.RerunOf) > 0 && !slices.ContainsFunc(g.Members, func(m api.MemberUpdateStatus) bool {
		return !m.Status.State.Terminal() && taken(status, m.Name)
	})
}

// CurrentStage returns the stage that a run works on, the first that is not behind it; -1 when there is
// none. A run that goes over named members only works on the first stage in which some of them are open,
// or on one before it that has nothing but its wait and its gates left.
func CurrentStage(status *api.UpdateRunStatus) int {
	finished := -1
	for i := range status.Stages {
		s := &status.Stages[i]
		switch {
		case s.Status.State.Done():
		case len(status.RerunOf) == 0:
			return i
		case slices.ContainsFunc(s.Groups, func(g api.GroupStatus) bool { return !aside(status, &g) }):
			if finished >= 0 {
				return finished
			}
			return i
		case finished < 0 && !s.Status.StartTime.IsZero() && membersDone(s):
			finished = i
		}
	}
	return -1
}

func membersDone(s *api.StageStatus) bool {
	for j := range s.Groups {
		if !membersTerminal(&s.Groups[j]) {
			return false
		}
	}
	return true
}

// widen ends a narrowed run whose named members are done, unless nothing else of it is left; it reports
// whether the run goes on.
func (r *Run) widen() bool {
	rest := false
	for i := range r.Status.Stages {
		if rest = rest || !membersDone(&r.Status.Stages[i]); !r.Status.Stages[i].Status.StartTime.IsZero() && !r.Status.Stages[i].Status.State.Done() {
			r.markDone(r.Own(i))
		}
	}
	switch {
	case r.exceeded():
		r.Enter(&r.Status.Status, api.StateFailed)
	case rest:
		r.Enter(&r.Status.Status, api.StateStopped)
	}
	r.Status.RerunOf = nil
	return r.Status.Status.State.Active()
}

// exceededAnywhere reports whether any stage that was reached passed its threshold.
func (r *Run) exceededAnywhere() bool {
	return slices.ContainsFunc(r.Status.Stages, func(s api.StageStatus) bool {
		return !s.Status.State.Done() && stageExceeded(&s)
	})
}
