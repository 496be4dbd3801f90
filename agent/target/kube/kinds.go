package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"flotilla/core/api"
)

// kinds knows which resources the API server serves for which kinds. It asks for a version of a group when it is
// first named, and again for a kind that is not in it: a custom resource may have been defined since. What cannot be
// asked is an error, never a kind that is not served: what is written of it would count as gone.
type kinds struct {
	discovery discovery.DiscoveryInterface

	mu    sync.Mutex
	known map[schema.GroupVersion]map[string]served // by kind
}

func newKinds(d discovery.DiscoveryInterface) *kinds {
	return &kinds{discovery: d, known: map[schema.GroupVersion]map[string]served{}}
}

// served is a kind as the API server serves it.
type served struct {
	schema.GroupVersionResource
	namespaced bool
}

// of is the kind of ref in its version; IsNoMatchError when it is not served.
func (k *kinds) of(ref api.ObjectRef) (served, error) {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return served{}, fmt.Errorf("%s: %w", ref, err)
	}
	k.mu.Lock()
	found, ok := k.known[version][ref.Kind]
	k.mu.Unlock()
	if ok {
		return found, nil
	}
	all, err := k.ask(version)
	if err != nil {
		return served{}, err
	}
	if found, ok = all[ref.Kind]; !ok {
		return served{}, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: version.Group, Kind: ref.Kind}, SearchedVersions: []string{version.Version}}
	}
	return found, nil
}

// inAnyVersion is the kind of ref, in another version of its group where its own is not served any more.
func (k *kinds) inAnyVersion(ctx context.Context, ref api.ObjectRef) (served, error) {
	found, err := k.of(ref)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	version, _ := schema.ParseGroupVersion(ref.APIVersion) // of did
	if version.Group == "" {
		return served{}, err
	}
	body, asked := k.discovery.RESTClient().Get().AbsPath("/apis/" + version.Group).DoRaw(ctx)
	if apierrors.IsNotFound(asked) {
		return served{}, err
	}
	var group metav1.APIGroup
	if asked == nil {
		asked = json.Unmarshal(body, &group)
	}
	if asked != nil {
		return served{}, fmt.Errorf("asking for the versions of %s: %w", version.Group, asked)
	}
	for _, other := range group.Versions {
		found, another := k.of(api.ObjectRef{APIVersion: other.GroupVersion, Kind: ref.Kind})
		if another == nil || !meta.IsNoMatchError(another) {
			return found, another
		}
	}
	return served{}, err
}

// ask reads what a version of a group has; nothing when it is not served.
func (k *kinds) ask(version schema.GroupVersion) (map[string]served, error) {
	list, err := k.discovery.ServerResourcesForGroupVersion(version.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("asking for the kinds of %s: %w", version, err)
	}
	all := map[string]served{}
	if err == nil {
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if !strings.Contains(r.Name, "/") { // which is a part of another
				all[r.Kind] = served{version.WithResource(r.Name), r.Namespaced}
			}
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[version] = all
	return all, nil
}

// forget has the kinds of a group read anew.
func (k *kinds) forget(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for version := range k.known {
		if version.Group == group {
			delete(k.known, version)
		}
	}
}
