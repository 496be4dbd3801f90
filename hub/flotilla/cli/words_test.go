package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestNearestFindsWhatWasMeant(t *testing.T) {
	candidates := []string{"apply", "label", "placement", "placements", "plan"}
	require.Equal(t, []string{"apply"}, nearest("aply", candidates))
	require.Equal(t, []string{"apply"}, nearest("appyl", candidates), "a swap is one mistake")
	require.Equal(t, []string{"placements", "placement"}, nearest("placemnts", candidates))
	require.Equal(t, []string{"plan", "placement", "placements"}, nearest("plac", candidates))
	require.Empty(t, nearest("zzz", candidates))
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

func TestTaints(t *testing.T) {
	change := func(args ...string) []taintChange {
		var all []taintChange
		for _, arg := range args {
			c, err := parseTaint(arg)
			require.NoError(t, err, arg)
			all = append(all, c)
		}
		return all
	}
	now := []api.Taint{{Key: "a", Value: "1", Effect: "NoSchedule"}, {Key: "b", Effect: "NoSchedule"}}
	require.Equal(t, []api.Taint{{Key: "a", Value: "2", Effect: "NoSchedule"}, {Key: "c", Effect: "NoSchedule"}},
		applyTaints(now, change("a=2:NoSchedule", "b-", "c:NoSchedule")))
	require.Equal(t, now, applyTaints(now, change("z-")))
	require.Equal(t, now[1:], applyTaints(now, change("a=1:NoSchedule-")))
	require.Equal(t, "1", now[0].Value, "the input is not changed")
}

func TestUnifiedDiff(t *testing.T) {
	require.Empty(t, unifiedDiff("x", "same\n", "same\n"))
	require.Equal(t, "--- live/x\n+++ applied/x\n@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n-6\n+7\n",
		unifiedDiff("x", "1\n2\n3\n4\n5\n6\n", "1\n2\nthree\n4\n5\n7\n"))
	require.Equal(t, "--- live/x\n+++ applied/x\n@@ -0,0 +1,2 @@\n+a\n+b\n", unifiedDiff("x", "", "a\nb\n"))
	far := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	require.Equal(t, "--- live/x\n+++ applied/x\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -9,4 +10,3 @@\n 9\n 10\n 11\n-12\n",
		unifiedDiff("x", far, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"))
}

func TestEditDeltaIsTheSmallestMergePatch(t *testing.T) {
	before := map[string]any{
		"kind": "X", "metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "1", "y": "2"}}, "spec": map[string]any{"n": int64(2), "list": []any{"a"}},
	}
	delta, err := deltaOf(before, "kind: X\nmetadata: {name: a, labels: {y: \"3\"}}\nspec: {n: 2, list: [a, b]}\n")
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"labels":{"x":null,"y":"3"}},"spec":{"list":["a","b"]}}`, string(delta))

	for _, unchanged := range []string{"", "# nothing\n", "kind: X\nmetadata: {name: a, labels: {x: \"1\", y: \"2\"}}\nspec: {n: 2, list: [a]}\n"} {
		delta, err = deltaOf(before, unchanged)
		require.NoError(t, err)
		require.Nil(t, delta, unchanged)
	}
	_, err = deltaOf(before, "a: [\n")
	require.Error(t, err)
}

func deltaOf(before map[string]any, text string) (json.RawMessage, error) {
	after, err := readEdited("edited.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return editDelta(before, after)
}

func TestExitCodesOfFailures(t *testing.T) {
	for code, want := range map[string]int{
		api.CodeInvalid: ExitRefused, api.CodeRefused: ExitRefused, api.CodeConflict: ExitRefused, api.CodeTooLarge: ExitRefused,
		api.CodeNotFound: ExitDifferent, api.CodeUnavailable: ExitUnreachable, api.CodeInternal: ExitPartial,
	} {
		require.Equal(t, want, failureOf(&api.Failure{Code: code}).Code, code)
	}
}
