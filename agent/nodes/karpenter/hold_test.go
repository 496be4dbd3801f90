package karpenter

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What a NodePool says of budgets is 0 while it is held, and what it was when it is given back.
func TestAPoolIsHeldAndGivenBack(t *testing.T) {
	for name, budgets := range map[string]string{
		"budgets": `budgets: [{nodes: 10%}, {nodes: "0", reasons: [Drifted]}]`, "none": "", "an empty list": "budgets: []",
		"a window": `budgets: [{nodes: "0", schedule: "@daily", duration: 1h}]`,
	} {
		t.Run(name, func(t *testing.T) {
			text := "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: workers}, spec: {disruption: {consolidateAfter: 0s, " + budgets + "}}}"
			p := cluster(t, text)
			before := p.read(t, nodePools, "workers")
			for range 2 {
				require.NoError(t, p.Hold(t.Context()))
				require.Equal(t, []any{map[string]any{"nodes": "0"}}, budgetsOf(t, p))
			}
			require.NoError(t, p.Release(t.Context()))
			after := p.read(t, nodePools, "workers")
			require.Equal(t, before.Object["spec"], after.Object["spec"])
			require.Empty(t, after.GetAnnotations())
			require.NoError(t, p.Release(t.Context()))
		})
	}
}

// A pool that was closed all along stays so, and budgets that somebody writes meanwhile are those that are given back.
func TestWhatOthersWriteOfBudgetsCounts(t *testing.T) {
	closed := cluster(t, `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: workers}, spec: {disruption: {budgets: [{nodes: "0"}]}}}`)
	require.NoError(t, closed.Hold(t.Context()))
	require.Empty(t, closed.read(t, nodePools, "workers").GetAnnotations())
	require.NoError(t, closed.Release(t.Context()))
	require.Equal(t, []any{map[string]any{"nodes": "0"}}, budgetsOf(t, closed))

	p := cluster(t, pool)
	require.NoError(t, p.Hold(t.Context()))
	write := func(budgets string) {
		o := p.read(t, nodePools, "workers")
		var list []any
		require.NoError(t, yaml.Unmarshal([]byte(budgets), &list))
		require.NoError(t, unstructured.SetNestedSlice(o.Object, list, "spec", "disruption", "budgets"))
		_, err := p.o.Objects.Resource(nodePools).Update(t.Context(), o, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	write(`[{nodes: "3"}]`)
	require.NoError(t, p.Hold(t.Context()))
	require.Equal(t, []any{map[string]any{"nodes": "0"}}, budgetsOf(t, p))
	require.NoError(t, p.Release(t.Context()))
	require.Equal(t, []any{map[string]any{"nodes": "3"}}, budgetsOf(t, p))

	require.NoError(t, p.Hold(t.Context()))
	write(`[{nodes: "4"}]`)
	require.NoError(t, p.Release(t.Context()))
	require.Equal(t, []any{map[string]any{"nodes": "4"}}, budgetsOf(t, p), "written after the last look")
	require.NotContains(t, p.read(t, nodePools, "workers").GetAnnotations(), AnnotationBudgets)
}

func budgetsOf(t *testing.T, p *Provider) []any {
	t.Helper()
	list, _, err := unstructured.NestedSlice(p.read(t, nodePools, "workers").Object, "spec", "disruption", "budgets")
	require.NoError(t, err)
	return list
}
