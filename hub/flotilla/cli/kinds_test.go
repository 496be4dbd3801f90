package cli

import (
	"testing"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

func TestTargets(t *testing.T) {
	names := func(namespace string, args ...string) []string {
		target, err := parseTarget(args, namespace)
		require.NoError(t, err)
		var got []string
		for _, r := range target.refs {
			got = append(got, r.object().String())
		}
		for _, k := range target.withPlacements(namespace, selection{}) {
			got = append(got, k.kind)
		}
		return got
	}
	require.Equal(t, []string{"ClusterResourcePlacement/web"}, names("", "placement/web"))
	require.Equal(t, []string{"ResourcePlacement/shop/web"}, names("shop", "placement", "web"))
	require.Equal(t, []string{"ResourcePlacement/shop/web"}, names("", "placement/shop/web"))
	require.Equal(t, []string{"ClusterResourcePlacement/web"}, names("shop", "crp/web"))
	require.Equal(t, []string{"ConfigMap/default/a", "Namespace/b"}, names("", "cm/a", "ns/b"))
	require.Equal(t, []string{"MemberCluster/a", "MemberCluster/b"}, names("", "members", "a", "b"))
	require.Equal(t, []string{"ResourcePlacement", "MemberCluster"}, names("shop", "placements,members"))
	require.Equal(t, []string{"ClusterResourcePlacement"}, names("shop", "crp"))
}

func TestKindsByEveryWord(t *testing.T) {
	seen := map[string]string{}
	for _, k := range kinds {
		for _, word := range k.words() {
			require.Empty(t, seen[word], "%s names %s and %s", word, seen[word], k.kind)
			seen[word] = k.kind
			found, err := kindByWord(word)
			require.NoError(t, err)
			require.Equal(t, k.kind, found.kind)
		}
	}
	for word, want := range map[string]ref{
		"Deployments.apps":      {resourceKind: resourceKind{kind: "Deployment", apiVersion: "apps/v1"}},
		"deployments.v1.apps":   {resourceKind: resourceKind{kind: "Deployment", apiVersion: "apps/v1"}},
		"Widget.v1.example.com": {resourceKind: resourceKind{kind: "Widget", apiVersion: "example.com/v1"}},
		"Widget":                {resourceKind: resourceKind{kind: "Widget"}},
		"MemberCluster":         {resourceKind: resourceKind{kind: "MemberCluster", apiVersion: clusterVersion}},
		"clusterresourceplacement.placement.kubernetes-fleet.io": {resourceKind: resourceKind{kind: api.KindClusterResourcePlacement, apiVersion: placementVersion}},
	} {
		found, err := kindByWord(word)
		require.NoError(t, err, word)
		require.Equal(t, [2]string{want.kind, want.apiVersion}, [2]string{found.kind, found.apiVersion}, word)
	}
	_, err := kindByWord("deployments.batch")
	require.Error(t, err)
}
