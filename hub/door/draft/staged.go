package draft

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/staged"
	"flotilla/core/validate"
	"flotilla/hub/door/records"
)

// carried are the snapshots of a placement that staged runs bring, or may bring still, by index.
func (f *Draft) carried(p *api.Placement) map[int64]bool {
	kept := map[int64]bool{}
	for _, run := range f.records.Staged.Of(p.Key()) {
		if run.Content.PlacementUID == string(p.UID) {
			kept[run.Content.Snapshot] = true
		}
	}
	return kept
}

// judgeRuns looks at the runs of a draft: whether another kind of run has the name, and whether one that is to go on may.
func (d *Desk) judgeRuns(f *Draft) {
	for _, doc := range f.typed {
		switch run := doc.Value.(type) {
		case *api.UpdateRun:
			f.refuse(d.taken(doc.Object))
		case *api.StagedUpdateRun:
			f.refuse(d.taken(doc.Object))
			f.refuse(d.busy(f, run))
		}
	}
}

// taken refuses the name of a run of another kind: commands name runs by their names alone.
func (d *Desk) taken(ref api.ObjectRef) *api.Refusal {
	stored, _, found := d.records.Stored(ref)
	if !found || stored.Object.Kind == "" || stored.Object.Kind == ref.Kind {
		return nil
	}
	return &api.Refusal{
		Code: api.CodeNameExists, Next: "flotilla describe " + records.Typed(stored.Object),
		Message: fmt.Sprintf("%s has the name already, and runs share their names: give %s another one", stored.Object, ref.Kind),
	}
}

// busy refuses to have a run go on while another one of its placement is under way, or is to go on by the same request.
func (d *Desk) busy(f *Draft, run *api.StagedUpdateRun) *api.Refusal {
	if run.Spec.State != api.RunRun {
		return nil
	}
	for _, doc := range f.typed {
		other := validate.As[api.StagedUpdateRun](&doc.Decoded)
		if other != nil && other.Key() < run.Key() && other.Placement() == run.Placement() && other.Spec.State == api.RunRun {
			return &api.Refusal{
				Code: api.CodeInvalidState, Next: "flotilla get csur",
				Message: fmt.Sprintf("run %s is to bring placement %s to members too; one run of a placement at a time", other.Key(), run.Placement()),
			}
		}
	}
	return staged.Busy(d.records.Staged.Of(run.Placement()), run.Placement(), run.Key())
}
