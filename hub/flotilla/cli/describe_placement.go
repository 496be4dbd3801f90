package cli

import (
	"slices"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// describedInFull is of how many members in trouble describe shows all conditions.
const describedInFull = 1

// describePlacement shows a placement as kubectl would, but for its members: a line for each, and only the
// first of those in trouble in full.
func (a placementCommands) describePlacement(obj *unstructured.Unstructured) error {
	status := placementStatusOf(obj)
	short := obj.DeepCopy()
	entries := sliceOfMaps(view{object: obj}.field("status", "placementStatuses"))
	entries = slices.DeleteFunc(entries, func(m map[string]any) bool {
		return !slices.Contains([]string{api.EntryFailed, api.EntryDrifted, api.EntryNotAvailable, api.EntryUnknown}, stringOf(m["state"]))
	})
	var kept []any
	for _, m := range entries[:min(len(entries), describedInFull)] {
		kept = append(kept, m)
	}
	if kept == nil {
		unstructured.RemoveNestedField(short.Object, "status", "placementStatuses")
	} else if err := unstructured.SetNestedSlice(short.Object, kept, "status", "placementStatuses"); err != nil {
		return err
	}
	unstructured.RemoveNestedField(short.Object, "status", "rollout", "heldUpBy")
	unstructured.RemoveNestedField(short.Object, "status", "withdrawals")
	a.printf("%s", describeObject(short))
	if lines := memberLines(status); len(lines) > 0 {
		a.printf("Members:\n")
		w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
		say(w, "  Member\tSnapshot\tState\tSince\tMessage\n")
		say(w, "  ------\t--------\t-----\t-----\t-------\n")
		for _, l := range lines {
			say(w, "  %s\t%s\t%s\t%s\t%s\n", l.member, l.snapshot, l.state, since(a.Now(), l.since), orDash(l.message))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func stringOf(value any) string {
	s, _ := value.(string)
	return s
}
