package draft

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/guard"
)

// StaysFrozen says that no member moves, and until when.
func StaysFrozen(freeze *api.Freeze) string {
	return fmt.Sprintf("%s: no member moves until: %s", freeze, freeze.Unfreeze())
}

// noteFrozenRuns says of runs among the documents that none of their members begins.
func (f *Draft) noteFrozenRuns() {
	freeze := f.records.Frozen().Of(api.FreezeRuns)
	for i := 0; freeze != nil && i < len(f.typed); i++ {
		switch ref := f.typed[i].Object; ref.Kind {
		case api.KindUpdateRun, api.KindStagedUpdateRun, api.KindClusterStagedUpdateRun:
			f.note(ref, fmt.Sprintf("%s: none of its members begins until: %s", freeze, freeze.Unfreeze()))
		}
	}
}

// frozen refuses a deletion that would take placements off members while they are frozen; nil where nothing is.
func (f *Draft) frozen(stored *api.Spec) *api.Failure {
	frozen := f.records.Frozen()
	freeze := frozen.Of(api.FreezePlacements)
	switch ref := stored.Object; {
	case ref.Kind == api.KindMemberCluster:
		freeze = frozen.On(api.FreezePlacements, ref.Name)
	case !f.records.IsPlacement(ref):
		return nil
	case freeze == nil:
		freeze = f.frozenMember(ref)
	}
	if freeze == nil {
		return nil
	}
	return &api.Failure{
		Code: api.CodeRefused, Next: freeze.Unfreeze(),
		Message: fmt.Sprintf("nothing was deleted: deleting %s would take what is placed off members, and that is frozen: %s", stored.Object, guard.Waits(freeze)),
	}
}

// frozenMember is the freeze of a member that a placement is on; nil where it is on none that is frozen.
func (f *Draft) frozenMember(placement api.ObjectRef) *api.Freeze {
	_, name := f.records.Place(placement)
	release, _, _ := f.records.Releases.Get(name)
	for i := range release.Entries {
		if e := &release.Entries[i]; !e.Withdrawn {
			if freeze := f.records.Frozen().OfMember(e.Member); freeze != nil {
				return freeze
			}
		}
	}
	return nil
}
