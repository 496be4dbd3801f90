package staged

import (
	"slices"

	"flotilla/core/api"
	"flotilla/core/rollout"
	"flotilla/core/stage"
)

// Grants is what a run that is under way lets the roller do.
func Grants(status *api.UpdateRunStatus) *rollout.Grants {
	g := &rollout.Grants{Run: status.Run}
	for i := range status.Stages {
		s := &status.Stages[i]
		stage.EachMember(s, func(m *api.MemberUpdateStatus) {
			switch state := m.Status.State; {
			case status.Content.RollBack != nil:
				if state == api.StateRunning || state == api.StateCompleted {
					g.Back = append(g.Back, m.Name)
				}
			case s.Name == api.DeleteStage && state == api.StateRunning:
				g.Leave = append(g.Leave, m.Name)
			case s.Name != api.DeleteStage && state == api.StateRunning:
				g.Have = append(g.Have, m.Name)
			case s.Name != api.DeleteStage && state.Terminal():
				g.Done = append(g.Done, m.Name)
			}
		})
	}
	slices.Sort(g.Have)
	slices.Sort(g.Leave)
	slices.Sort(g.Done)
	slices.Sort(g.Back)
	return g
}
