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

// removalTries is how often an object is looked at anew that changes while it is to be deleted.
const removalTries = 5

// disown takes our marks and our share of the fields off an object and leaves all else: what was applied belongs to
// nobody from then on.
func disown(ctx context.Context, at dynamic.ResourceInterface, w target.Write) (*unstructured.Unstructured, error) {
	live, err := at.Get(ctx, w.Object.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := ours(live, w.UID, w.Origin.Owner); err != nil {
		return nil, err
	}
	others, _ := without(live, apply.FieldManager, apply.Creator)
	return patch(ctx, at, live, map[string]any{
		"annotations":   map[string]any{api.AnnotationOwner: nil, api.AnnotationDigest: nil},
		"labels":        map[string]any{labelPlaced: nil},
		"managedFields": others,
	})
}

// without lists the managed fields of all others than some managers, and says whether these had any.
func without(live *unstructured.Unstructured, managers ...string) ([]metav1.ManagedFieldsEntry, bool) {
	all := live.GetManagedFields()
	others := slices.DeleteFunc(slices.Clone(all), func(m metav1.ManagedFieldsEntry) bool { return slices.Contains(managers, m.Manager) })
	had := len(others) < len(all)
	if len(others) == 0 {
		others = []metav1.ManagedFieldsEntry{{}} // how managed fields are emptied
	}
	return others, had
}

// patch changes metadata of a live object that nobody changed meanwhile.
func patch(ctx context.Context, at dynamic.ResourceInterface, live *unstructured.Unstructured, metadata map[string]any) (*unstructured.Unstructured, error) {
	metadata["uid"], metadata["resourceVersion"] = live.GetUID(), live.GetResourceVersion()
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, err
	}
	return at.Patch(ctx, live.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: apply.FieldManager})
}

// ours is IsConflict for an object of another uid or another owner; an owner that is not named is any.
func ours(live *unstructured.Unstructured, uid, owner string) error {
	ref := apply.RefOf(live)
	if found := string(live.GetUID()); found != uid {
		return apierrors.NewConflict(target.GroupResource(ref), ref.Name, fmt.Errorf("uid is %s, not %s", found, uid))
	}
	if found := live.GetAnnotations()[api.AnnotationOwner]; owner != "" && found != owner {
		return apierrors.NewConflict(target.GroupResource(ref), ref.Name, fmt.Errorf("owner is %q, not %q", found, owner))
	}
	return nil
}

// Delete removes one object of that uid and version. One that changed since is looked at anew: it goes as long as it
// is its owner's. Its dependents are deleted in the background, as kubectl does.
func (t *Target) Delete(ctx context.Context, r target.Removal) error {
	kind, err := t.kinds.inAnyVersion(ctx, r.ObjectRef)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	at, version := t.at(kind, r.ObjectRef), r.Version
	for range removalTries {
		err = remove(ctx, at, r, version)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		live, read := at.Get(ctx, r.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(read) {
			return nil
		}
		if read != nil {
			return read
		}
		if err := ours(live, r.UID, r.Origin.Owner); err != nil {
			return err
		}
		version = live.GetResourceVersion()
	}
	return err
}

func remove(ctx context.Context, at dynamic.ResourceInterface, r target.Removal, version string) error {
	uid, background := types.UID(r.UID), metav1.DeletePropagationBackground
	conditions := &metav1.Preconditions{UID: &uid}
	if version != "" {
		conditions.ResourceVersion = &version
	}
	return at.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: conditions, PropagationPolicy: &background})
}
