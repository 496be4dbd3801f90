package show

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("update", false, "rewrite golden files")

// TestDescribeShowsWhatKubectlShows compares the description of a placement with the one that kubectl
// printed of it for the people who wrote the format down; testdata/describe.txt is that text with the
// conditions that are written today.
func TestDescribeShowsWhatKubectlShows(t *testing.T) {
	input, err := os.ReadFile("testdata/describe.yaml")
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(input, &obj.Object))
	got := DescribeObject(obj)
	if *rewrite {
		require.NoError(t, os.WriteFile("testdata/describe.txt", []byte(got), 0o600))
	}
	want, err := os.ReadFile("testdata/describe.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestWordsOfFieldNames(t *testing.T) {
	for key, want := range map[string]string{
		"numberOfClusters":              "Number Of Clusters",
		"apiVersion":                    "API Version",
		"uid":                           "UID",
		"clusterIPs":                    "Cluster I Ps",
		"resourceVersion":               "Resource Version",
		"kubernetes-fleet.io/a":         "kubernetes-fleet.io/a",
		"whenUnsatisfiable":             "When Unsatisfiable",
		"observedResourceIndex":         "Observed Resource Index",
		"x":                             "X",
		"requiredDuringSchedulingOther": "Required During Scheduling Other",
	} {
		require.Equal(t, want, words(key))
	}
}
