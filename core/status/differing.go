package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// reportsDiff says that the placement writes nothing and has members report what differs.
func (e *evaluation) reportsDiff() bool {
	s := e.in.Placement.Spec.Strategy.ApplyStrategy
	return s != nil && s.Type == api.ApplyReportDiff
}

// diffReported is True once a member has compared every object, whatever it found.
func (e *evaluation) diffReported(v *view) finding {
	f := finding{kind: api.ConditionDiffReported, since: v.result.Changed.Time, message: v.result.DiffReportedMessage}
	f.status, f.reason = diffReportedOf(v.result)
	if v.offline() {
		f.silent(v, reasonDiffPending)
	}
	if f.message == "" {
		f.message = fmt.Sprintf("comparing %d objects", v.result.Total)
	}
	return f
}

func diffReportedOf(r *api.PlacementResult) (metav1.ConditionStatus, string) {
	return answered(r.DiffReported, r.DiffReportedReason, reasonAllReported, reasonNotAllReported, reasonDiffInProgress)
}

// diffTexts are of the condition that takes the place of Applied and Available.
var diffTexts = texts{
	api.ConditionDiffReported, reasonDiffPending, reasonDiffFailed, reasonDiffCompleted,
	"it is not known yet what differs on %s", "objects could not be compared on %s", "all objects are compared on %s",
}

// diffed lists the objects that differ on a member, the first 100 of them.
func (e *evaluation) diffed(v *view) []api.DiffedPlacement {
	if v.result == nil {
		return nil
	}
	var out []api.DiffedPlacement
	for _, d := range v.result.Differing[:min(len(v.result.Differing), shown)] {
		one := api.DiffedPlacement{ResourceIdentifier: e.identifier(d.ObjectRef), ObservedDiffs: d.Differences}
		if d.Total > len(d.Differences) {
			one.Total = d.Total
		}
		out = append(out, one)
	}
	return out
}

// differingText names the first object that differs, and where.
func differingText(r *api.PlacementResult) string {
	if len(r.Differing) == 0 {
		return oneLine(r.DiffReportedMessage)
	}
	first := &r.Differing[0]
	text := nameText(first.ObjectRef)
	switch d := first.Differences; {
	case len(d) > 0 && d[0].Path != "/":
		text += " differs at " + oneLine(d[0].String())
		if more := first.Total - 1; more > 0 {
			text += fmt.Sprintf(" and %d more %s", more, phrase.Plural(more, "place", "places"))
		}
	case len(d) > 0 && d[0].Manager != "":
		text += " is not wanted any more"
	default:
		text += " is not there"
	}
	if more := r.DifferingTotal - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more %s)", more, phrase.Plural(more, "object", "objects"))
	}
	return text
}
