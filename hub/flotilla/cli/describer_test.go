package cli

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
)

// TestDescribeShowsWhatKubectlShows compares the description of a placement with the one that kubectl
// printed of it for the people who wrote the format down; testdata/describe.txt is that text with the
// conditions that are written today.
func TestDescribeShowsWhatKubectlShows(t *testing.T) {
	input, err := os.ReadFile("testdata/describe.yaml")
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(input, &obj.Object))
	got := describeObject(obj)
	if *update {
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

func TestRepeatedEventsAreFolded(t *testing.T) {
	at := func(minutes int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 3, 1, 12, minutes, 0, 0, time.UTC))
	}
	event := func(minutes int, reason string) api.Audit {
		return api.Audit{At: at(minutes), Type: "Normal", Reason: reason, Message: "m", By: "roller"}
	}
	folded := foldEvents([]api.Audit{event(0, "A"), event(1, "B"), event(5, "A")})
	require.Len(t, folded, 2)
	require.Equal(t, "B", folded[0].Reason)
	require.Equal(t, foldedEvent{Audit: event(5, "A"), first: at(0).Time, times: 2}, folded[1])
}
