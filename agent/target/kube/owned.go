package kube

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
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
	var found []*unstructured.Unstructured
	var unseen []sought
	for _, ref := range refs {
		kind, err := t.kinds.inAnyVersion(ctx, ref)
		switch {
		case meta.IsNoMatchError(err):
			continue
		case err != nil:
			return nil, err
		}
		if object := t.views.open(kind.GroupVersionResource).find(ctx, ref.Namespace, ref.Name); object != nil {
			found = append(found, object.DeepCopy())
		} else {
			unseen = append(unseen, sought{kind, ref})
		}
	}
	read, err := t.finder.read(ctx, unseen)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append(found, read...), func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()[api.AnnotationOwner] != owner
	}), nil
}
