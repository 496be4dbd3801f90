package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"flotilla/agent/target"
)

// census watches what an agent tells of its member: nodes, pods, namespaces and disruption budgets.
type census struct {
	factory                         informers.SharedInformerFactory
	nodes, pods, namespaces, budget *list
}

// list is all of one kind, or why it could not be read.
type list struct {
	what     string
	informer cache.SharedIndexInformer

	mu    sync.Mutex
	fault error
}

func newCensus(ctx context.Context, clients kubernetes.Interface, c *changes, failed func(string, error)) *census {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithTransform(withoutManagers))
	n := &census{factory: factory}
	open := func(what string, informer cache.SharedIndexInformer, change target.Change) *list {
		l := &list{what: what, informer: informer}
		_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { // else it runs already
			l.failed(err)
			failed(what, err)
		})
		tell := func() { c.tell(change) }
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, UpdateFunc: func(before, after any) {
				if !same(before, after) {
					tell()
				}
			}, DeleteFunc: func(any) { tell() },
		}) // else it has stopped
		return l
	}
	core := factory.Core().V1()
	n.nodes = open("nodes", core.Nodes().Informer(), target.Change{Nodes: true})
	n.pods = open("pods", core.Pods().Informer(), target.Change{Pods: true})
	n.namespaces = open("namespaces", core.Namespaces().Informer(), target.Change{})
	n.budget = open("poddisruptionbudgets", factory.Policy().V1().PodDisruptionBudgets().Informer(), target.Change{Pods: true})
	factory.StartWithContext(ctx)
	return n
}

func (n *census) wait() { n.factory.Shutdown() }

// withoutManagers drops what takes room and nobody reads.
func withoutManagers(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// same says that nothing but a resync came.
func same(before, after any) bool {
	a, aErr := meta.Accessor(before)
	b, bErr := meta.Accessor(after)
	return aErr == nil && bErr == nil && a.GetResourceVersion() == b.GetResourceVersion()
}

func (l *list) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = err
}

// objects lists what is there, sorted by namespace and name. The error says why it is not known, and names verb and
// resource where the API server refused.
func objects[T runtime.Object](l *list) ([]T, error) {
	if !l.informer.HasSynced() {
		l.mu.Lock()
		defer l.mu.Unlock()
		return nil, fmt.Errorf("reading %s of the cluster: %w", l.what, cmp.Or(l.fault, errors.New("not all are read yet")))
	}
	keys := l.informer.GetStore().ListKeys()
	slices.Sort(keys)
	found := make([]T, 0, len(keys))
	for _, key := range keys {
		if object, known, err := l.informer.GetStore().GetByKey(key); err == nil && known {
			found = append(found, object.(T))
		}
	}
	return found, nil
}

// Namespaces lists the names of the namespaces.
func (t *Target) Namespaces(context.Context) ([]string, error) {
	all, err := objects[*corev1.Namespace](t.census.namespaces)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names, err
}

// Budgets lists the pod disruption budgets as their controller last judged them.
func (t *Target) Budgets(context.Context) ([]target.Budget, error) {
	all, err := objects[*policyv1.PodDisruptionBudget](t.census.budget)
	budgets := make([]target.Budget, len(all))
	for i, b := range all {
		budgets[i] = target.Budget{
			Namespace: b.Namespace, Name: b.Name,
			Expected: int(b.Status.ExpectedPods), Healthy: int(b.Status.CurrentHealthy), Allowed: int(b.Status.DisruptionsAllowed),
		}
	}
	return budgets, err
}
