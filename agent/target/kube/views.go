package kube

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// views watch what was written here, one list a kind. What is in one counts only while it is whole: while its watch is
// refused, or broken for long, objects are read from the API server each time, and owners are woken to look at theirs.
type views struct {
	client dynamic.Interface
	lists  *lists

	mu     sync.Mutex
	opened map[schema.GroupVersionResource]*list
}

func newViews(client dynamic.Interface, o *lists) *views {
	return &views{client: client, lists: o, opened: map[schema.GroupVersionResource]*list{}}
}

// open begins to watch a kind, once.
func (v *views) open(kind schema.GroupVersionResource) *list {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.opened[kind]; known != nil {
		return known
	}
	made := &list{what: kind.GroupResource().String(), source: sourceOf(placed{v.client.Resource(kind)})}
	v.opened[kind] = v.lists.begin(made, &unstructured.Unstructured{}, nil, v.handler())
	return made
}

// placed lists and watches what was placed of a kind.
type placed struct {
	of dynamic.NamespaceableResourceInterface
}

// List lists it.
func (p placed) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	o.LabelSelector = labelPlaced + "=true"
	return p.of.List(ctx, o)
}

// Watch watches it.
func (p placed) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.LabelSelector = labelPlaced + "=true"
	return p.of.Watch(ctx, o)
}

// handler tells whose object changed.
func (v *views) handler() cache.ResourceEventHandler {
	tell := func(objects ...any) {
		var owners []string
		for _, o := range objects {
			if object, ok := o.(*unstructured.Unstructured); ok {
				owners = append(owners, object.GetAnnotations()[api.AnnotationOwner])
			}
		}
		v.lists.changes.tell(target.Change{Owners: owners})
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

// blind says that what there is of a kind is not known by its watch.
func (v *views) blind() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, one := range v.opened {
		if one.whole() != nil {
			return true
		}
	}
	return false
}

// poll wakes all owners now and then, as long as a kind is not watched.
func (t *Target) poll(ctx context.Context) {
	every(ctx, polling, func() {
		if !t.views.blind() {
			return
		}
		if owners, err := t.inventory.names(ctx); err == nil {
			for some := range slices.Chunk(owners, unread/4) {
				t.changes.tell(target.Change{Owners: some})
			}
		}
	})
}

// every calls do after each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			do()
		}
	}
}

// find returns a placed object of a kind, nil when it is not known by its watch. It waits for the first list alone. The
// caller must not change what it returns.
func (l *list) find(ctx context.Context, namespace, name string) *unstructured.Unstructured {
	if !l.informer.HasSynced() {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_ = l.await(waiting) // whole says what came of it
	}
	if l.whole() != nil {
		return nil
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	found, known, err := l.informer.GetStore().GetByKey(key)
	if err != nil || !known {
		return nil
	}
	object, _ := found.(*unstructured.Unstructured)
	return object
}
