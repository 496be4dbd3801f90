package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// Owners lists those of the inventory.
func (t *Target) Owners(ctx context.Context) ([]string, error) { return t.inventory.names(ctx) }

// Intend writes the inventory of an owner.
func (t *Target) Intend(ctx context.Context, owner string, refs []api.ObjectRef) error {
	return t.inventory.put(ctx, owner, refs)
}

// Owned reads what the inventory lists of an owner and is its own: from what is watched, or from the API server.
func (t *Target) Owned(ctx context.Context, owner string) ([]*unstructured.Unstructured, error) {
	refs, err := t.inventory.of(ctx, owner)
	if err != nil {
		return nil, err
	}
	var owned []*unstructured.Unstructured
	for _, ref := range refs {
		object, err := t.look(ctx, ref)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		case err != nil:
			return nil, err
		case object.GetAnnotations()[api.AnnotationOwner] == owner:
			owned = append(owned, object)
		}
	}
	return owned, nil
}

// look finds an object in what is watched of its kind, or reads it.
func (t *Target) look(ctx context.Context, ref api.ObjectRef) (*unstructured.Unstructured, error) {
	kind, err := t.kinds.inAnyVersion(ctx, ref)
	if err != nil {
		return nil, err
	}
	if object := t.views.open(kind.GroupVersionResource).find(ctx, ref.Namespace, ref.Name); object != nil {
		return object.DeepCopy(), nil
	}
	return t.at(kind, ref).Get(ctx, ref.Name, metav1.GetOptions{})
}
