package worker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"flotilla/core/api"
)

// Answers of a result, and their reasons.
const (
	yes     = "True"
	no      = "False"
	unknown = "Unknown"

	reasonApplied     = "AllWorkHaveBeenApplied"
	reasonNotApplied  = "NotAllWorkHaveBeenApplied"
	reasonInProgress  = "ApplyInProgress"
	reasonAvailable   = "AllWorkAreAvailable"
	reasonUnavailable = "NotAllWorkAreAvailable"
	reasonUntracked   = "NotAllWorkAreAvailabilityTrackable"
	reasonReported    = "AllWorkHaveDiffReported"
	reasonUnreported  = "NotAllWorkHaveDiffReported"

	conditionApplied   = "Applied"
	conditionAvailable = "Available"
)

const (
	// maxResult is what a result may take as JSON, below the 16 KiB that the hub accepts.
	maxResult = 15 * 1024
	// maxFailures bounds the failures a result lists.
	maxFailures = 100
	// maxMessage bounds each message.
	maxMessage = 512
	// maxCompleted bounds the Jobs that it lists as done.
	maxCompleted = 100
	// maxDiffering bounds the differing objects that a result lists, maxDifferences the places of each.
	maxDiffering   = 100
	maxDifferences = 10
)

// sameResult compares two results but for the command that they answer and the times.
func sameResult(a, b api.PlacementResult) bool {
	a.Order, b.Order = api.Order{}, api.Order{}
	a.Changed, a.Times = b.Changed, b.Times
	return reflect.DeepEqual(a, b)
}

// newResult begins the result of an entry.
func newResult(member string, order api.Order, e api.IndexEntry) api.PlacementResult {
	return api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: member, Placement: e.Placement, UID: e.UID,
		Order: order, Generation: e.Generation, Snapshot: e.Snapshot, Work: e.Work,
	}
}

// tally is what came of the objects of one placement.
type tally struct {
	total     int
	failures  []api.ManifestFailure // could not be applied
	waiting   []api.ManifestFailure // applied, not available yet
	untracked int
	completed []api.ObjectRef       // done for good
	differing []api.DifferingObject // left so
}

// report fills in what differs, where nothing is written.
func (t *tally) report(r *api.PlacementResult) {
	t.fill(r)
	r.Applied, r.DiffReported, r.DiffReportedReason = unknown, yes, reasonReported
	switch {
	case len(t.failures) > 0:
		r.DiffReported, r.DiffReportedReason = no, reasonUnreported
		r.DiffReportedMessage = fmt.Sprintf("%d of %d objects could not be compared, first %s: %s",
			len(t.failures), t.total, r.Failures[0].ObjectRef, r.Failures[0].Message)
	case len(t.differing) == 0:
		r.DiffReportedMessage = fmt.Sprintf("all %d objects are as they are wanted", t.total)
	default:
		first := &t.differing[0]
		r.DiffReportedMessage = fmt.Sprintf("%d of %d objects differ, first %s at %s", len(t.differing), t.total, first.ObjectRef, first.Differences[0])
	}
	cut(r)
}

// fill fills in what is in trouble, and what differs.
func (t *tally) fill(r *api.PlacementResult) {
	r.Total, r.Failed = t.total, len(t.failures)+len(t.waiting)
	r.Failures = slices.Concat(sorted(t.failures), sorted(t.waiting))
	if n := min(len(t.completed), maxCompleted); n > 0 {
		r.Completed = t.completed[:n]
	}
	r.DifferingTotal = len(t.differing)
	for _, d := range t.differing[:min(len(t.differing), maxDiffering)] {
		d.Differences = slices.Clone(d.Differences[:min(len(d.Differences), maxDifferences)])
		for i := range d.Differences {
			d.Differences[i].Path = shorten(d.Differences[i].Path, maxFields)
		}
		r.Differing = append(r.Differing, d)
	}
}

// answer fills in the two answers and what is in trouble.
func (t *tally) answer(r *api.PlacementResult) {
	t.fill(r)
	switch {
	case len(t.failures) > 0:
		r.Applied, r.AppliedReason = no, reasonNotApplied
		r.AppliedMessage = fmt.Sprintf("%d of %d objects could not be applied, first %s: %s",
			len(t.failures), t.total, r.Failures[0].ObjectRef, r.Failures[0].Message)
		cut(r)
		return
	case len(t.waiting) > 0:
		r.Available, r.AvailableReason = no, reasonUnavailable
		r.AvailableMessage = fmt.Sprintf("%d of %d objects are not available yet, first %s: %s",
			len(t.waiting), t.total, r.Failures[0].ObjectRef, r.Failures[0].Message)
	case t.untracked > 0:
		r.Available, r.AvailableReason = yes, reasonUntracked
		r.AvailableMessage = fmt.Sprintf("all %d objects are there; the availability of %d of them cannot be tracked", t.total, t.untracked)
	default:
		r.Available, r.AvailableReason = yes, reasonAvailable
		r.AvailableMessage = fmt.Sprintf("all %d objects are available", t.total)
	}
	r.Applied, r.AppliedReason = yes, reasonApplied
	r.AppliedMessage = fmt.Sprintf("all %d objects are applied", t.total)
	cut(r)
}

func sorted(failures []api.ManifestFailure) []api.ManifestFailure {
	out := slices.Clone(failures)
	slices.SortFunc(out, func(a, b api.ManifestFailure) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// cut makes a result small enough to be sent. Failed keeps the true number.
func cut(r *api.PlacementResult) {
	r.AppliedMessage, r.AvailableMessage = clip(r.AppliedMessage), clip(r.AvailableMessage)
	r.DiffReportedMessage = clip(r.DiffReportedMessage)
	r.Failures = r.Failures[:min(len(r.Failures), maxFailures)]
	for i := range r.Failures {
		r.Failures[i].Message = clip(r.Failures[i].Message)
	}
	for len(r.Failures)+len(r.Completed)+len(r.Corrected)+len(r.Differing) > 0 {
		body, err := json.Marshal(r)
		if err == nil && len(body) <= maxResult {
			return
		}
		r.Corrected = r.Corrected[:len(r.Corrected)/2]
		r.Completed = r.Completed[:len(r.Completed)/2]
		r.Differing = r.Differing[:len(r.Differing)/2]
		r.Failures = r.Failures[:len(r.Failures)/2]
	}
}

func clip(message string) string { return shorten(message, maxMessage) }

// shorten cuts a text to at most so many bytes, between characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
