package kube

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"flotilla/agent/target"
	"flotilla/core/api"
)

const (
	// patience is how long a first list is waited for, before objects are read one by one.
	patience = 10 * time.Second
	// polling is how often what cannot be watched is to be looked at.
	polling = time.Minute
)

// views watch what was written here, one view a kind. What is in a view counts only while its watch is open: while
// one is refused, or broken, objects are read from the API server each time, and owners are woken to look at theirs.
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
	// open says that the watch is.
	open atomic.Bool
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
	made.informer = cache.NewSharedIndexInformer(made.watching(v.client.Resource(kind)), &unstructured.Unstructured{}, 0, cache.Indexers{})
	settle := sync.OnceFunc(func() { close(made.settled) })
	_ = made.informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { // else it runs already
		made.open.Store(false)
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

// watching lists and watches what is placed of a kind, and notes whether that is granted.
func (v *view) watching(of dynamic.NamespaceableResourceInterface) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = labelPlaced + "=true"
			return of.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = labelPlaced + "=true"
			w, err := of.Watch(ctx, o)
			v.open.Store(err == nil)
			return w, err
		},
	}
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

// blind says that a kind is not watched.
func (v *views) blind() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, one := range v.opened {
		if one.waited() && !one.open.Load() {
			return true
		}
	}
	return false
}

func (v *view) waited() bool {
	select {
	case <-v.settled:
		return true
	default:
		return false
	}
}

// poll wakes all owners now and then, as long as a kind is not watched.
func (t *Target) poll(ctx context.Context) {
	ticks := time.NewTicker(polling)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if !t.views.blind() {
			continue
		}
		if owners, err := t.inventory.names(ctx); err == nil {
			for some := range slices.Chunk(owners, unread/4) {
				t.changes.tell(target.Change{Owners: some})
			}
		}
	}
}

// find returns an object of the view, nil when it is not in it or the view may be old. The caller must not change it.
func (v *view) find(ctx context.Context, namespace, name string) *unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-v.settled:
	case <-ctx.Done():
	}
	if !v.open.Load() {
		return nil
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
