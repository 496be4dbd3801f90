package karpenter

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// Hashes by which Karpenter tells static drift; it keeps those of a NodePool on the NodePool itself.
var hashes = []string{"karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version"}

// claimFor is the NodeClaim of a launch: what the template of its NodePool says, as the cluster has it, narrowed to what
// the hub chose.
func claimFor(l api.NodeLaunch, pool *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	metadata, _, err := unstructured.NestedMap(pool.Object, "spec", "template", "metadata")
	if err != nil {
		return nil, fmt.Errorf("reading NodePool %s: %w", l.Pool, err)
	}
	spec, _, err := unstructured.NestedMap(pool.Object, "spec", "template", "spec")
	if err != nil {
		return nil, fmt.Errorf("reading NodePool %s: %w", l.Pool, err)
	}
	claim := &unstructured.Unstructured{Object: map[string]any{"apiVersion": api.GroupKarpenter + "/v1", "kind": api.KindNodeClaim, "spec": spec}}
	claim.SetName(l.Name)
	claim.SetLabels(texts(metadata["labels"], map[string]string{api.LabelNodePool: l.Pool}, classLabel(spec)))
	annotations := map[string]string{api.AnnotationLaunch: l.Name}
	for _, key := range hashes {
		if value := pool.GetAnnotations()[key]; value != "" {
			annotations[key] = value
		}
	}
	claim.SetAnnotations(texts(metadata["annotations"], annotations))
	claim.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: pool.GetAPIVersion(), Kind: pool.GetKind(), Name: pool.GetName(), UID: pool.GetUID(), BlockOwnerDeletion: new(true),
	}})
	own, _ := spec["requirements"].([]any)
	spec["requirements"] = narrowed(own, l)
	if requests := requestsOf(l.Requests); len(requests) > 0 {
		spec["resources"] = map[string]any{"requests": requests}
	}
	return claim, nil
}

// texts are the values of several maps, the later ones win.
func texts(first any, more ...map[string]string) map[string]string {
	out := map[string]string{}
	given, _ := first.(map[string]any)
	for key, value := range given {
		if text, is := value.(string); is {
			out[key] = text
		}
	}
	for _, one := range more {
		maps.Copy(out, one)
	}
	return out
}

// classLabel is the label by which Karpenter finds the nodes of a node class.
func classLabel(spec map[string]any) map[string]string {
	ref, _ := spec["nodeClassRef"].(map[string]any)
	group, _ := ref["group"].(string)
	kind, _ := ref["kind"].(string)
	name, _ := ref["name"].(string)
	if group == "" || kind == "" || name == "" {
		return nil
	}
	return map[string]string{group + "/" + strings.ToLower(kind): name}
}

// narrowed are the requirements of a pool with those that the hub chose in the place of its own about the same labels.
func narrowed(own []any, l api.NodeLaunch) []any {
	chosen := map[string]bool{corev1.LabelInstanceTypeStable: true}
	out := []any{map[string]any{"key": corev1.LabelInstanceTypeStable, "operator": string(corev1.NodeSelectorOpIn), "values": list(l.InstanceTypes)}}
	for _, r := range l.Requirements {
		if r.Key == corev1.LabelInstanceTypeStable || r.Key == api.LabelNodePool || r.Key == corev1.LabelHostname {
			continue
		}
		chosen[r.Key] = true
		one := map[string]any{"key": r.Key, "operator": r.Operator}
		if len(r.Values) > 0 {
			one["values"] = list(r.Values)
		}
		out = append(out, one)
	}
	for _, one := range own {
		r, _ := one.(map[string]any)
		if key, _ := r["key"].(string); !chosen[key] {
			out = append(out, r)
		}
	}
	return out
}

func list(values []string) []any {
	out := make([]any, len(values))
	for i, value := range values {
		out[i] = value
	}
	return out
}

// requestsOf writes amounts as Kubernetes does.
func requestsOf(amounts api.Amounts) map[string]any {
	out := map[string]any{}
	for name, n := range amounts {
		quantity := resource.NewQuantity(n, resource.BinarySI)
		if name == string(corev1.ResourceCPU) {
			quantity = resource.NewMilliQuantity(n, resource.DecimalSI)
		}
		out[name] = quantity.String()
	}
	return out
}
