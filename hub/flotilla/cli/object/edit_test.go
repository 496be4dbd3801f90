package object

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

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
