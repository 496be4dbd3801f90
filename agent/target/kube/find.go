package kube

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"

	"flotilla/core/api"
)

const (
	// few objects of one kind in one namespace are read one by one; of more it is asked first which are there.
	few = 4
	// page is how many names one answer lists.
	page = 500
)

// finder reads objects of which most may not be there: first, and again when they go, a placement of thousands has none.
type finder struct {
	target *Target
	names  metadata.Interface
}

// sought is an object that is looked for, and its kind as the API server serves it.
type sought struct {
	kind served
	api.ObjectRef
}

// drawer is where objects of one kind and one namespace are.
type drawer struct {
	kind      served
	namespace string
}

func (s sought) drawer() drawer {
	if !s.kind.namespaced {
		return drawer{kind: s.kind}
	}
	return drawer{s.kind, s.Namespace}
}

// Find reads from the API server which of some objects are there. A kind that is not served has none.
func (t *Target) Find(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error) {
	var all []sought
	for _, ref := range refs {
		kind, err := t.kinds.of(ref)
		switch {
		case meta.IsNoMatchError(err):
		case err != nil:
			return nil, err
		default:
			all = append(all, sought{kind, ref})
		}
	}
	return t.finder.read(ctx, all)
}

func (f *finder) read(ctx context.Context, all []sought) ([]*unstructured.Unstructured, error) {
	drawers := map[drawer][]sought{}
	for _, one := range all {
		drawers[one.drawer()] = append(drawers[one.drawer()], one)
	}
	var found []*unstructured.Unstructured
	for place, within := range drawers {
		within, err := f.there(ctx, place, within)
		if err != nil {
			return nil, err
		}
		for _, one := range within {
			object, err := f.target.at(one.kind, one.ObjectRef).Get(ctx, one.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				return nil, err
			default:
				found = append(found, object)
			}
		}
	}
	return found, nil
}

// there leaves out what is not there, where asking that takes less than asking for each. What may not be listed is all
// left in.
func (f *finder) there(ctx context.Context, place drawer, all []sought) ([]sought, error) {
	if len(all) <= few {
		return all, nil
	}
	names := map[string]bool{}
	options := metav1.ListOptions{Limit: page}
	for range len(all) / few {
		list, err := f.names.Resource(place.kind.GroupVersionResource).Namespace(place.namespace).List(ctx, options)
		switch {
		case unlisted(err):
			return all, nil
		case err != nil:
			return nil, err
		}
		for i := range list.Items {
			names[list.Items[i].Name] = true
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return slices.DeleteFunc(all, func(s sought) bool { return !names[s.Name] }), nil
		}
	}
	return all, nil
}

// unlisted says that names are not to be had this way: nobody may list them, the kind has no lists, or none of bare names,
// or they changed too much meanwhile.
func unlisted(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsNotAcceptable(err) || apierrors.IsResourceExpired(err)
}
