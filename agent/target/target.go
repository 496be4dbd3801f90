// Package target says what an agent asks of the member it stands beside; its subpackages answer.
//
// Package agentd takes a Target; worker and beat each name the part they use. Errors are those of
// k8s.io/apimachinery/pkg/api/errors, so that every target speaks of "not found", "conflict" and
// "unavailable" as a Kubernetes API server does. All methods may be called at once from several
// goroutines, and none changes or keeps the objects it is given.
package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Target is one member.
type Target interface {
	// Owners lists, sorted, the owners (values of api.AnnotationOwner) that have objects here.
	Owners(ctx context.Context) ([]string, error)
	// Intend says which objects an owner may have here from now on, before any of them is written: the target
	// remembers it beside them, so that an agent that lost its disk forgets nothing. None forgets the owner.
	Intend(ctx context.Context, owner string, refs []api.ObjectRef) error
	// Follow has the member remember the order of a command before the agent acts on it, and returns the newest order that the member
	// remembers: a later one than was given where the disk of the agent is older than the member. What another agent had the member
	// remember may be noticed a minute later.
	Follow(ctx context.Context, order api.Order) (newest api.Order, err error)
	// Owned lists the objects of one owner with their status.
	Owned(ctx context.Context, owner string) ([]*unstructured.Unstructured, error)
	// Get reads one object with its status. IsNotFound when there is none.
	Get(ctx context.Context, ref api.ObjectRef) (*unstructured.Unstructured, error)
	// Find reads those of some objects that are there, in any order, with their status.
	Find(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error)
	// Apply writes one object and returns it as it then lives: fields that the last write had and this one has not
	// go, what others wrote stays. IsAlreadyExists and IsConflict when the live object is not the one that the write
	// expects; IsConflict with a cause for each field that others own, unless the write is forced.
	Apply(ctx context.Context, w Write) (*unstructured.Unstructured, error)
	// Preview is what Apply would return if it were forced; nothing is written.
	Preview(ctx context.Context, w Write) (*unstructured.Unstructured, error)
	// Delete removes one object with that uid, and with a namespace all that is in it, as long as the owner that
	// the removal comes from owns it. It is no error when there is none; IsConflict when the name now belongs to
	// another uid or another owner.
	Delete(ctx context.Context, r Removal) error
	// PodsOf lists the pods that a workload selects, the newest that are known; none of what selects none. They
	// must not be changed.
	PodsOf(ctx context.Context, workload *unstructured.Unstructured) ([]*corev1.Pod, error)
	// Watch reports what changes until ctx ends; then the channel is closed. A target that cannot watch returns nil. Reports may
	// be lost when they are not read in time, so a reader still looks by itself now and then.
	Watch(ctx context.Context) <-chan Change

	// Ready is nil when the member's API server answers as it should.
	Ready(ctx context.Context) error
	// Version is the Kubernetes version, "v1.36.3".
	Version(ctx context.Context) (string, error)
	// Nodes lists the nodes, sorted by name.
	Nodes(ctx context.Context) ([]Node, error)
	// Namespaces lists the names of the namespaces, sorted.
	Namespaces(ctx context.Context) ([]string, error)
	// Budgets lists the pod disruption budgets, sorted by namespace and name.
	Budgets(ctx context.Context) ([]Budget, error)
}

// Write is one object to write.
type Write struct {
	Object *unstructured.Unstructured
	// UID of the live object to replace; empty to create one.
	UID string
	// Version is the resourceVersion that the live object must have, empty for any.
	Version string
	// Exclusive has a creation fail with IsAlreadyExists where there is such an object by then, whatever is in it;
	// without it that object is written.
	Exclusive bool
	// Disown is set when the write only takes our annotations off.
	Disown bool
	// Force takes fields over that others own; without it they are a conflict that names them.
	Force  bool
	Origin Origin
}

// Removal is one object to delete.
type Removal struct {
	api.ObjectRef
	UID string
	// Version is the resourceVersion that was seen, empty for any. Where it is another by now, the object is
	// deleted all the same if it still belongs to the owner of Origin.
	Version string
	Origin  Origin
}

// Origin is what made the agent write: which placement, by which command.
type Origin struct {
	Owner      string // of the placement, "web/<uid>"
	Order      api.Order
	Generation int64 // of the release entry
	Snapshot   int64
}

// Change is one thing that changed on the member, by the agent's hand or another.
type Change struct {
	// Owners of the object before and after; empty when nobody owned it, equal when it only changed.
	Owners []string
	// Nodes is set when the set of nodes, or what they can hold, changed.
	Nodes bool
	// Pods is set when pods or pod disruption budgets changed, a pod's node included.
	Pods bool
	// Health is set when what Ready answers may have changed.
	Health bool
	// Kinds is set when the member serves other kinds than before.
	Kinds bool
}

// Node is one node as the agent counts it.
type Node struct {
	Name         string
	Zone         string
	InstanceType string
	// Region and ProviderID are what the node's cloud calls them, empty where nobody says.
	Region, ProviderID string
	Capacity           corev1.ResourceList
	Allocatable        corev1.ResourceList
	// Requested is what the pods on it request.
	Requested corev1.ResourceList
	// Price is in US dollars per hour, 0 when unknown.
	Price float64
	// Pool is the node pool it belongs to, empty when nobody says.
	Pool string
	// Kubelet is the version of its kubelet, "v1.36.3".
	Kubelet string
	// Image it was made from, by its full name; empty when unknown.
	Image string
	// NotReady is set while its condition Ready is not True.
	NotReady bool
	// CapacityType is spot, on-demand or reserved, empty when nobody says.
	CapacityType string
	Template
}

// Template says how a node in memory is made. Survey shows what became of it, Nodes does not.
type Template struct {
	// NodePool is the karpenter.sh NodePool it was made for, empty when it is not managed.
	NodePool            string
	Labels, Annotations map[string]string
	Taints              []corev1.Taint
}

// Budget is one pod disruption budget as its controller last judged it.
type Budget struct {
	Namespace, Name string
	// Expected pods it covers, Healthy ones, and how many may be disrupted now.
	Expected, Healthy, Allowed int
}

// String is "shop/web allows 0 disruptions, 2 of 2 pods are healthy".
func (b Budget) String() string {
	return fmt.Sprintf("%s/%s allows %d disruptions, %d of %d pods are healthy", b.Namespace, b.Name, b.Allowed, b.Healthy, b.Expected)
}

// NewNode returns a node with so much cpu and memory, all of it allocatable; both are quantities, "4"
// and "16Gi".
func NewNode(name, cpu, memory string) (Node, error) {
	n := Node{Name: name, Capacity: corev1.ResourceList{}}
	for resourceName, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		q, err := strict.ParseQuantity(text)
		if err != nil {
			return Node{}, fmt.Errorf("node %s: %s %q is not a quantity such as 4 or 16Gi", name, resourceName, text)
		}
		n.Capacity[resourceName] = q
	}
	n.Allocatable = n.Capacity.DeepCopy()
	return n, nil
}
