package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

// describedInFull is of how many members in trouble describe shows all conditions.
const describedInFull = 1

// DescribePlacement shows a placement as kubectl would, but for its members: a line for each, and only the
// first of those in trouble in full.
func (a Commands) DescribePlacement(obj *unstructured.Unstructured) error {
	short := obj.DeepCopy()
	entries, _, _ := unstructured.NestedSlice(short.Object, "status", "placementStatuses")
	troubled := slices.DeleteFunc(entries, func(entry any) bool {
		fields, _ := entry.(map[string]any)
		return !slices.Contains([]any{api.EntryFailed, api.EntryDrifted, api.EntryNotAvailable, api.EntryUnknown}, fields["state"])
	})
	unstructured.RemoveNestedField(short.Object, "status", "placementStatuses")
	if len(troubled) > 0 {
		if err := unstructured.SetNestedSlice(short.Object, troubled[:min(len(troubled), describedInFull)], "status", "placementStatuses"); err != nil {
			return err
		}
	}
	unstructured.RemoveNestedField(short.Object, "status", "rollout", "heldUpBy")
	unstructured.RemoveNestedField(short.Object, "status", "withdrawals")
	a.Printf("%s", show.DescribeObject(short))
	if lines := memberLines(placementOf(obj)); len(lines) > 0 {
		a.Printf("Members:\n")
		w := a.Columns(2)
		session.Say(w, "  Member\tSnapshot\tState\tSince\tMessage\n")
		session.Say(w, "  ------\t--------\t-----\t-----\t-------\n")
		for _, l := range lines {
			session.Say(w, "  %s\t%s\t%s\t%s\t%s\n", l.member, l.snapshot, l.state, session.Since(a.Now(), l.since), session.OrDash(l.message))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
