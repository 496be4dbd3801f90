package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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
	if err != nil {
		return nil, served{}, err
	}
	if !kind.namespaced {
		return t.dynamic.Resource(kind.GroupVersionResource), kind, nil
	}
	return t.dynamic.Resource(kind.GroupVersionResource).Namespace(ref.Namespace), kind, nil
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

// Apply writes one object by server-side apply. What others own is a conflict that names field and manager, unless
// the write is forced.
func (t *Target) Apply(ctx context.Context, w target.Write) (*unstructured.Unstructured, error) {
	ref := apply.RefOf(w.Object)
	at, kind, err := t.objects(ref)
	if meta.IsNoMatchError(err) {
		t.kinds.forget()
		at, kind, err = t.objects(ref)
	}
	if err != nil {
		return nil, err
	}
	if w.Disown {
		return disown(ctx, at, w)
	}
	t.views.open(kind.GroupVersionResource)
	written, err := at.Apply(ctx, ref.Name, applied(w), metav1.ApplyOptions{FieldManager: FieldManager, Force: w.Force})
	if err == nil && ref.Kind == "CustomResourceDefinition" {
		t.kinds.forget()
	}
	return written, err
}

// applied is what is sent to the API server: what is wanted, for the object with that uid and no other.
func applied(w target.Write) *unstructured.Unstructured {
	object := w.Object.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelPlaced] = "true"
	object.SetLabels(labels)
	object.SetUID(types.UID(w.UID))
	if w.UID == "" {
		unstructured.RemoveNestedField(object.Object, "metadata", "uid")
	}
	return object
}

// disown takes our marks and our share of the fields off an object and leaves all else: what was applied belongs to
// nobody from then on.
func disown(ctx context.Context, at dynamic.ResourceInterface, w target.Write) (*unstructured.Unstructured, error) {
	name := w.Object.GetName()
	live, err := at.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if string(live.GetUID()) != w.UID {
		ref := apply.RefOf(w.Object)
		return nil, apierrors.NewConflict(target.GroupResource(ref), name, fmt.Errorf("uid is %s, not %s", live.GetUID(), w.UID))
	}
	others := slices.DeleteFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == FieldManager })
	if len(others) == 0 {
		others = []metav1.ManagedFieldsEntry{{}} // how managed fields are emptied
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations":     map[string]any{api.AnnotationOwner: nil, api.AnnotationDigest: nil},
		"labels":          map[string]any{labelPlaced: nil},
		"managedFields":   others,
		"uid":             w.UID,
		"resourceVersion": live.GetResourceVersion(),
	}})
	if err != nil {
		return nil, err
	}
	return at.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
}

// Delete removes one object with that uid. Its dependents are deleted in the background, as kubectl does.
func (t *Target) Delete(ctx context.Context, r target.Removal) error {
	at, _, err := t.objects(r.ObjectRef)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	uid, background := types.UID(r.UID), metav1.DeletePropagationBackground
	err = at.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
