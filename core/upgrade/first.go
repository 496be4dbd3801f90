package upgrade

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/version"
)

// Begin refreshes the membership, binds what is bound once for the whole run, and checks the members
// against the version rules.
func (e *engine) Begin() *api.Refusal {
	if refusal := e.refresh(); refusal != nil {
		return refusal
	}
	e.bind()
	e.goal = newGoal(e.run, &e.Status)
	return e.preflight()
}

// bind resolves an alias and selects consistent images, once, so that all members get the same.
func (e *engine) bind() {
	members := e.view.Fleet.frozen(e.Status.Stages)
	upgrade := &e.run.Spec.Upgrade
	if e.Status.ResolvedKubernetesVersion == "" && upgrade.KubernetesVersion != "" {
		minor, _ := version.Parse(upgrade.KubernetesVersion)
		if v, ok := patch(minor, members, e.view.Catalog); ok {
			e.Status.ResolvedKubernetesVersion = v.String()
		}
	}
	if upgrade.Images() == api.ImagesConsistent && upgrade.Type != api.UpgradeControlPlaneOnly && e.Status.NodeImageSelection == nil {
		e.Status.NodeImageSelection = &api.SelectedImages{SelectedNodeImageVersions: images(members, e.view.Catalog)}
	}
}

// families are those of the member's pools, sorted.
func (m *Member) families() []string {
	families := map[string]bool{}
	for i := range m.Pools {
		if family := m.Pools[i].Family; family != "" {
			families[family] = true
		}
	}
	return sortedNames(families)
}

// refresh selects the members anew when the fleet changed between creation and the first start, and
// keeps what users skipped.
func (e *engine) refresh() *api.Refusal {
	picked, err := selectMembers(&e.Status.Strategy, e.view.Fleet)
	if err != nil {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: err.Error()}
	}
	if !picked.byAgents {
		picked.missing = nil // a group may have lost its last member meanwhile
	}
	if refusal := picked.refuse(e.Status.Run); refusal != nil {
		return refusal
	}
	fresh, members, clamped := stage.Tree(&e.Status.Strategy, picked.frozen, api.MaxStageAtOnce, e.Now)
	if e.sameMembers(&picked) {
		e.warnAnew(selectionWarnings(clamped, &picked), picked.out)
		return nil
	}
	if members > api.MaxRunMembers {
		return &api.Refusal{
			Code:    api.CodeLimitExceeded,
			Message: fmt.Sprintf("the stages select %d members, a run holds at most %d", members, api.MaxRunMembers),
		}
	}
	e.Replace(fresh, members)
	e.warnAnew(append(slices.Clip(selectionWarnings(clamped, &picked)),
		"the fleet changed after the run was created; its members were selected anew at the first start"), picked.out)
	return nil
}

// warnAnew replaces the warnings of the creation by those that hold now, and tells who is left out now.
func (e *engine) warnAnew(selected []string, out []api.LeftOut) {
	c := creation{run: e.run, view: e.view, status: e.Status}
	c.status.Warnings = selected
	c.warn(e.Now)
	e.Status.Warnings = c.status.Warnings
	stage.TellLeftOut(&e.Status, out)
}

func (e *engine) sameMembers(picked *selection) bool {
	for i := range e.Status.Stages {
		for j := range e.Status.Stages[i].Groups {
			old, now := e.Status.Stages[i].Groups[j].Members, picked.members[i][j]
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
