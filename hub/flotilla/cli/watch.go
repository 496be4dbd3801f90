package cli

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// watch lists again whenever something changed, and shows what, until the command is interrupted.
func (a objectCommands) watch(ctx context.Context, o *getOptions, t target) error {
	news, err := a.changesOf(ctx, a.watchedKinds(&t, o.selection)...)
	if err != nil {
		return stoppedOr(ctx, err)
	}
	seen := map[string]string{}
	w := &watchPrinter{client: a.Client, output: &o.output, tables: map[string]*watchTable{}}
	for first := true; ; first = false {
		objects, missing, err := a.fetchTarget(ctx, t, o.selection)
		if err != nil {
			return stoppedOr(ctx, err)
		}
		if first && len(missing) > 0 {
			return joinErrors(ExitDifferent, missing)
		}
		changed := changedSince(seen, objects)
		if o.table() {
			a.addETAs(ctx, changed)
		}
		if err := w.print(changed, first && o.watchOnly); err != nil {
			return err
		}
		if more, err := news.next(ctx); !more || err != nil {
			return err
		}
	}
}

// changedSince returns the objects that differ from what was seen, and remembers them.
func changedSince(seen map[string]string, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var changed []*unstructured.Unstructured
	for _, obj := range objects {
		key := refOf(obj).String()
		body, err := json.Marshal(steady(obj).Object)
		if err == nil && seen[key] != string(body) {
			seen[key] = string(body)
			changed = append(changed, obj)
		}
	}
	return changed
}

// steady leaves out the words of a node's verdict, some of which count seconds.
func steady(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj.GetKind() != api.KindMemberNode {
		return obj
	}
	obj = obj.DeepCopy()
	unstructured.RemoveNestedField(obj.Object, "status", "verdict", "message")
	return obj
}
