package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"flotilla/agent/target"
)

// list is all of one kind that the cluster has, as its watch tells, or why that is not known.
type list struct {
	what     string
	source   *source
	informer cache.SharedIndexInformer
}

// lister reads and watches one kind.
type lister[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// lists opens the lists of one cluster.
type lists struct {
	changes *changes
	failed  func(what string, err error)
	run     func(func(context.Context)) // until the target is closed
	// stale is for how long what was watched counts once it is not any more.
	stale time.Duration
}

// openList begins to watch a kind, of which example is one. What changes is told as change; thin makes of what the API
// server says what is kept of it.
func openList[L runtime.Object](o *lists, what string, from lister[L], example runtime.Object, thin cache.TransformFunc, change target.Change) *list {
	return o.open(&list{what: what, source: sourceOf(from)}, example, thin, change)
}

// openOptional is openList for a kind that the API server need not know.
func openOptional[L runtime.Object](o *lists, what string, from lister[L], example runtime.Object, thin cache.TransformFunc, change target.Change) *list {
	l := &list{what: what, source: sourceOf(from)}
	l.source.optional = true
	return o.open(l, example, thin, change)
}

func (o *lists) open(l *list, example runtime.Object, thin cache.TransformFunc, change target.Change) *list {
	tell := func() { o.changes.tell(change) }
	return o.begin(l, example, thin, cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() }, UpdateFunc: func(before, after any) {
			if !same(before, after) && !alike(before, after) {
				tell()
			}
		}, DeleteFunc: func(any) { tell() },
	})
}

// begin begins to watch what a list is of, and tells the handler.
func (o *lists) begin(l *list, example runtime.Object, thin cache.TransformFunc, told cache.ResourceEventHandler) *list {
	l.source.patience = o.stale
	l.informer = cache.NewSharedIndexInformer(l.source, example, 0, cache.Indexers{})
	_ = l.informer.SetTransform(thin) // else it runs already, as with the others
	_ = l.informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		if !l.source.none() {
			o.failed(l.what, err)
		}
	})
	_, _ = l.informer.AddEventHandler(told)
	o.run(l.informer.RunWithContext)
	return l
}

// same says that nothing but a resync came.
func same(before, after any) bool {
	a, aErr := meta.Accessor(before)
	b, bErr := meta.Accessor(after)
	return aErr == nil && bErr == nil && a.GetResourceVersion() == b.GetResourceVersion()
}

// alike says that nothing changed of what is kept of an object but its version.
func alike(before, after any) bool {
	a, aKnown := before.(runtime.Object)
	b, bKnown := after.(runtime.Object)
	return aKnown && bKnown && equality.Semantic.DeepEqual(unversioned(a), unversioned(b))
}

func unversioned(object runtime.Object) runtime.Object {
	object = object.DeepCopyObject()
	if o, err := meta.Accessor(object); err == nil {
		o.SetResourceVersion("")
	}
	return object
}

// whole is nil when all that there is of the kind is known, and watched.
func (l *list) whole() error {
	_, err := l.judge()
	return err
}

// judge is whole, and says whether the newest attempt to read was refused.
func (l *list) judge() (refused bool, err error) {
	fresh, fault := l.source.state()
	switch {
	case l.source.none():
		return fault != nil, nil
	case !fresh || !l.informer.HasSynced():
		return fault != nil, fmt.Errorf("reading %s of the cluster: %w", l.what, cmp.Or(fault, errors.New("not all are read yet")))
	}
	return fault != nil, nil
}

// lookAgain is how often a list that is not whole is looked at again.
const lookAgain = 20 * time.Millisecond

// await waits until a list is whole, or was refused.
func (l *list) await(ctx context.Context) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		refused, err := l.judge()
		if err == nil || refused {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// objects lists what is there, sorted by namespace and name. The error says why it is not known, and names verb and
// resource where the API server refused.
func objects[T metav1.Object](l *list) ([]T, error) {
	if err := l.whole(); err != nil || l.source.none() {
		return nil, err
	}
	known := l.informer.GetStore().List()
	found := make([]T, len(known))
	for i, object := range known {
		found[i] = object.(T)
	}
	slices.SortFunc(found, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return found, nil
}
