package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// labelPlaced marks what was written here, so that it can be watched without the rest of its kind.
const labelPlaced = "flotilla.io/placed"

// objects is where objects of the kind and the namespace of ref are.
func (t *Target) objects(ref api.ObjectRef) (dynamic.ResourceInterface, served, error) {
	kind, err := t.kinds.of(ref)
	return t.at(kind, ref), kind, err
}

func (t *Target) at(kind served, ref api.ObjectRef) dynamic.ResourceInterface {
	if !kind.namespaced {
		return t.dynamic.Resource(kind.GroupVersionResource)
	}
	return t.dynamic.Resource(kind.GroupVersionResource).Namespace(ref.Namespace)
}

// Get reads one object from the API server. A kind that is not served has none.
func (t *Target) Get(ctx context.Context, ref api.ObjectRef) (*unstructured.Unstructured, error) {
	at, _, err := t.objects(ref)
	if meta.IsNoMatchError(err) {
		return nil, apierrors.NewNotFound(target.GroupResource(ref), ref.Name)
	}
	if err != nil {
		return nil, err
	}
	return at.Get(ctx, ref.Name, metav1.GetOptions{})
}

// Apply writes one object by server-side apply. A CustomResourceDefinition is waited for until its kind is served.
func (t *Target) Apply(ctx context.Context, w target.Write) (*unstructured.Unstructured, error) {
	ref := apply.RefOf(w.Object)
	at, kind, err := t.objects(ref)
	if err != nil {
		return nil, err
	}
	if w.Disown {
		return disown(ctx, at, w)
	}
	t.views.open(kind.GroupVersionResource)
	written, err := write(ctx, at, w)
	if err != nil || !definesKind(ref) {
		return written, err
	}
	return t.established(ctx, at, written)
}

// write applies an object, and creates it first where it must not be there.
func write(ctx context.Context, at dynamic.ResourceInterface, w target.Write) (*unstructured.Unstructured, error) {
	object, options := applied(w), metav1.ApplyOptions{FieldManager: apply.FieldManager, Force: w.Force}
	if w.Exclusive && w.UID == "" {
		made, err := at.Create(ctx, object, metav1.CreateOptions{FieldManager: apply.Creator})
		if err != nil {
			return nil, err
		}
		object.SetUID(made.GetUID())
		options.Force = true // over its own creator
	}
	written, err := at.Apply(ctx, object.GetName(), object, options)
	if !options.Force && uncontended(err) {
		options.Force = true
		written, err = at.Apply(ctx, object.GetName(), object, options)
	}
	if err != nil {
		return nil, otherUID(err, w)
	}
	return released(ctx, at, written), nil
}

// otherUID is the conflict that an API server calls an invalid change of metadata.uid.
func otherUID(err error, w target.Write) error {
	status, is := err.(apierrors.APIStatus)
	if !is || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return err
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			ref := apply.RefOf(w.Object)
			return apierrors.NewConflict(target.GroupResource(ref), ref.Name, fmt.Errorf("uid is not %s", w.UID))
		}
	}
	return err
}

// uncontended says that a write was refused over fields that nobody else owns.
func uncontended(err error) bool {
	status, is := err.(apierrors.APIStatus)
	return is && apply.Uncontended(apply.Contested(status.Status().Details))
}

// released takes the share that the creator had off an object, so that the fields belong to who applies alone. What
// fails is done with the next write.
func released(ctx context.Context, at dynamic.ResourceInterface, live *unstructured.Unstructured) *unstructured.Unstructured {
	others, had := without(live, apply.Creator)
	if !had {
		return live
	}
	patched, err := patch(ctx, at, live, map[string]any{"managedFields": others})
	if err != nil {
		return live
	}
	return patched
}

// Preview is what a forced Apply would return.
func (t *Target) Preview(ctx context.Context, w target.Write) (*unstructured.Unstructured, error) {
	at, _, err := t.objects(apply.RefOf(w.Object))
	if err != nil {
		return nil, err
	}
	return at.Apply(ctx, w.Object.GetName(), applied(w), metav1.ApplyOptions{
		FieldManager: apply.FieldManager, Force: true, DryRun: []string{metav1.DryRunAll},
	})
}

// applied is what is sent to the API server: what is wanted, for the object with that uid and no other.
func applied(w target.Write) *unstructured.Unstructured {
	object := w.Object.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "creationTimestamp", "generation", "selfLink", "uid"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelPlaced] = "true"
	object.SetLabels(labels)
	if w.UID != "" {
		object.SetUID(types.UID(w.UID))
	}
	if w.Version != "" {
		object.SetResourceVersion(w.Version)
	}
	return object
}
