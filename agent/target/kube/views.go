package kube

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"flotilla/agent/target"
	"flotilla/core/api"
)

// patience is how long a first list is waited for, before objects are read one by one.
const patience = 10 * time.Second

// views watch what was written here, one view a kind. Where a watch is refused nothing is in its view: objects are
// then read from the API server each time.
type views struct {
	client  dynamic.Interface
	changes *changes
	failed  func(what string, err error)
	run     func(func(context.Context)) // until the target is closed

	mu     sync.Mutex
	opened map[schema.GroupVersionResource]*view
}

// view is what was written here of one kind, as its watch last told.
type view struct {
	informer cache.SharedIndexInformer
	// settled is closed once the first list is there, or was refused.
	settled chan struct{}
}

func newViews(client dynamic.Interface, t *Target, failed func(string, error)) *views {
	return &views{client: client, changes: t.changes, failed: failed, run: t.run, opened: map[schema.GroupVersionResource]*view{}}
}

// open begins to watch a kind, once.
func (v *views) open(kind schema.GroupVersionResource) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.opened[kind]; known != nil {
		return known
	}
	made := &view{settled: make(chan struct{})}
	made.informer = dynamicinformer.NewFilteredDynamicInformer(v.client, kind, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = labelPlaced + "=true" }).Informer()
	settle := sync.OnceFunc(func() { close(made.settled) })
	_ = made.informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { // else it runs already
		settle()
		v.failed(kind.GroupResource().String(), err)
	})
	registered, err := made.informer.AddEventHandler(v.handler())
	v.run(made.informer.RunWithContext)
	v.run(func(ctx context.Context) {
		if err == nil {
			cache.WaitForCacheSync(ctx.Done(), registered.HasSynced)
		}
		settle()
	})
	v.opened[kind] = made
	return made
}

func (v *views) handler() cache.ResourceEventHandler {
	tell := func(objects ...any) {
		var owners []string
		for _, o := range objects {
			if object, ok := o.(*unstructured.Unstructured); ok {
				owners = append(owners, object.GetAnnotations()[api.AnnotationOwner])
			}
		}
		v.changes.tell(target.Change{Owners: owners})
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { tell(o) },
		UpdateFunc: func(before, after any) { tell(before, after) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			tell(o)
		},
	}
}

// find returns an object of the view, nil when it is not in it. The caller must not change it.
func (v *view) find(ctx context.Context, namespace, name string) *unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-v.settled:
	case <-ctx.Done():
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	found, known, err := v.informer.GetStore().GetByKey(key)
	if err != nil || !known {
		return nil
	}
	object, _ := found.(*unstructured.Unstructured)
	return object
}
