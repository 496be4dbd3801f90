package object

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

// watch lists again whenever something changed, and shows what, until the command is interrupted.
func (a Commands) watch(ctx context.Context, o *getOptions, t resource.Target) error {
	news, err := a.ChangesOf(ctx, a.WatchedKinds(&t, o.Selection)...)
	if err != nil {
		return session.StoppedOr(ctx, err)
	}
	seen := map[string]string{}
	w := &show.WatchPrinter{Client: a.Client, Output: &o.Output, Tables: map[string]*show.WatchTable{}}
	for first := true; ; first = false {
		objects, missing, err := a.FetchTarget(ctx, t, o.Selection)
		if err != nil {
			return session.StoppedOr(ctx, err)
		}
		if first && len(missing) > 0 {
			return resource.JoinErrors(session.ExitDifferent, missing)
		}
		changed := changedSince(seen, objects)
		if o.Table() {
			a.AddETAs(ctx, changed)
		}
		if err := w.Print(changed, first && o.watchOnly); err != nil {
			return err
		}
		if more, err := news.Next(ctx); !more || err != nil {
			return err
		}
	}
}

// changedSince returns the objects that differ from what was seen, and remembers them.
func changedSince(seen map[string]string, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var changed []*unstructured.Unstructured
	for _, obj := range objects {
		key := resource.RefOf(obj).String()
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
