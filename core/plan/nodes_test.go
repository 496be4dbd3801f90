package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/plan"
)

// Node pools and catalogs that stand among the files are left to plan nodes, and no placement selects them.
func TestNodePoolsAreLeftOut(t *testing.T) {
	c, faults := plan.Collect(yamlDocuments(t, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec: {}
---
apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: azure}
spec: {types: []}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: pools}
spec:
  resourceSelectors: [{group: karpenter.sh, version: v1, kind: NodePool}]
`))
	require.NoError(t, faults.Err())
	require.Equal(t, []string{
		"NodePool/general left out: flotilla plan nodes says what would happen to nodes",
		"InstanceCatalog/azure left out: flotilla plan nodes says what would happen to nodes",
	}, c.Notes)
	require.Len(t, c.Subjects, 1)
	require.Nil(t, c.Subjects[0].Content)
}
