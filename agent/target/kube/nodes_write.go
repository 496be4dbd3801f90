package kube

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"flotilla/agent/target"
	"flotilla/core/apply"
)

var _ target.Nodes = (*Target)(nil)

// rivals is how often a node is changed again that somebody else changed at the same time: for about 5 s, and each of
// several that do so at its own pace.
var rivals = wait.Backoff{Steps: 12, Duration: 20 * time.Millisecond, Factor: 1.5, Jitter: 1}

// UpdateNode changes a node by a patch of what changed, which holds only for the version that was read: what this build
// does not know of a node stays as it is.
func (t *Target) UpdateNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	nodes := t.clients.CoreV1().Nodes()
	return retry.RetryOnConflict(rivals, func() error {
		before, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		after := before.DeepCopy()
		change(after)
		patch, err := nodePatch(before, after)
		if err != nil || patch == nil {
			return err
		}
		_, err = nodes.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: apply.FieldManager})
		return err
	})
}

// nodePatch is the merge patch from one look of a node to another, nil when they are equal in what may be changed.
func nodePatch(before, after *corev1.Node) ([]byte, error) {
	metadata, spec := map[string]any{}, map[string]any{}
	if labels := changedKeys(before.Labels, after.Labels); len(labels) > 0 {
		metadata["labels"] = labels
	}
	if annotations := changedKeys(before.Annotations, after.Annotations); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if !equality.Semantic.DeepEqual(before.Finalizers, after.Finalizers) {
		metadata["finalizers"] = after.Finalizers
	}
	if !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) {
		spec["taints"] = after.Spec.Taints
	}
	if before.Spec.Unschedulable != after.Spec.Unschedulable {
		spec["unschedulable"] = after.Spec.Unschedulable
	}
	if len(metadata) == 0 && len(spec) == 0 {
		return nil, nil
	}
	metadata["uid"], metadata["resourceVersion"] = before.UID, before.ResourceVersion
	return json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
}

// changedKeys are the values that are others, nil for those that are gone.
func changedKeys(before, after map[string]string) map[string]any {
	changed := map[string]any{}
	for key := range before {
		if _, stays := after[key]; !stays {
			changed[key] = nil
		}
	}
	for key, value := range after {
		if old, was := before[key]; !was || old != value {
			changed[key] = value
		}
	}
	return changed
}

// DeleteNode deletes a node, and waits for nobody who holds it by a finalizer.
func (t *Target) DeleteNode(ctx context.Context, name, uid string) error {
	return t.clients.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{Preconditions: onlyUID(uid)})
}
