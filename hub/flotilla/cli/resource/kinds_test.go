package resource

import (
	"testing"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

func TestTargets(t *testing.T) {
	names := func(namespace string, args ...string) []string {
		target, err := ParseTarget(args, namespace)
		require.NoError(t, err)
		var got []string
		for _, r := range target.Refs {
			got = append(got, r.Object().String())
		}
		for _, k := range target.withPlacements(namespace, Selection{}) {
			got = append(got, k.Kind)
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
	for _, k := range Kinds {
		for _, word := range k.words() {
			require.Empty(t, seen[word], "%s names %s and %s", word, seen[word], k.Kind)
			seen[word] = k.Kind
			found, err := KindByWord(word)
			require.NoError(t, err)
			require.Equal(t, k.Kind, found.Kind)
		}
	}
	for word, want := range map[string]Ref{
		"Deployments.apps":      {Type: Type{Words: api.Words{Kind: "Deployment", APIVersion: "apps/v1"}}},
		"deployments.v1.apps":   {Type: Type{Words: api.Words{Kind: "Deployment", APIVersion: "apps/v1"}}},
		"Widget.v1.example.com": {Type: Type{Words: api.Words{Kind: "Widget", APIVersion: "example.com/v1"}}},
		"Widget":                {Type: Type{Words: api.Words{Kind: "Widget"}}},
		"MemberCluster":         {Type: Type{Words: api.Words{Kind: "MemberCluster", APIVersion: api.ClusterVersion}}},
		"clusterresourceplacement.placement.kubernetes-fleet.io": {Type: Type{Words: api.Words{Kind: api.KindClusterResourcePlacement, APIVersion: api.PlacementVersion}}},
	} {
		found, err := KindByWord(word)
		require.NoError(t, err, word)
		require.Equal(t, [2]string{want.Kind, want.APIVersion}, [2]string{found.Kind, found.APIVersion}, word)
	}
	_, err := KindByWord("deployments.batch")
	require.Error(t, err)
}
