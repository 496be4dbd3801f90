package draft

import (
	"context"
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
func (f *Draft) frozen(ref api.ObjectRef) *api.Failure {
	if ref.Kind != api.KindMemberCluster && !f.records.IsPlacement(ref) {
		return nil
	}
	frozen := f.records.Frozen()
	freeze := frozen.Of(api.FreezePlacements)
	switch {
	case ref.Kind == api.KindMemberCluster:
		freeze = frozen.On(api.FreezePlacements, ref.Name)
	case freeze == nil:
		freeze = f.frozenMember(ref)
	}
	if freeze == nil {
		return nil
	}
	return &api.Failure{
		Code: api.CodeRefused, Next: freeze.Unfreeze(),
		Message: fmt.Sprintf("nothing was deleted: deleting %s would take what is placed off members, and that is frozen: %s", ref, guard.Waits(freeze)),
	}
}

// beforeFreezes has freezes written after the draft, or returns one that forbids its deletions by now.
func (f *Draft) beforeFreezes(ctx context.Context) (stored func(), err error) {
	if len(f.going) == 0 {
		return func() {}, nil
	}
	if err := f.desk.Freezing.Take(ctx); err != nil {
		return nil, err
	}
	for ref, goes := range f.going {
		if failure := f.frozen(ref); goes && failure != nil {
			f.desk.Freezing.Leave()
			return nil, failure
		}
	}
	return f.desk.Freezing.Leave, nil
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
