package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"flotilla/core/strict"
)

// fieldManager is under which name objects are changed.
const fieldManager = "flotilla"

// Options of a View. All are needed.
type Options struct {
	// Objects are those of the management cluster, Kinds which ones it serves.
	Objects dynamic.Interface
	Kinds   discovery.DiscoveryInterface
	// Host is how people are told of the management cluster.
	Host string
	// Namespace and Cluster are those of the Cluster.
	Namespace, Cluster string
}

// View is one Cluster on its management cluster.
type View struct {
	o Options

	mu    sync.Mutex
	known map[string]schema.GroupVersionResource // kinds that were found, by group and kind
}

// New returns a view; nothing is read yet.
func New(o Options) *View { return &View{o: o, known: map[string]schema.GroupVersionResource{}} }

// String is "Cluster fleet/berlin at https://…".
func (v *View) String() string {
	return fmt.Sprintf("Cluster %s/%s at %s", v.o.Namespace, v.o.Cluster, v.o.Host)
}

// Name is the Cluster's, with its namespace.
func (v *View) Name() types.NamespacedName {
	return types.NamespacedName{Namespace: v.o.Namespace, Name: v.o.Cluster}
}

// Cluster reads the Cluster.
func (v *View) Cluster(ctx context.Context) (*Cluster, error) {
	found, err := v.objects(Clusters).Get(ctx, v.o.Cluster, metav1.GetOptions{})
	switch {
	case unserved(err):
		return nil, v.explain("get", Clusters, err)
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("found no %s: clusterAPI.namespace and clusterAPI.cluster of the agent's configuration name it", v)
	case err != nil:
		return nil, v.explain("get", Clusters, err)
	}
	c := &Cluster{}
	err = strict.FromUnstructured(found.Object, c)
	c.Whole = found.Object
	return c, err
}

// Deployments reads the MachineDeployments of the Cluster.
func (v *View) Deployments(ctx context.Context) ([]Deployment, error) {
	return list[Deployment](ctx, v, MachineDeployments)
}

// Machines reads the Machines of the Cluster, those of its control plane too.
func (v *View) Machines(ctx context.Context) ([]Machine, error) {
	return list[Machine](ctx, v, Machines)
}

func list[T any](ctx context.Context, v *View, kind schema.GroupVersionResource) ([]T, error) {
	found, err := v.objects(kind).List(ctx, metav1.ListOptions{LabelSelector: LabelCluster + "=" + v.o.Cluster})
	if err != nil {
		return nil, v.explain("list", kind, err)
	}
	out := make([]T, len(found.Items))
	for i := range found.Items {
		if err := strict.FromUnstructured(found.Items[i].Object, &out[i]); err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", kind.Resource, found.Items[i].GetName(), err)
		}
	}
	return out, nil
}

// Patch changes an object, as merge patches do; metadata.resourceVersion in it is that of the object which was read.
// A conflict is told as such: apierrors.IsConflict.
func (v *View) Patch(ctx context.Context, kind schema.GroupVersionResource, name string, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = v.objects(kind).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	return v.explain("patch", kind, err)
}

func (v *View) objects(kind schema.GroupVersionResource) dynamic.ResourceInterface {
	return v.o.Objects.Resource(kind).Namespace(v.o.Namespace)
}

// unserved reports that the API server does not know a resource at all.
func unserved(err error) bool {
	var said apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &said) && (said.Status().Details == nil || said.Status().Details.Name == "")
}

// explain says what a person can do about an error.
func (v *View) explain(verb string, kind schema.GroupVersionResource, err error) error {
	switch {
	case err == nil:
		return nil
	case unserved(err):
		return fmt.Errorf("the management cluster at %s serves no %s of %s, expected Cluster API v1.11 or newer: %w", v.o.Host, kind.Resource, kind.GroupVersion(), err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the agent may not %s %s of %s in namespace %s at %s, which Role flotilla-management of docs/members.md lets it: %w",
			verb, kind.Resource, kind.Group, v.o.Namespace, v.o.Host, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the management cluster at %s does not know the agent; give clusterAPI.kubeconfig credentials that are still good: %w", v.o.Host, err)
	}
	return fmt.Errorf("%s %s at %s: %w", verb, kind.Resource, v.o.Host, err)
}

// Check reads all that there is of the Cluster, once, and says everything that keeps the agent from it.
func (v *View) Check(ctx context.Context) error {
	_, cluster := v.Cluster(ctx)
	_, deployments := v.Deployments(ctx)
	_, machines := v.Machines(ctx)
	return errors.Join(cluster, deployments, machines)
}
