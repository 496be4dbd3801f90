package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

const (
	// establishing is how long a new kind is waited for until it is served; lookForKind how often it is looked for.
	establishing = 10 * time.Second
	lookForKind  = 100 * time.Millisecond
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func definesKind(ref api.ObjectRef) bool {
	return ref.Kind == "CustomResourceDefinition" && ref.APIVersion == definitions.GroupVersion().String()
}

// established waits until the kind that was just defined is served, so that what is of it can be written next. One
// that takes longer is told of by its availability.
func (t *Target) established(ctx context.Context, at dynamic.ResourceInterface, written *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kinds := definedBy(written)
	err := wait.PollUntilContextTimeout(ctx, lookForKind, establishing, true, func(ctx context.Context) (bool, error) {
		if ready, _ := apply.Ready(written); ready != apply.Available {
			live, err := at.Get(ctx, written.GetName(), metav1.GetOptions{})
			if err == nil {
				written = live
			}
			return false, err
		}
		for _, ref := range kinds {
			if _, err := t.kinds.of(ref); err != nil {
				return false, nil //nolint:nilerror // it is asked for again
			}
		}
		return true, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = nil
	}
	return written, err
}

// definedBy are the kinds, in the versions that are served, that a CustomResourceDefinition defines.
func definedBy(definition *unstructured.Unstructured) []api.ObjectRef {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var refs []api.ObjectRef
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		if on, _ := version["served"].(bool); on {
			refs = append(refs, api.ObjectRef{APIVersion: schema.GroupVersion{Group: group, Version: name}.String(), Kind: kind})
		}
	}
	return refs
}

// watchDefinitions tells when other kinds are served than before: what could not be written for want of its kind can
// be then.
func (t *Target) watchDefinitions(failed func(string, error)) {
	informer := dynamicinformer.NewFilteredDynamicInformer(t.dynamic, definitions, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	_ = informer.SetTransform(onlyNames) // else it runs already
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed(definitions.GroupResource().String(), err) })
	changed := func(o any) {
		if last, gone := o.(cache.DeletedFinalStateUnknown); gone {
			o = last.Obj
		}
		definition, is := o.(*unstructured.Unstructured)
		if !is {
			return
		}
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		t.kinds.forget(group)
		t.changes.tell(target.Change{Kinds: true})
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			if !initial {
				changed(o)
			}
		},
		UpdateFunc: func(before, after any) {
			if !same(before, after) {
				changed(after)
			}
		},
		DeleteFunc: changed,
	}) // else it has stopped
	t.run(informer.RunWithContext)
}

// onlyNames drops the schemas of a definition, which take most of its room and which nobody reads.
func onlyNames(object any) (any, error) {
	definition, is := object.(*unstructured.Unstructured)
	if !is {
		return object, nil
	}
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kept := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": definition.GetAPIVersion(), "kind": definition.GetKind(),
		"metadata": map[string]any{"name": definition.GetName(), "uid": string(definition.GetUID()), "resourceVersion": definition.GetResourceVersion()},
		"spec":     map[string]any{"group": group},
	}}
	return kept, nil
}
