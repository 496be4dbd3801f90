package staged

import (
	"cmp"

	"flotilla/core/api"
)

// frozen is the freeze that keeps a member from beginning; nil where none does.
func (e *engine) frozen(member string) *api.Freeze {
	return cmp.Or(e.view.Freezes.On(api.FreezeRuns, member), e.view.Freezes.Of(api.FreezePlacements))
}

// excused says that the time that a member takes is not its own: what is released to members is frozen, or was until
// shortly before.
func (e *engine) excused(member string) bool {
	f := e.view.Freezes
	return f.On(api.FreezePlacements, member) != nil || e.Now.Before(f.Thawed(api.FreezePlacements, member).Add(StuckAfter))
}
