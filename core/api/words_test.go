package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Kinds that lie in no namespace; all others that have words of their own do.
var ofTheCluster = []string{
	KindClusterResourcePlacement, KindClusterResourceOverride, KindEviction, KindDisruptionBudget, KindMemberCluster, KindClusterStagedUpdateRun,
	KindClusterStagedUpdateStrategy, KindClusterApprovalRequest, KindUpdateRun, KindUpdateStrategy, KindAutoUpgradeProfile, KindVersionCatalog,
	KindMemberMaintenance, KindRolloutCheck, KindGate, KindNodePool, KindInstanceCatalog, KindMemberNode, KindNodeDisruption, KindClusterResourceEnvelope,
	"Namespace", "PersistentVolume", "IngressClass", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "StorageClass", "CustomResourceDefinition",
}

func TestWordsOfKinds(t *testing.T) {
	for _, w := range NamedKinds {
		require.Equal(t, !slices.Contains(ofTheCluster, w.Kind), w.Namespaced, w.Kind)
		require.Equal(t, strings.ToLower(w.Plural), w.Plural)
	}
}
