package kube

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"flotilla/core/api"
)

// kinds knows which resources the API server serves for which kinds. A kind that it does not know is asked for anew:
// a custom resource may have been defined since.
type kinds struct {
	mu     sync.Mutex
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newKinds(d discovery.DiscoveryInterface) *kinds {
	return &kinds{mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
}

// served is a kind as the API server serves it.
type served struct {
	schema.GroupVersionResource
	namespaced bool
}

func (k *kinds) of(ref api.ObjectRef) (served, error) {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return served{}, fmt.Errorf("%s: %w", ref, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	mapping, err := k.mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: ref.Kind}, version.Version)
	if err != nil {
		return served{}, err
	}
	return served{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

// forget has kinds read anew.
func (k *kinds) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mapper.Reset()
}
