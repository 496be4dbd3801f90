package upgrade

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/version"
)

// firstStart refreshes the membership, binds what is bound once for the whole run, and checks the
// members against the version rules.
func (e *engine) firstStart() *api.Refusal {
	if refusal := e.refresh(); refusal != nil {
		return refusal
	}
	e.bind()
	e.goal = newGoal(e.run, &e.st)
	if refusal := e.preflight(); refusal != nil {
		return refusal
	}
	e.st.BlockedBy = ""
	e.enter(&e.st.Status, api.StateRunning)
	return nil
}

// bind resolves an alias and selects consistent images, once (updates.md 2.9 rule 15 and 3.1).
func (e *engine) bind() {
	members := e.view.Fleet.frozen(e.st.Stages)
	upgrade := &e.run.Spec.Upgrade
	if e.st.ResolvedKubernetesVersion == "" && upgrade.KubernetesVersion != "" {
		minor, _ := version.Parse(upgrade.KubernetesVersion)
		var regions []string
		for _, m := range members {
			regions = append(regions, m.Inventory.Region)
		}
		if v, ok := e.view.Catalog.Alias(minor, regions); ok {
			e.st.ResolvedKubernetesVersion = v.String()
		}
	}
	if upgrade.Images() == api.ImagesConsistent && upgrade.Type != api.UpgradeControlPlaneOnly && e.st.NodeImageSelection == nil {
		var places []version.Place
		for _, m := range members {
			for i := range m.Pools {
				if m.Pools[i].Family != "" {
					places = append(places, version.Place{Region: m.Inventory.Region, Family: m.Pools[i].Family})
				}
			}
		}
		e.st.NodeImageSelection = &api.SelectedImages{SelectedNodeImageVersions: e.view.Catalog.Consistent(places)}
	}
}

// refresh selects the members anew when the fleet changed between creation and the first start, and
// keeps what users skipped (updates.md 2.9 rule 6).
func (e *engine) refresh() *api.Refusal {
	picked, err := selectMembers(&e.st.Strategy, e.view.Fleet)
	if err != nil {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: err.Error()}
	}
	picked.missing = nil // a group may have lost its last member meanwhile
	if refusal := picked.refuse(e.st.Run); refusal != nil {
		return refusal
	}
	fresh, members, clamped := tree(&e.st.Strategy, &picked, e.now)
	if e.sameMembers(&picked) {
		e.warnAnew(selectionWarnings(clamped, &picked))
		return nil
	}
	if members > api.MaxRunMembers {
		return &api.Refusal{
			Code:    api.CodeLimitExceeded,
			Message: fmt.Sprintf("the stages select %d members, a run holds at most %d", members, api.MaxRunMembers),
		}
	}
	keepSkips(fresh, e.st.Stages)
	e.st.Stages, e.st.Members = fresh, members
	for i := range e.owned {
		e.owned[i] = true
	}
	e.warnAnew(append(slices.Clip(selectionWarnings(clamped, &picked)),
		"the fleet changed after the run was created; its members were selected anew at the first start"))
	e.rebase()
	return nil
}

// warnAnew replaces the warnings of the creation by those that hold now.
func (e *engine) warnAnew(selected []string) {
	c := creation{run: e.run, view: e.view, status: e.st}
	c.status.Warnings = selected
	c.warn(e.now)
	e.st.Warnings = c.status.Warnings
}

func (e *engine) sameMembers(picked *selection) bool {
	for i := range e.st.Stages {
		for j := range e.st.Stages[i].Groups {
			old, now := e.st.Stages[i].Groups[j].Members, picked.members[i][j]
			same := slices.EqualFunc(old, now, func(a api.MemberUpdateStatus, b *Member) bool {
				return a.Name == b.Name && b.is(a.ClusterResourceID)
			})
			if !same {
				return false
			}
		}
	}
	return true
}

// keepSkips carries over what users skipped before the first start.
func keepSkips(fresh, old []api.StageStatus) {
	for i := range fresh {
		fresh[i].SkippedByUser = old[i].SkippedByUser
		fresh[i].Status, fresh[i].Wait = old[i].Status, old[i].Wait
		fresh[i].BeforeGates, fresh[i].AfterGates = old[i].BeforeGates, old[i].AfterGates
		for j := range fresh[i].Groups {
			g, was := &fresh[i].Groups[j], &old[i].Groups[j]
			g.SkippedByUser, g.BeforeGates, g.AfterGates = was.SkippedByUser, was.BeforeGates, was.AfterGates
			if was.SkippedByUser {
				g.Status = was.Status
			}
			for k := range g.Members {
				m := &g.Members[k]
				at := slices.IndexFunc(was.Members, func(o api.MemberUpdateStatus) bool {
					return o.Name == m.Name && o.ClusterResourceID == m.ClusterResourceID
				})
				switch {
				case at >= 0:
					*m = was.Members[at]
				case g.SkippedByUser:
					skipByUser(m, api.ReasonSkippedByGroup, g.Status.CompletedTime)
				}
			}
		}
	}
}

// rebase makes the refreshed tree the one that events compare with: members that came or went are no
// transitions.
func (e *engine) rebase() {
	was := *e.was
	was.Stages = make([]api.StageStatus, len(e.st.Stages))
	copied := engine{st: api.UpdateRunStatus{Stages: append([]api.StageStatus(nil), e.st.Stages...)}, owned: make([]bool, len(e.st.Stages))}
	for i := range was.Stages {
		was.Stages[i] = *copied.own(i)
	}
	e.was = &was
}
