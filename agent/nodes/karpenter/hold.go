package karpenter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationBudgets keeps on a NodePool the budgets that it had, as JSON; null for a pool that said nothing of budgets.
const AnnotationBudgets = "flotilla.io/karpenter-budgets"

// fieldManager is under which name NodePools are changed.
const fieldManager = "flotilla"

// Hold has Karpenter disrupt no node by itself: every NodePool gets a budget of 0 in place of its own. One whose budgets
// somebody has written since is held anew, with those kept.
func (p *Provider) Hold(ctx context.Context) error {
	return p.each(ctx, func(pool *unstructured.Unstructured) (map[string]any, error) {
		budgets, said, err := unstructured.NestedSlice(pool.Object, "spec", "disruption", "budgets")
		if err != nil || held(budgets) {
			return nil, err
		}
		var own any
		if said {
			own = budgets
		}
		kept, err := json.Marshal(own)
		if err != nil {
			return nil, err
		}
		return change(string(kept), []any{map[string]any{"nodes": "0"}}), nil
	})
}

// Release gives every NodePool its own budgets back, unless somebody wrote others since.
func (p *Provider) Release(ctx context.Context) error {
	return p.each(ctx, func(pool *unstructured.Unstructured) (map[string]any, error) {
		kept, was := pool.GetAnnotations()[AnnotationBudgets]
		if !was {
			return nil, nil
		}
		budgets, _, err := unstructured.NestedSlice(pool.Object, "spec", "disruption", "budgets")
		if err != nil {
			return nil, err
		}
		if !held(budgets) {
			return map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationBudgets: nil}}}, nil
		}
		var own any
		if err := json.Unmarshal([]byte(kept), &own); err != nil {
			return nil, fmt.Errorf("annotation %s: %w; write spec.disruption.budgets by hand, and take the annotation off", AnnotationBudgets, err)
		}
		return change(nil, own), nil
	})
}

// held reports that nothing may be disrupted, whatever the reason, and at all times.
func held(budgets []any) bool {
	if len(budgets) != 1 {
		return false
	}
	only, _ := budgets[0].(map[string]any)
	return len(only) == 1 && only["nodes"] == "0"
}

func change(kept, budgets any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{AnnotationBudgets: kept}},
		"spec":     map[string]any{"disruption": map[string]any{"budgets": budgets}},
	}
}

// each changes the NodePools of the cluster, each in the version that was read.
func (p *Provider) each(ctx context.Context, of func(*unstructured.Unstructured) (map[string]any, error)) error {
	pools := p.o.Objects.Resource(nodePools)
	all, err := pools.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the NodePools of the cluster: %w", err)
	}
	var faults []error
	for i := range all.Items {
		pool := &all.Items[i]
		patch, err := of(pool)
		if err == nil && patch != nil {
			metadata, _ := patch["metadata"].(map[string]any)
			metadata["resourceVersion"] = pool.GetResourceVersion()
			var text []byte
			if text, err = json.Marshal(patch); err == nil {
				_, err = pools.Patch(ctx, pool.GetName(), types.MergePatchType, text, metav1.PatchOptions{FieldManager: fieldManager})
			}
		}
		if err != nil && !apierrors.IsNotFound(err) {
			faults = append(faults, fmt.Errorf("NodePool %s: %w", pool.GetName(), err))
		}
	}
	return errors.Join(faults...)
}
