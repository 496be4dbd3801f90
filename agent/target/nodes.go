package target

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"flotilla/core/api"
)

// Nodes is what package agent/nodes asks of a member, beside Target: its nodes and pods as Kubernetes
// objects, and what it takes to empty a node.
type Nodes interface {
	// Survey is one consistent look at the member. What it does not list does not exist: an error when a
	// list could not be read, or is not whole yet. The caller owns the lists, not the objects in them: they
	// may be shared with other callers and must not be changed.
	Survey(ctx context.Context) (*Survey, error)
	// NodeObjects lists the nodes as Survey does, sorted by name, for those who need nothing else.
	NodeObjects(ctx context.Context) ([]*corev1.Node, error)
	// Watch is Target's.
	Watch(ctx context.Context) <-chan Change
	// UpdateNode changes the labels, annotations, taints, finalizers or spec.unschedulable of a node;
	// change gets a copy of the newest, and anything else it changes is ignored. A node that is being
	// deleted leaves with its last finalizer. IsNotFound when there is none.
	UpdateNode(ctx context.Context, name string, change func(*corev1.Node)) error
	// Evict asks for a pod to be evicted, with its own grace period. IsTooManyRequests when
	// PodDisruptionBudgets, named in the error, do not allow it now: one that has nothing left, or two
	// that cover the pod. IsNotFound; IsConflict when the name belongs to another uid. A pod that is
	// being deleted already is no error.
	Evict(ctx context.Context, pod PodRef) error
	// DeletePod deletes a pod whatever its budgets say. A grace below 0 is the pod's own; what is no whole
	// second is rounded up, since 0 ends a pod unheard. A pod that is being deleted already has its grace
	// shortened, never extended. IsNotFound; IsConflict when the name belongs to another uid.
	DeletePod(ctx context.Context, pod PodRef, grace time.Duration) error
	// DeleteNode deletes a node: at once without finalizers, else it sets deletionTimestamp.
	// IsNotFound; IsConflict when uid is not empty and another's.
	DeleteNode(ctx context.Context, name, uid string) error
}

// PodRef names a pod. An empty UID is any.
type PodRef struct{ Namespace, Name, UID string }

// String is "namespace/name".
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// Survey is a member at one moment; every list is sorted by namespace and name.
type Survey struct {
	Nodes       []*corev1.Node
	Pods        []*corev1.Pod
	Budgets     []*policyv1.PodDisruptionBudget
	DaemonSets  []*appsv1.DaemonSet
	Namespaces  []*corev1.Namespace
	Claims      []*corev1.PersistentVolumeClaim
	Volumes     []*corev1.PersistentVolume
	Classes     []*storagev1.StorageClass
	Attachments []*storagev1.VolumeAttachment
	CSINodes    []*storagev1.CSINode
	// NodeClaims are those of Karpenter, where it is.
	NodeClaims []*api.NodeClaim
}
